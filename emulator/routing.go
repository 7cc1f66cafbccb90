package emulator

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A Way is a rule by which a switch chooses among equal ways.
type Way uint8

// Ways to choose. All but ECMP decide anew for every packet or flowlet, and so reorder packets.
const (
	ECMP       Way = iota // by a hash of addresses, protocol and entropy value, with a salt per switch
	Random                // per packet
	RoundRobin            // per packet, the links in turn
	Adaptive              // per packet, the least load; ties are broken at random
	Flowlet               // per burst of a flow: as long as its packets follow each other closely they take one way
	DRILL                 // per packet, the least load of some at random and some remembered
)

// A Metric is what the load of a link means to a switch.
type Metric uint8

// Metrics.
const (
	ClassQueue Metric = iota // bytes of the packet's class that wait for the link, the one that leaves included
	PortQueue                // bytes of all classes
	PathQueue                // bytes of the class that wait on the rest of the best way over this link: what no switch knows, as a bound
)

// Routing says how switches spread the packets of a class over equal ways. The zero value is ECMP.
type Routing struct {
	Way    Way
	Metric Metric // of Adaptive, DRILL, and Flowlet with Least
	// Levels, if not 0, makes loads known in so many steps, the last from Full bytes on, as port grades of NICs and
	// switches are. Refresh, if not 0, makes them as old as the last multiple of it.
	Levels  int
	Full    int64
	Refresh Time

	Gap   Time // Flowlet: silence after which the next packet may take another way
	Table int  // Flowlet: entries a switch has for flows; a power of two
	Least bool // Flowlet: a burst takes the least loaded link, instead of a random one

	Samples, Memory int // DRILL: links looked at at random, and remembered; each at most maxDRILL
}

const maxDRILL = 8

// A Router makes a Routing for a fabric of the given bandwidth-delay product.
type Router func(bdp int64) Routing

// Routers holds every way of routing, for `routing` of scenario files.
var Routers = param.Registry[Router]{Noun: "way of routing"}

func init() {
	loads := []param.Param{
		{Name: "metric", Kind: param.Word, Default: "queue", OneOf: []string{"queue", "port", "path"},
			Doc: "Load of a link: bytes of the packet's class that wait there, of all classes, or of the class on the whole rest of the way (no switch knows that: a bound)."},
		{Name: "levels", Kind: param.Int, Default: "0", Min: 0, Max: 1 << 16,
			Doc: "Loads are known in so many equal steps (8 in three bits, as switch chips grade ports); 0: to the byte; not scaled."},
		{Name: "full", Kind: param.Bytes, Default: "1bdp", Doc: "Load from which the last level begins (ours); scales as a BDP."},
		{Name: "refresh", Kind: param.Duration, Default: "0s", Doc: "Loads are measured at multiples of this time and used until the next; 0: at every packet; not scaled: what a chip takes to measure."},
	}
	register := func(name, doc, source string, params []param.Param, make func(v param.Values, bdp int64) Routing) {
		Routers.Register(param.Entry[Router]{Name: name, Doc: doc, Source: source, Params: params,
			New: func(v param.Values) (Router, error) {
				r := make(v, 1)
				return func(bdp int64) Routing { return make(v, bdp) }, r.validate()
			}})
	}
	plain := func(w Way) func(param.Values, int64) Routing {
		return func(param.Values, int64) Routing { return Routing{Way: w} }
	}
	register("ecmp", "A hash of addresses, protocol and entropy value picks the link.", "RFC 2992", nil, plain(ECMP))
	register("random", "A random link for every packet.", "Dixit et al., On the Impact of Packet Spraying (INFOCOM 2013)", nil, plain(Random))
	register("roundrobin", "The links in turn, a packet each, from a random start.", "packet round robin of switches", nil, plain(RoundRobin))
	register("adaptive", "The least loaded link for every packet, ties at random; paused links last.", "adaptive routing of switches; with metric=path a bound for what they could know", loads, func(v param.Values, bdp int64) Routing {
		return withLoads(Routing{Way: Adaptive}, v, bdp)
	})
	register("flowlet", "A burst of a flow stays on one link; after a gap the next may take another.", "LetFlow (NSDI 2017); pick=least: dynamic load balancing of switch chips",
		append([]param.Param{
			{Name: "gap", Kind: param.Duration, Default: "10us", Min: 1, Max: float64(instant.Second),
				Doc: "Silence that ends a burst: more than ways differ in delay. ConWeave compares with LetFlow at 100us and 10us; scales with the round trip."},
			{Name: "table", Kind: param.Int, Default: "4096", Min: 1, Max: 1 << 20,
				Doc: "Flows that a switch tells apart, rounded up to a power of two (LetFlow: 65536); those that share an entry share a link; not scaled."},
			{Name: "pick", Kind: param.Word, Default: "random", OneOf: []string{"random", "least"}, Doc: "The link of a new burst."},
		}, loads...), func(v param.Values, bdp int64) Routing {
			r := Routing{Way: Flowlet, Gap: v.Time("gap"), Table: 1, Least: v.Word("pick") == "least"}
			for r.Table < int(v.Int("table")) {
				r.Table *= 2
			}
			return withLoads(r, v, bdp)
		})
	register("drill", "The least loaded of some random links and of those found best before, for every packet.", "DRILL (SIGCOMM 2017)",
		append([]param.Param{
			{Name: "samples", Kind: param.Int, Default: "2", Min: 1, Max: maxDRILL, Doc: "Random links looked at (DRILL(2,1) is the paper's recommendation); not scaled."},
			{Name: "memory", Kind: param.Int, Default: "1", Min: 0, Max: maxDRILL, Doc: "Links remembered for the next packet (DRILL); not scaled."},
		}, loads...), func(v param.Values, bdp int64) Routing {
			return withLoads(Routing{Way: DRILL, Samples: int(v.Int("samples")), Memory: int(v.Int("memory"))}, v, bdp)
		})
}

func withLoads(r Routing, v param.Values, bdp int64) Routing {
	r.Metric = map[string]Metric{"queue": ClassQueue, "port": PortQueue, "path": PathQueue}[v.Word("metric")]
	r.Levels, r.Full, r.Refresh = int(v.Int("levels")), max(1, v.Bytes("full", bdp)), v.Time("refresh")
	return r
}

// ParseRouting reads a way of routing with its parameters, such as "ecmp", "drill:samples=2:memory=1" or
// "adaptive:metric=path", on a fabric of the given bandwidth-delay product.
func ParseRouting(text string, bdp int64) (Routing, error) {
	name, rest, more := strings.Cut(text, ":")
	if _, err := Routers.Lookup(name); err != nil {
		return Routing{}, fmt.Errorf("%q is not a way of routing; expected one of %s", name, strings.Join(Routers.Names(), ", "))
	}
	given := map[string]string{}
	for more {
		var word string
		word, rest, more = strings.Cut(rest, ":")
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return Routing{}, fmt.Errorf("%q in way of routing %q is no parameter; expected name=value, as in drill:samples=2:memory=1", word, text)
		}
		given[key] = value
	}
	make, _, err := Routers.Make(name, given)
	if err != nil {
		return Routing{}, err
	}
	return make(bdp), nil
}

// A spreader is what the switches remember of one class that is not routed by hash.
type spreader struct {
	Routing
	turns    []uint32 // RoundRobin, by switch
	bursts   []burst  // Flowlet, by switch and hash
	best     []int32  // DRILL, by switch: links remembered, -1 if none
	measured []sample // by link; nil without Refresh
}

// A burst is an entry of a flow table.
type burst struct {
	last Time // when its last packet passed
	link int32
}

// A sample is the load of a link as it was measured last.
type sample struct {
	load int64
	at   Time
}

// validate refuses what no scenario file can say.
func (r *Routing) validate() error {
	switch {
	case r.Way > DRILL || r.Metric > PathQueue:
		return fmt.Errorf("routing has way %d and metric %d, which there are not", r.Way, r.Metric)
	case r.Way == Flowlet && (r.Table < 1 || r.Table&(r.Table-1) != 0):
		return fmt.Errorf("routing by flowlets has a table of %d entries; expected a power of two", r.Table)
	case r.Samples < 0 || r.Samples > maxDRILL || r.Memory < 0 || r.Memory > maxDRILL || r.Way == DRILL && r.Samples == 0:
		return fmt.Errorf("DRILL with %d samples and a memory of %d; expected 1 to %d and 0 to %d", r.Samples, r.Memory, maxDRILL, maxDRILL)
	case r.Metric == PathQueue && r.Refresh > 0:
		return fmt.Errorf("routing by the queues of the whole way, measured every %v; expected 0: that load is of a way, and not of a link", r.Refresh)
	case r.Levels < 0 || r.Levels > 0 && r.Full <= 0:
		return fmt.Errorf("routing by %d levels up to %d bytes; expected positive numbers", r.Levels, r.Full)
	}
	return nil
}

// buildRouting makes what the switches remember.
func (f *Fabric) buildRouting() error {
	for c := range f.classes {
		r := f.classes[c].Routing
		if err := r.validate(); err != nil {
			return fmt.Errorf("class %s: %w", f.classes[c].Name, err)
		}
		if r.Way == ECMP {
			continue
		}
		s := &spreader{Routing: r}
		switch r.Way {
		case RoundRobin:
			s.turns = append(s.turns, f.salts...)
		case Flowlet:
			s.bursts = make([]burst, f.net.Switches*r.Table)
			for i := range s.bursts {
				s.bursts[i].link = -1
			}
		case DRILL:
			s.best = make([]int32, f.net.Switches*r.Memory)
			for i := range s.best {
				s.best[i] = -1
			}
		}
		if r.Refresh > 0 {
			s.measured = make([]sample, len(f.ports))
			for i := range s.measured {
				s.measured[i].at = -1
			}
		}
		f.spread[c] = s
	}
	return nil
}

// pick chooses among equal links, of which there are two or more, other than by hash.
func (f *Fabric) pick(sw int, links []int32, r *record) int32 {
	s := f.spread[r.class]
	switch s.Way {
	case RoundRobin:
		s.turns[sw]++
		return links[s.turns[sw]%uint32(len(links))]
	case Adaptive:
		return f.leastLoaded(s, links, r)
	case Flowlet:
		return f.flowlet(s, sw, links, r)
	case DRILL:
		return f.drill(s, sw, links, r)
	}
	return f.anyOf(links)
}

func (f *Fabric) anyOf(links []int32) int32 {
	return links[f.rand.next()>>32*uint64(len(links))>>32]
}

// flowlet keeps the link of a burst, and chooses one for the next.
func (f *Fabric) flowlet(s *spreader, sw int, links []int32, r *record) int32 {
	b := &s.bursts[sw*s.Table+int(mix32(r.hash^f.salts[sw])&uint32(s.Table-1))]
	if f.now-b.last > s.Gap || !contains(links, b.link) {
		if s.Least {
			b.link = f.leastLoaded(s, links, r)
		} else {
			b.link = f.anyOf(links)
		}
	}
	b.last = f.now
	return b.link
}

func contains(links []int32, link int32) bool {
	for _, l := range links {
		if l == link {
			return true
		}
	}
	return false
}

// leastLoaded returns the link with the least load, ties broken at random.
func (f *Fabric) leastLoaded(s *spreader, links []int32, r *record) int32 {
	best, ties := links[0], uint64(0)
	least := int64(math.MaxInt64)
	for _, l := range links {
		load := f.load(s, l, r)
		switch {
		case load < least:
			best, least, ties = l, load, 1
		case load == least:
			ties++
			if f.rand.next()%ties == 0 {
				best = l
			}
		}
	}
	return best
}

// drill looks at some links at random and at those remembered, takes the least loaded, and remembers the
// best of them.
func (f *Fabric) drill(s *spreader, sw int, links []int32, r *record) int32 {
	var (
		best  [2 * maxDRILL]int32 // by load, least first
		loads [2 * maxDRILL]int64
		n     int
	)
	memory := s.best[sw*s.Memory : (sw+1)*s.Memory]
	for i := range s.Samples + s.Memory {
		l := int32(-1)
		if i < s.Samples {
			l = f.anyOf(links)
		} else if l = memory[i-s.Samples]; !contains(links, l) {
			continue // nothing is remembered, or it does not lead there
		}
		if contains(best[:n], l) {
			continue
		}
		load, at := f.load(s, l, r), n
		for ; at > 0 && loads[at-1] > load; at-- {
			best[at], loads[at] = best[at-1], loads[at-1]
		}
		best[at], loads[at] = l, load
		n++
	}
	copy(memory, best[:n])
	return best[0]
}

// pausedLoad is added to the load of a paused link: it is the last resort.
const pausedLoad = 1 << 40

// load is what a switch takes for the load of a link towards the destination of a packet.
func (f *Fabric) load(s *spreader, link int32, r *record) int64 {
	if s.measured != nil {
		m := &s.measured[link]
		if period := f.now / s.Refresh; m.at != period {
			m.at, m.load = period, f.measure(s, link, r)
		}
		return m.load
	}
	return f.measure(s, link, r)
}

func (f *Fabric) measure(s *spreader, link int32, r *record) int64 {
	var bytes int64
	switch s.Metric {
	case ClassQueue:
		bytes = f.backlog(link, int(r.class))
	case PortQueue:
		for c := range f.classes {
			bytes += f.backlog(link, c)
		}
	case PathQueue:
		bytes = f.ahead(link, r)
	}
	if s.Levels > 0 {
		bytes = min(bytes*int64(s.Levels-1)/s.Full, int64(s.Levels-1))
	}
	if f.ports[link].blocked>>r.class&1 != 0 {
		bytes += pausedLoad
	}
	return bytes
}

// ahead is what waits at a link and on the best way from its end to a packet's destination.
func (f *Fabric) ahead(link int32, r *record) int64 {
	waits := f.backlog(link, int(r.class))
	p := &f.ports[link]
	if p.state&toHost != 0 {
		return waits
	}
	rt, sw := f.routing, int(p.to)-len(f.hosts)
	leaf := r.leaf
	if rt.isLeaf[sw] == leaf {
		return waits + f.backlog(rt.down[r.dst], int(r.class))
	}
	set := rt.sets[sw*rt.leaves+int(leaf)]
	least := int64(pausedLoad) // no way
	for _, l := range rt.hops[set.start() : set.start()+set.count()] {
		least = min(least, f.ahead(l, r))
	}
	return waits + least
}
