package scenario

// A part is a built-in scenario or family with changes that make it quicker.
type part struct {
	name string
	set  []string
}

// demo is what `weft compare` runs without arguments: members of most families, with few seeds and
// sizes that end in about half a minute on two cores. The figures are a first look and not evidence.
var demo = []part{
	{"ablation", []string{"seeds=1..3"}},
	{"incast-8", []string{"seeds=1,2"}},
	{"incast-32", []string{"seeds=1,2"}},
	{"degraded", []string{"workload.size=2MiB", "seeds=1,2"}},
	{"linkfail", []string{"workload.size=4MiB", "faults.0.at=20us", "seeds=1,2"}},
	{"linkfail-reroute", []string{"workload.size=4MiB", "faults.0.at=20us", "seeds=1,2"}},
	{"loss-none", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"loss-1in65536", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"loss-1in4096", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"loss-1in256", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"allreduce", []string{"seeds=1"}},
	{"websearch", []string{"workload.warmup=100us", "workload.duration=500us", "workload.cooldown=200us", "seeds=1"}},
	{"messages-1KiB", []string{"seeds=1,2"}},
	{"messages-64KiB", []string{"seeds=1"}},
}

// Demo resolves the demonstration. The options lie over its own changes.
func Demo(o Options) ([]*Scenario, error) { return loadParts(demo, o) }

// Full resolves all built-in scenarios with the seeds that evidence needs.
func Full(o Options) ([]*Scenario, error) {
	var parts []part
	for _, name := range Families() {
		parts = append(parts, part{name: name})
	}
	return loadParts(parts, o)
}

func loadParts(parts []part, o Options) ([]*Scenario, error) {
	var all []*Scenario
	for _, p := range parts {
		own := o
		own.Set = append(append([]string{}, p.set...), o.Set...)
		some, err := Load(p.name, own)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
