// Package published reruns the set-ups of others and sets their figures beside ours.
//
// The set-ups are scenario files (compare/scenarios/published, embedded) whose field published says who found what, and how
// near ours has to come:
//
//	Load -> scenarios -> a campaign makes the runs, Collector takes each -> Judge -> a Row for every figure -> Table
//
// docs/VALIDATION.md tells of what the rows cannot: how set-ups differ, and why some figures miss.
package published

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/scenarios"
)

// Names lists the set-ups, sorted.
func Names() []string {
	paths, _ := fs.Glob(scenarios.Published, "published/*.yaml")
	for i := range paths {
		paths[i] = strings.TrimSuffix(path.Base(paths[i]), ".yaml")
	}
	return paths
}

// Load resolves the named set-ups, all where none is named. Scenarios that nobody published a figure of are left out.
func Load(names []string, o scenario.Options) ([]*scenario.Scenario, error) {
	if len(names) == 0 {
		names = Names()
	}
	var all []*scenario.Scenario
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no published set-up %q; expected one of %s", name, strings.Join(Names(), ", "))
		}
		file := "published/" + name + ".yaml"
		text, err := scenarios.Published.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := scenario.Read(scenario.Embedded+file, text, o)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			if s.Published != nil {
				all = append(all, s)
			}
		}
	}
	return all, nil
}
