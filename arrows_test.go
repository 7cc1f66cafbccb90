package weft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/weft-transport/weft/"

// arrows say which rooms of the house a package may look into, and why no others. A package is
// ruled by the longest prefix that matches its path.
var arrows = []struct {
	room string
	may  []string
	why  string
}{
	{"transport/instant", nil, "time is the ground that everything stands on"},
	{"transport/splitmix", nil, "random numbers are the same everywhere because they know nothing"},
	{"transport/param", []string{"transport/instant"}, "parameters know quantities and nothing else"},
	{"transport/prefetch", nil, "asking for memory knows nothing"},
	{"congestion", []string{"transport/instant", "transport/param", "transport/splitmix"}, "a controller does not know what a packet is"},
	{"congestion/bottleneck", []string{"congestion", "transport/instant", "transport/splitmix"}, "one queue and its flows know controllers and nothing else"},
	{"congestion/conformance", []string{"congestion", "transport/instant"}, "properties of controllers know controllers and nothing else"},
	{"spray", []string{"transport/instant", "transport/param", "transport/splitmix"}, "a sprayer does not know what a packet is"},
	{"spray/conformance", []string{"spray", "transport/instant"}, "properties of sprayers know sprayers and nothing else"},
	{"transport/wire", nil, "formats know bytes and nothing else"},
	{"transport/wire/encap", []string{"transport/wire"}, "encapsulation knows the headers of IP, and of what it carries the port and the checksum"},
	{"transport/core", []string{"transport/instant", "transport/param", "transport/prefetch", "transport/splitmix", "transport/wire", "congestion", "spray"}, "the protocol knows neither clock nor socket nor fabric"},
	{"transport/udp", []string{"transport/instant", "transport/core", "transport/wire"}, "the socket carrier knows the seam and the formats, not what a PDC is"},
	{"emulator", []string{"transport/instant", "transport/param", "transport/prefetch", "transport/splitmix", "transport/core", "emulator/netem"}, "the fabric knows the seam, not the protocols"},
	{"transport", []string{"transport", "congestion", "spray"}, "the library brings core and sockets together, and knows no fabric"},
	{"emulator/netem", []string{"transport/instant"}, "an impairment knows packets by their size"},
	{"emulator/live", []string{"emulator", "transport/instant", "transport/core", "transport/splitmix"}, "it moves a clock and bytes, and decides nothing"},
	{"emulator/netns", []string{"emulator", "transport/instant"}, "a plan is text made of a network"},
	{"emulator/virtual", []string{"emulator", "transport/instant", "transport/core"}, "applications bring their own protocol"},
	{"compare/rocev2/wire", []string{"transport/instant", "transport/wire/encap"}, "formats know bytes, what lies around them, and the units of their timer codes"},
	{"compare/carrier", []string{"compare", "emulator", "transport/instant", "transport/core", "transport/udp"}, "it plays what comparisons have planned, and reports to them"},
	{"compare", []string{"compare", "emulator", "transport", "congestion", "spray"}, "comparisons use everything below"},
	{"cmd", []string{"compare"}, "the command is wiring"},
}

// stdOnly are the rooms that import the standard library and this module only.
var stdOnly = []string{"transport", "congestion", "spray", "emulator", "compare/rocev2"}

// libraries are the exceptions to stdOnly.
var libraries = map[string][]string{
	"transport/udp":  {"golang.org/x/sys", "golang.org/x/net"},
	"emulator/live":  {"golang.org/x/sys", "github.com/HdrHistogram/hdrhistogram-go"},
	"emulator/netns": {"golang.org/x/sys"},
}

// timeless are the rooms where no clock ticks, no goroutine runs and no chance is global.
var timeless = []string{"transport/core", "transport/wire", "congestion", "spray", "emulator", "compare/rocev2", "compare/protocols", "compare/workload"}

// clocked are rooms in those that are carriers of applications: their goroutines and clocks are the point.
var clocked = []string{"emulator/virtual", "emulator/live", "emulator/netns"}

func within(path string, rooms []string) bool {
	for _, r := range rooms {
		if path == r || strings.HasPrefix(path, r+"/") {
			return true
		}
	}
	return false
}

// sources calls do for every Go file outside tests.
func sources(t *testing.T, do func(dir, path string, file *ast.File, fset *token.FileSet)) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || d.Name() == "docs" || d.Name() == "examples") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err == nil {
			do(filepath.ToSlash(filepath.Dir(path)), path, file, fset)
		}
		return err
	})
	require.NoError(t, err)
}

func TestArrowsPointOneWay(t *testing.T) {
	files := 0
	sources(t, func(dir, path string, file *ast.File, _ *token.FileSet) {
		files++
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			inside, ours := strings.CutPrefix(target, module)
			if !ours {
				if within(dir, stdOnly) && !within(target, libraries[dir]) && strings.Contains(strings.Split(target, "/")[0], ".") {
					t.Errorf("%s imports %s; only the standard library may be imported there", path, target)
				}
				continue
			}
			rule := -1
			for i := range arrows {
				if within(dir, []string{arrows[i].room}) && (rule < 0 || len(arrows[i].room) > len(arrows[rule].room)) {
					rule = i
				}
			}
			if dir == "." || inside == "" {
				continue
			}
			require.GreaterOrEqual(t, rule, 0, "%s lies in no room that a rule names", path)
			if !within(inside, arrows[rule].may) && !strings.HasPrefix(inside, dir+"/") {
				t.Errorf("%s imports %s: %s", path, inside, arrows[rule].why)
			}
		}
	})
	require.Greater(t, files, 50, "the walk has seen the project")
}

// TestNoClockBelowTheCarrier keeps what would make a run differ from its repetition out of the rooms
// where the protocol lives.
func TestNoClockBelowTheCarrier(t *testing.T) {
	sources(t, func(dir, path string, file *ast.File, fset *token.FileSet) {
		if !within(dir, timeless) || within(dir, clocked) {
			return
		}
		for _, spec := range file.Imports {
			switch spec.Path.Value {
			case `"time"`, `"math/rand"`, `"math/rand/v2"`, `"sync/atomic"`, `"net"`, `"os"`:
				if !(spec.Path.Value == `"os"` && within(dir, []string{"compare/workload", "congestion/conformance"})) {
					t.Errorf("%s imports %s", path, spec.Path.Value)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: goroutines and channels belong above the carrier", fset.Position(n.Pos()))
			}
			return true
		})
	})
}

// TestFilesAreSmallRooms bounds files and functions, the tables of formats and parameters aside.
func TestFilesAreSmallRooms(t *testing.T) {
	sources(t, func(dir, path string, file *ast.File, fset *token.FileSet) {
		if lines := fset.File(file.Pos()).LineCount(); lines > 620 {
			t.Errorf("%s has %d lines; is it one idea?", path, lines)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line; lines > 110 {
				t.Errorf("%s: %s has %d lines", path, fn.Name.Name, lines)
			}
		}
	})
}
