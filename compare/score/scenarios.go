package score

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
)

// scenarios are the standard ones, small enough for an answer within a minute.
const scenarios = `name: score-permutation
title: Permutation
description: Every host sends to one other and receives from one other.
fabric: {topology: leafspine, hosts: 64, leaves: 8, rate: 400Gbps, linkDelay: 500ns, switchDelay: 500ns}
workload: {kind: permutation, size: 2MiB}
protocols: uet
seeds: 1..3
---
base: score-permutation
name: score-incast-8
title: Incast, 8 to 1
description: Eight hosts send to one.
workload: {kind: incast, degree: 8, size: 2MiB}
---
base: score-permutation
name: score-incast-32
title: Incast, 32 to 1, and a victim
description: 32 hosts send to one; another flow shares no bottleneck with them.
workload: {kind: incast, degree: 32, size: 1MiB, victim: true, victimSize: 1MiB}
---
base: score-permutation
name: score-fair
title: Four flows into one host
description: Four long flows share the last link.
workload: {kind: incast, degree: 4, size: 8MiB}
---
base: score-permutation
name: score-loss
title: Random loss
description: A permutation; every link loses one packet in 1024.
fabric: {loss: {random: 1/1024}}
---
base: score-permutation
name: score-degraded
title: One uplink at half its rate
description: A permutation while one uplink of one leaf runs at half its rate.
faults:
  - {at: 0, link: leaf0-spine0, kind: slow, factor: 0.5}
`

// full makes evidence of the standard scenarios: larger, longer, with more seeds.
var full = map[string][]string{
	"":                  {"seeds=1..10", "fabric.hosts=128", "fabric.leaves=16"},
	"score-permutation": {"workload.size=8MiB"},
	"score-incast-8":    {"workload.size=8MiB"},
	"score-incast-32":   {"workload.size=4MiB"}, // the victim is over before the incast is
	"score-fair":        {"workload.size=32MiB"},
	"score-loss":        {"workload.size=8MiB"},
	"score-degraded":    {"workload.size=8MiB"},
}

// load resolves the standard scenarios for contestants.
func load(contestants []contestant, o Options) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	var text strings.Builder
	for i, c := range contestants {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(c.spec.String())
	}
	for i, doc := range strings.Split(scenarios, "---\n") {
		name, _, _ := strings.Cut(strings.SplitAfter(doc, "name: ")[1], "\n")
		var set []string
		if o.Full {
			set = append(append(set, full[""]...), full[name]...)
		}
		source := scenarios
		if i == 0 {
			source = doc
		}
		some, err := scenario.Read("score.yaml", []byte(source), scenario.Options{Set: set, Protocols: text.String(), Seeds: o.Seeds})
		if err != nil {
			return nil, err
		}
		all = append(all, some[i])
	}
	for _, s := range all {
		if len(s.Protocols) != len(contestants) {
			return nil, fmt.Errorf("%s has %d protocols of %d", s.Name, len(s.Protocols), len(contestants))
		}
		for i := range s.Protocols {
			s.Protocols[i].Label = contestants[i].label
		}
	}
	return all, nil
}
