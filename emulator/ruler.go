package emulator

// A Ruler measures an idle network: how long packets take, and how fast a way is. It is read-only
// and safe for concurrent use.
type Ruler struct {
	net    *Network
	routes *routes
	uplink []int32
}

// NewRuler returns the ruler of a network. The error is that of a network that cannot be routed.
func NewRuler(n *Network) (*Ruler, error) {
	r, err := n.baseRoutes()
	if err != nil {
		return nil, err
	}
	ruler := &Ruler{net: n, routes: r, uplink: make([]int32, n.Hosts)}
	for i, l := range n.Links {
		if int(l.From) < n.Hosts {
			ruler.uplink[l.From] = int32(i)
		}
	}
	return ruler, nil
}

// each calls do for every link of one shortest way, the first of equals at each switch.
func (r *Ruler) each(from, to int, do func(link int32)) {
	l := r.uplink[from]
	do(l)
	for {
		at := int(r.net.Links[l].To) - r.net.Hosts
		if r.routes.isLeaf[at] == r.routes.leafOf[to] {
			do(r.routes.down[to])
			return
		}
		set := r.routes.sets[at*r.routes.leaves+int(r.routes.leafOf[to])]
		if set.count() == 0 {
			return
		}
		l = r.routes.hops[set.start()]
		do(l)
	}
}

// OneWay returns how long a packet of so many bytes on the wire takes from host to host: at every
// hop it is stored and forwarded.
func (r *Ruler) OneWay(from, to int, wireBytes int64) Time {
	var sum Time
	r.each(from, to, func(l int32) {
		link := &r.net.Links[l]
		sum += Serialisation(wireBytes, link.RateBps) + link.Delay
		if link.Netem != nil {
			sum += link.Netem.Usual(int(wireBytes))
		}
		sum += r.net.DelayInto(link.To)
	})
	return sum
}

// Ways returns the links by which a node sends on what is for a host, all of equal length; of a host its uplink. They
// are the ruler's own.
func (r *Ruler) Ways(at Node, host int) []int32 {
	sw := int(at) - r.net.Hosts
	switch {
	case sw < 0:
		return r.uplink[at : at+1]
	case r.routes.isLeaf[sw] == r.routes.leafOf[host]:
		return r.routes.down[host : host+1]
	}
	set := r.routes.sets[sw*r.routes.leaves+int(r.routes.leafOf[host])]
	return r.routes.hops[set.start() : set.start()+set.count()]
}

// Hops returns the number of links between two hosts.
func (r *Ruler) Hops(from, to int) int {
	hops := 0
	r.each(from, to, func(int32) { hops++ })
	return hops
}

// Rate returns the rate of the slowest link of the way, in bits per second; beyond a card, of the links of all ports that
// the card may use for it.
func (r *Ruler) Rate(from, to int) int64 {
	rate := int64(1) << 62
	r.each(from, to, func(l int32) {
		link := &r.net.Links[l]
		ways := int64(1)
		if int(link.From) >= r.net.Hosts && int(link.To) >= r.net.Hosts {
			ways = int64(r.net.PortsPerPair())
		}
		rate = min(rate, ways*link.RateBps)
		if n := link.Netem; n != nil && n.RateBps > 0 {
			rate = min(rate, ways*n.RateBps)
		}
	})
	return rate
}

// RTT returns the time for a packet one way and another back.
func (r *Ruler) RTT(from, to int, outBytes, backBytes int64) Time {
	return r.OneWay(from, to, outBytes) + r.OneWay(to, from, backBytes)
}

// LongestRTT returns the largest RTT between any two hosts. Hosts under one leaf are taken to be
// alike, and so are leaves when there are more than 64: then only pairs with the first are measured.
func (r *Ruler) LongestRTT(outBytes, backBytes int64) Time {
	first := make([]int, r.routes.leaves) // a host of each leaf
	second := make([]int, r.routes.leaves)
	for h := r.net.Hosts - 1; h >= 0; h-- {
		leaf := r.routes.leafOf[h]
		first[leaf], second[leaf] = h, first[leaf]
	}
	longest := Time(0)
	for a := range first {
		if a > 0 && len(first) > 64 {
			break
		}
		if second[a] != 0 {
			longest = max(longest, r.RTT(first[a], second[a], outBytes, backBytes))
		}
		for b := a + 1; b < len(first); b++ {
			longest = max(longest, r.RTT(first[a], first[b], outBytes, backBytes))
		}
	}
	return longest
}

// Serialisation returns how long bytes take at a rate, as ports reckon it.
func Serialisation(bytes, bps int64) Time {
	p := port{psPerByte: perByte(bps)}
	return p.serialise(bytes)
}

// perByte returns the serialisation time of a byte in picoseconds, times 65536.
func perByte(bps int64) int64 { return int64(8e12 * 65536 / float64(bps)) }
