package campaign

import (
	"slices"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/scenario"
)

// manifest names everything that is needed to make the runs again. Its seeds are those that were
// run, in any scenario; before there are runs, those that are asked for.
func manifest(carrier string, command []string, scenarios []*scenario.Scenario, runs []compare.Run) compare.Manifest {
	m := compare.Manifest{Kind: "manifest", Version: weft.Version, SourceHash: SourceHash(), Carrier: carrier,
		Command: compare.RepeatableCommand(command), Seeds: seedsOf(scenarios, runs)}
	seen := map[string]bool{}
	for _, s := range scenarios {
		m.Scenarios = append(m.Scenarios, compare.ManifestScenario{Name: s.Name, Hash: s.Hash(), YAML: s.Show()})
		for _, in := range s.Inputs {
			if !seen[in.Path] {
				seen[in.Path] = true
				m.Inputs = append(m.Inputs, compare.ManifestInput{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes})
			}
		}
	}
	return m
}

// seedsOf returns the seeds in ascending order, each once.
func seedsOf(scenarios []*scenario.Scenario, runs []compare.Run) []uint64 {
	var seeds []uint64
	for i := range runs {
		seeds = append(seeds, runs[i].Seed)
	}
	if len(runs) == 0 {
		for _, s := range scenarios {
			seeds = append(seeds, s.Seeds.List...)
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}
