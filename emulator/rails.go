package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

// Rails: port i of every host of a pod has its cable to leaf i of that pod, and all leaves have theirs to the same spines.
// Within a pod a rail is one switch away; between pods, a spine carries all rails.
//
//	      spine0 .. spineS           every leaf of every pod has a cable to each
//	     /      X       \
//	r0leaf0 r1leaf0   r0leaf1 r1leaf1
//	   |  \ /  |         |  \ /  |     leaf of rail, pod
//	  nic0   nic1       nic2   nic3
//
// Each port has an address of its own, that its peer knows: what leaves by rail i arrives by rail i. That is where a spine
// sends it, unless no way is left there (the other leaves then announce the host). With arrive=any the host has one address
// for all ports, and spines choose the rail as they choose among all equal ways.

func init() {
	Topologies.Register(param.Entry[Topology]{
		Name: "rails", Doc: "hosts with several ports, rail i of all hosts of a pod on leaf i of the pod, under common spines",
		Source: "Wang et al., HotI 2024 (rail-only); Qian et al., SIGCOMM 2024 (HPN); rail-optimised leaf-spine",
		Params: []param.Param{
			{Name: "rails", Kind: param.Int, Default: "4", Min: 1, Max: 16, Doc: "ports of a host; fabric.rate is that of a host, over all of them"},
			{Name: "pods", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "pods, each with one leaf a rail; 0: as leaves of a leafspine; 1: rails alone, without spines"},
			{Name: "spines", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "spines; 0: from oversubscription"},
			portChoice,
			{Name: "arrive", Kind: param.Word, Default: "same", OneOf: []string{"same", "any"}, Doc: "rail by which a packet arrives: the one it left by, or any, chosen by the spine"},
		},
		New: func(v param.Values) (Topology, error) {
			return func(s Spec) (*Network, error) {
				n, err := rails(s, int(v.Int("rails")), int(v.Int("pods")), int(v.Int("spines")))
				if err == nil {
					n.PinPairs, n.AnyPort = v.Word("choice") == "pair", v.Word("arrive") == "any"
				}
				return n, err
			}, nil
		},
	})
}

func rails(s Spec, count, pods, spines int) (*Network, error) {
	part, err := s.share(count, "rails")
	if err != nil {
		return nil, err
	}
	switch {
	case pods == 1 && spines > 0:
		return nil, fmt.Errorf("%d spines for one pod: within a pod every rail is one leaf; expected 0, or more pods", spines)
	case pods == 1 && s.Oversubscription > 1:
		return nil, fmt.Errorf("oversubscription %g for one pod: it has no uplinks; expected 1, or more pods", s.Oversubscription)
	}
	if pods != 1 {
		if pods, spines, err = leafSpineCounts(part, pods, spines, 1); err != nil {
			return nil, fmt.Errorf("each rail: %w", err)
		}
	}
	n, cards := newCards(s)
	n.Rails = count
	leaf0 := n.addSwitches(0, "")
	for rail := range count {
		n.addSwitches(pods, fmt.Sprintf("r%dleaf", rail))
	}
	spine0 := n.addSwitches(spines, "spine")
	for rail := range count {
		first := len(n.Links)
		leaves := leaf0 + Node(rail*pods)
		for h := range s.Hosts {
			n.cable(cards+Node(h), leaves+Node(h/(s.Hosts/pods)), 0, part, 0)
		}
		for pod := range pods {
			for sp := range spines {
				n.cable(leaves+Node(pod), spine0+Node(sp), 1, part, 0)
			}
		}
		for i := first; i < len(n.Links); i++ {
			n.Links[i].Rail = uint8(rail + 1)
		}
	}
	return n, nil
}

// steer chooses among equal links where hosts have several ports: the port of a pair of hosts at a card that pins them, and
// at a spine the rail that a packet came by. -1: neither is the case, or no way is left on that rail.
func (f *Fabric) steer(sw int, from int32, r *record, links []int32) int32 {
	if sw < f.net.Cards {
		if !f.net.PinPairs {
			return -1
		}
		src := uint32(sw) // cards are in the order of hosts
		h := mix32(mix32(min(src, r.dst)^f.salts[0]) + max(src, r.dst))
		return links[uint64(h)*uint64(len(links))>>32]
	}
	in := &f.net.Links[from]
	if f.net.AnyPort || in.Rail == 0 || !in.Up || in.Tier == 0 {
		return -1
	}
	for _, l := range links {
		if out := &f.net.Links[l]; out.Rail == in.Rail && !out.Up {
			return l
		}
	}
	return -1
}
