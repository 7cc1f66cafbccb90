package scenario

// A part is a built-in scenario or family with changes that make it quicker.
type part struct {
	name string
	set  []string
}

// demo is what `weft compare` runs without arguments: every family, with few seeds and sizes that
// end in about half a minute on two cores. The figures are a first look and not evidence.
var demo = []part{
	{"ablation", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"incast-8", []string{"workload.size=512KiB", "workload.victimSize=512KiB", "seeds=1"}},
	{"incast-32", []string{"workload.size=512KiB", "workload.victimSize=512KiB", "seeds=1"}},
	{"degraded", []string{"workload.size=1MiB", "seeds=1,2"}},
	{"linkfail", []string{"workload.size=1MiB", "seeds=1"}},
	{"linkfail-reroute", []string{"workload.size=1MiB", "seeds=1"}},
	{"loss-1in65536", []string{"workload.size=512KiB", "seeds=1"}},
	{"loss-1in4096", []string{"workload.size=512KiB", "seeds=1"}},
	{"loss-1in256", []string{"workload.size=512KiB", "seeds=1"}},
	{"allreduce", []string{"workload.size=4MiB", "seeds=1"}},
	{"websearch", []string{"workload.warmup=100us", "workload.duration=300us", "workload.cooldown=100us", "seeds=1"}},
	{"messages-1KiB", []string{"seeds=1"}},
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
