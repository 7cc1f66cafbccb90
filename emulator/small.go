package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Topologies.Register(param.Entry[Topology]{
		Name: "single", Doc: "one switch with all hosts", Source: "the smallest fabric with a queue",
		New: func(param.Values) (Topology, error) { return single, nil },
	})
	Topologies.Register(param.Entry[Topology]{
		Name: "dumbbell", Doc: "two switches with half the hosts each and one cable between them", Source: "the classic shared bottleneck",
		Params: []param.Param{
			{Name: "bottleneck", Kind: param.Rate, Default: "0", Doc: "rate of the cable between the switches; 0: as the hosts, and scaled with them"},
		},
		New: func(v param.Values) (Topology, error) {
			return func(s Spec) (*Network, error) { return dumbbell(s, v.Rate("bottleneck")) }, nil
		},
	})
}

func single(s Spec) (*Network, error) {
	if s.Hosts < 2 {
		return nil, fmt.Errorf("a single switch needs at least 2 hosts; %d were asked for", s.Hosts)
	}
	n := newNetwork(s)
	hub := n.addSwitches(1, "switch")
	for h := range s.Hosts {
		n.cable(Node(h), hub, 0, s, 0)
	}
	return n, nil
}

func dumbbell(s Spec, bottleneckBps int64) (*Network, error) {
	if s.Hosts < 2 || s.Hosts%2 != 0 {
		return nil, fmt.Errorf("a dumbbell needs an even number of hosts, 2 or more; %d were asked for", s.Hosts)
	}
	if bottleneckBps > 0 {
		s.TierRateBps = []int64{s.TierRate(0), bottleneckBps}
	}
	n := newNetwork(s)
	left := n.addSwitches(2, "switch")
	for h := range s.Hosts {
		n.cable(Node(h), left+Node(h/(s.Hosts/2)), 0, s, 0)
	}
	n.cable(left, left+1, 1, s, 0)
	return n, nil
}
