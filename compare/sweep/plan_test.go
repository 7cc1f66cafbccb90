package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols" // register themselves
	"github.com/weft-transport/weft/compare/scenario"
)

// small is a plan of six points that take a few milliseconds each.
const small = `scenario: permutation
set:
  fabric: {topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}
protocols: [uet, {protocol: "rocev2,congestion=dcqcn", label: RoCE}]
grid:
  workload.size: [16KiB, 32KiB, 64KiB]
  fabric.linkDelay: [500ns, 1us]
seeds: 1..2
`

func readPlan(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Read("small.yaml", []byte(text))
	require.NoError(t, err)
	return p
}

func cellsOf(t *testing.T, text string) []*Cell {
	t.Helper()
	cells, err := readPlan(t, text).Cells(Options{})
	require.NoError(t, err)
	return cells
}

// What is replaced in small, by what, and the one line that says what is wrong.
var wrongPlans = []struct{ from, to, want string }{
	{small, "", `small.yaml: the file has 0 documents; expected one`},
	{small, "a", `small.yaml:1:1: is "a"; expected a mapping of fields: scenario, set, protocols, seeds, grid, zip`},
	{small, "a: b: c", `small.yaml:1:4: mapping value is not allowed in this context`},
	{"seeds: 1..2", "---\na: b", `small.yaml: the file has 2 documents; expected one`},
	{"grid:", "grids:", `small.yaml:5:1: unknown field "grids"; expected one of scenario, set, protocols, seeds, grid, zip`},
	{"scenario: permutation\n", "", `small.yaml:1:1: scenario: is missing; expected a built-in scenario, a family or a YAML file`},
	{"permutation", "[permutation]", `small.yaml:1:1: scenario: is a list; expected the name of a scenario or a YAML file`},
	{"permutation", "permutations", `small.yaml:1:11: scenario: permutations: there is no built-in scenario of this name (did you mean permutation?); expected one of ablation, allreduce, `},
	{"permutation", "no.yaml", `small.yaml:1:11: scenario: no.yaml: cannot read no.yaml: no such file or directory`},
	{"[16KiB, 32KiB, 64KiB]", "16KiB", `small.yaml:6:18: grid.workload.size: is "16KiB"; expected a list of values, such as [256KiB, 1MiB]`},
	{"[16KiB, 32KiB, 64KiB]", "[]", `small.yaml:6:3: grid.workload.size: is an empty list; expected a list of values, such as [256KiB, 1MiB]`},
	{"[16KiB, 32KiB, 64KiB]", "[16KiB, 16KiB]", `small.yaml:6:26: grid.workload.size: 16KiB is given twice`},
	{"[16KiB, 32KiB, 64KiB]", "[16KiB, null]", `small.yaml:6:26: grid.workload.size: has an empty value; expected a value of the field`},
	{"[16KiB, 32KiB, 64KiB]", "[16KiB, lots]", `small.yaml:6:26: workload.size: "lots" is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB (at the point permutation/workload.size=lots,fabric.linkDelay=500ns)`},
	{"workload.size", "workload.sizes", `small.yaml:6:20: workload: unknown field "sizes" (did you mean size?); expected one of kind, size, flows, messages, startJitter (at the point permutation/workload.sizes=16KiB,fabric.linkDelay=500ns)`},
	{"workload.size", "seeds", `small.yaml:6:3: grid.seeds: does not vary here; expected a field such as workload.size, or seeds: at the top of the plan`},
	{"workload.size", "workload..size", `small.yaml:6:3: grid: "workload..size" is not a field; expected path.to.field, such as workload.size`},
	{"workload.size", "protocols", `small.yaml:4:1: protocols: is fixed and on an axis; expected one of the two`},
	{"fabric: {topology", "name: {topology", `small.yaml:3:3: set.name: does not vary here; expected a field such as workload.size, or seeds: at the top of the plan`},
	{"  fabric: {topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}", "  spec.qps: 4", `small.yaml:3:13: set.spec.qps: parameters of protocols are set in protocols, or vary in grid`},
	{"rate: 100Gbps", "rate: fast", `small.yaml:3:3: fabric.rate: "fast" is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps (at the point permutation/workload.size=16KiB,fabric.linkDelay=500ns)`},
	{"seeds: 1..2", "seeds: 2..1", `small.yaml:8:8: seeds: "2..1" is not a list of seeds; expected something like 1..5, 1,2,7 or auto (at the point permutation/workload.size=16KiB,fabric.linkDelay=500ns)`},
	{"seeds: 1..2", "seeds: {a: b}", `small.yaml:8:1: seeds: is a mapping; expected something like 1..5`},
	{"seeds: 1..2", "zip: 5", `small.yaml:8:6: zip: is "5"; expected a mapping of fields to lists of equal length, or a list of such mappings`},
	{"seeds: 1..2", "zip: {a: [1, 2], b: [1]}", `small.yaml:8:18: zip.b: has 1 values and a has 2; expected lists of equal length`},
	{"seeds: 1..2", "zip: {workload.size: [1KiB]}", `small.yaml:8:1: workload.size: is on two axes; expected it on one`},
	{"protocols: [uet, {protocol: \"rocev2,congestion=dcqcn\", label: RoCE}]\ngrid:", "grid:\n  spec.qps: [1]", `small.yaml:5:3: spec.qps: needs protocols: in the plan, whose parameter it is`},
	{"grid:", "grid:\n  spec.qps: [{a: b}]", `small.yaml:6:15: grid.spec.qps: is a mapping; expected the value of a parameter`},
	{"grid:", "grid:\n  spec.qps: [4]", `small.yaml:4:1: protocols.0: protocol uet: unknown parameter "qps"; expected one of`},
	{"uet,", "ute,", `small.yaml:4:1: protocols.0: unknown protocol "ute"; expected one of frail, quic, rocev2, tcp, uet`},
	{"uet,", "&a uet,", `small.yaml:4:13: anchors, aliases and tags are not supported; expected plain mappings, lists and values`},
	{"hosts: 8", "hosts: 8, hosts: 16", `small.yaml:3:43: mapping key "hosts" already defined at [3:33]`},
	{"[uet,", `["uet,class.ecnMin=1bdp,class.ecnMax=1KB",`, `point permutation/workload.size=16KiB,fabric.linkDelay=500ns: protocol uet,class.ecnMin=1bdp,class.ecnMax=1KB: class.ecnMin:`},
}

func TestWrongPlans(t *testing.T) {
	for _, w := range wrongPlans {
		require.Contains(t, small, w.from)
		p, err := Read("small.yaml", []byte(strings.Replace(small, w.from, w.to, 1)))
		if err == nil {
			_, err = p.Cells(Options{})
		}
		require.Error(t, err, w.to)
		assert.Contains(t, err.Error(), w.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestLoad(t *testing.T) {
	_, err := Load("nowhere")
	require.EqualError(t, err, "nowhere: there is no plan of this name; expected one of grid-roce, grid-uet, or a YAML file")
	_, err = Load("nowhere.yaml")
	require.EqualError(t, err, "nowhere.yaml: cannot read the plan: no such file or directory")
	_, err = Load(t.TempDir())
	require.ErrorContains(t, err, "cannot read the plan: is a directory")

	dir := t.TempDir()
	base, err := scenario.Load("permutation", scenario.Options{Set: []string{"name=mine"}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(base[0].Show()), 0o666))
	file := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(file, []byte("scenario: ./mine.yaml\ngrid: {workload.size: [1KiB]}\n"), 0o666))
	p, err := Load(file)
	require.NoError(t, err)
	require.Equal(t, "plan", p.Name)
	cells, err := p.Cells(Options{Seeds: "4", Set: []string{"fabric.hosts=64"}})
	require.NoError(t, err)
	s, err := cells[0].Scenario()
	require.NoError(t, err)
	require.Equal(t, "mine/workload.size=1KiB", s.Name)
	require.Equal(t, []uint64{4}, s.Seeds.List)
	require.Equal(t, 64, s.Fabric.Network.Hosts)
	_, err = p.Cells(Options{Set: []string{"workload.size=2KiB"}})
	require.EqualError(t, err, "--set workload.size=2KiB: workload.size: varies in the plan; expected a field that does not")
}

// TestGridsAreEqual keeps the stated grids honest: as many points for UET as for RoCE, on the same
// fabric, with the same traffic and seeds.
func TestGridsAreEqual(t *testing.T) {
	require.Equal(t, []string{"grid-roce", "grid-uet"}, PlanNames())
	points := map[string]int{}
	var first *scenario.Scenario
	for _, name := range PlanNames() {
		p, err := Load(name)
		require.NoError(t, err)
		cells, err := p.Cells(Options{})
		require.NoError(t, err)
		for _, c := range cells {
			s, err := c.Scenario()
			require.NoError(t, err)
			points[name] += len(s.Protocols)
			if first == nil {
				first = s
			}
			require.Equal(t, first.Fabric.Network, s.Fabric.Network)
			require.Equal(t, first.Workload.Params.String(), s.Workload.Params.String())
			require.Equal(t, first.Seeds, s.Seeds)
		}
	}
	require.Equal(t, points["grid-roce"], points["grid-uet"])
	require.Equal(t, 24, points["grid-uet"])
}

// TestDocumentedPlan reads the plan that docs/SWEEPS.md shows.
func TestDocumentedPlan(t *testing.T) {
	text, err := os.ReadFile("../../docs/SWEEPS.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	p, err := Read("SWEEPS.yaml", []byte(block))
	require.NoError(t, err)
	cells, err := p.Cells(Options{})
	require.NoError(t, err)
	require.Len(t, cells, 12)
}
