package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Topologies.Register(param.Entry[Topology]{
		Name: "planes", Doc: "hosts whose link is split over planes, each a network of its own; the card chooses the plane of a packet by hash of its entropy value",
		Source: "Qian et al., SIGCOMM 2024 (HPN, dual plane)",
		Params: []param.Param{
			{Name: "planes", Kind: param.Int, Default: "4", Min: 1, Max: 16, Doc: "number of planes; fabric.rate is that of a host, over all of them"},
			{Name: "plane", Kind: param.Word, Default: "leafspine", OneOf: []string{"leafspine", "fattree"}, Doc: "what each plane is"},
			{Name: "leaves", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "leaves of a plane that is a leafspine; 0: as leafspine"},
			{Name: "spines", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "spines of such a plane; 0: from oversubscription"},
			{Name: "tiers", Kind: param.Int, Default: "3", Min: 2, Max: 3, Doc: "tiers of a plane that is a fattree"},
			portChoice,
		},
		New: func(v param.Values) (Topology, error) {
			return func(s Spec) (*Network, error) {
				n, err := planes(s, int(v.Int("planes")), func(s Spec) (*Network, error) {
					if v.Word("plane") == "fattree" {
						return fatTree(s, int(v.Int("tiers")), 0)
					}
					return leafSpine(s, int(v.Int("leaves")), int(v.Int("spines")), 1)
				})
				if err == nil {
					n.PinPairs = v.Word("choice") == "pair"
				}
				return n, err
			}, nil
		},
	})
}

// portChoice is how the cards of hosts with several ports choose.
var portChoice = param.Param{Name: "choice", Kind: param.Word, Default: "entropy", OneOf: []string{"entropy", "pair"},
	Doc: "how a card chooses the port of a packet: by hash of its entropy value, so that a sprayed flow uses all; or one for each pair of hosts, whatever the entropy value, the same in both directions"}

// planes puts count copies of a network side by side. A host's card is a node between the host and its ports, one
// port a plane: it hashes each packet to a port as a switch does, holds what waits for a port as a switch does, and never
// forwards for others. Between host and card there is no distance. Switches of plane 1 are called p1leaf0, cards nic0.
func planes(s Spec, count int, build func(Spec) (*Network, error)) (*Network, error) {
	part, err := s.share(count, "planes")
	if err != nil {
		return nil, err
	}
	plane, err := build(part)
	if err != nil {
		return nil, err
	}
	n, cards := newCards(s)
	n.Planes = count
	for p := range count {
		n.addPlane(plane, p, cards)
	}
	return n, nil
}

// share is the spec of what one of count ports of every host leads to.
func (s Spec) share(count int, noun string) (Spec, error) {
	part := s
	part.TierRateBps = append([]int64(nil), s.TierRateBps...)
	total := s.TierRate(0)
	if total%int64(count) != 0 {
		return s, fmt.Errorf("%d %s do not divide the %d bits per second of a host", count, noun, total)
	}
	part.RateBps = s.RateBps / int64(count)
	if len(part.TierRateBps) > 0 {
		part.TierRateBps[0] = total / int64(count)
	}
	return part, nil
}

// newCards starts a graph with hosts and their cards, and returns the first card.
func newCards(s Spec) (*Network, Node) {
	n := newNetwork(s)
	cards := n.addSwitches(s.Hosts, "nic")
	n.Cards = s.Hosts
	near := s
	near.LinkDelay, near.TierDelay = 0, nil
	for h := range s.Hosts {
		n.cable(Node(h), cards+Node(h), 0, near, 0)
	}
	return n, cards
}

// addPlane copies a network, with cards in the place of its hosts.
func (n *Network) addPlane(plane *Network, number int, cards Node) {
	first := Node(n.Hosts + n.Switches)
	for _, name := range plane.NodeNames[plane.Hosts:] {
		n.NodeNames = append(n.NodeNames, fmt.Sprintf("p%d%s", number, name))
	}
	n.Switches += plane.Switches
	at := func(node Node) Node {
		if int(node) < plane.Hosts {
			return cards + node
		}
		return first + node - Node(plane.Hosts)
	}
	base := int32(len(n.Links))
	for _, l := range plane.Links {
		suffix := l.Name[len(plane.NodeNames[l.From])+1+len(plane.NodeNames[l.To]):]
		l.From, l.To, l.Reverse = at(l.From), at(l.To), l.Reverse+base
		l.Name = n.NodeNames[l.From] + "-" + n.NodeNames[l.To] + suffix
		n.Links = append(n.Links, l)
	}
}

// IsCard tells whether a node is the card of a host with several ports: no switch, although it is counted among them.
func (n *Network) IsCard(at Node) bool { return int(at) >= n.Hosts && int(at) < n.Hosts+n.Cards }

// PortsPerPair is over how many of its ports a host can send to another.
func (n *Network) PortsPerPair() int {
	if n.PinPairs {
		return 1
	}
	return max(1, n.Planes, n.Rails)
}

// DelayInto is the delay of a node between the last bit in and the queue of the egress port: that of switches.
func (n *Network) DelayInto(at Node) Time {
	if int(at) < n.Hosts+n.Cards {
		return 0
	}
	return n.SwitchDelay
}
