package workload

import (
	"container/heap"
	"fmt"
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "poisson",
		Doc:    "flows arrive at every host as a Poisson process, to a random other host, with sizes from a distribution",
		Source: "the workload generators published with HPCC (SIGCOMM 2019) and ConWeave (SIGCOMM 2023)",
		Params: []param.Param{
			{Name: "cdf", Kind: param.Word, Default: "websearch", Doc: "flow sizes: websearch, hadoop, alistorage, solar, googlerpc, or a file of two columns, bytes and cumulative percent"},
			{Name: "load", Kind: param.Fraction, Default: "0.5", Doc: "payload that a host sends, as a share of the rate of its link, with which it scales", Min: 0.0001, Max: 1},
			{Name: "warmup", Kind: param.Duration, Default: "500us", Doc: "flows that arrive in this time load the fabric and are not measured (some sixty base RTTs of the default fabric); not scaled", Max: float64(1000 * instant.Second)},
			{Name: "duration", Kind: param.Duration, Default: "2ms", Doc: "flows that arrive in this time after the warm-up are measured; not scaled: longer gives more flows, and larger ones time to end", Min: 1, Max: float64(1000 * instant.Second)},
			{Name: "cooldown", Kind: param.Duration, Default: "500us", Doc: "flows go on arriving for this time, unmeasured, so that the last measured ones see the load too; not scaled", Max: float64(1000 * instant.Second)},
			{Name: "maxFlows", Kind: param.Int, Default: "0", Doc: "arrivals end after so many flows in all; 0: no limit", Max: maxFlows},
		},
		New: newPoisson,
	})
}

func newPoisson(v param.Values) (Generator, error) {
	if name := v.Word("cdf"); !isTable(name) && !looksLikePath(name) {
		return nil, fmt.Errorf("cdf: %q is neither one of %v nor a file", name, Tables())
	}
	return func(e Env) (*Plan, error) {
		cdf, err := e.cdf(v.Word("cdf"))
		if err != nil {
			return nil, err
		}
		if e.Hosts < 2 {
			return nil, fmt.Errorf("random pairs need at least 2 hosts, the fabric has %d", e.Hosts)
		}
		p := &Plan{Nodes: e.Hosts, MeasureFrom: v.Time("warmup"), MeasureUntil: v.Time("warmup") + v.Time("duration")}
		return p, p.arrivals(v, e, cdf)
	}, nil
}

// cdf returns a built-in distribution or reads a file.
func (e Env) cdf(name string) (*CDF, error) {
	if isTable(name) {
		c, _, err := Table(name)
		return c, err
	}
	file, err := e.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadCDF(file, name)
}

// A source is the arrival process of one host.
type source struct {
	at   float64 // of the next arrival, picoseconds
	host int32
	from *stream
}

// sources is a heap by time of the next arrival; hosts in order where it is the same.
type sources []source

func (s sources) Len() int      { return len(s) }
func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s sources) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].host < s[j].host
}
func (s *sources) Push(x any) { *s = append(*s, x.(source)) }
func (s *sources) Pop() any   { panic("workload: no source ends") }

// arrivals draws the flows in the order of time. A host draws from a stream of its own, so that
// its arrivals do not depend on the number of hosts.
func (p *Plan) arrivals(v param.Values, e Env, cdf *CDF) error {
	until := float64(p.MeasureUntil + v.Time("cooldown"))
	limit := int(v.Int("maxFlows"))
	gap := float64(cdf.Mean()*8) / float64(v.Float("load")*float64(e.LineRateBps)) * float64(instant.Second)
	if limit == 0 {
		limit = math.MaxInt
		if err := room(until / gap * float64(e.Hosts)); err != nil {
			return err
		}
	}
	queue := make(sources, e.Hosts)
	for h := range queue {
		from := streamOf(e.Matrix, uint64(h))
		queue[h] = source{at: from.exponential(gap), host: int32(h), from: from}
	}
	heap.Init(&queue)
	for len(p.Flows) < limit && queue[0].at < until {
		p.arrive(&queue[0], e.Hosts, cdf)
		queue[0].at += queue[0].from.exponential(gap)
		heap.Fix(&queue, 0)
	}
	if len(p.Flows) == 0 {
		return fmt.Errorf("no flow arrives in %v: the mean time between arrivals at a host is %v", instant.Time(until), instant.Time(gap))
	}
	return nil
}

// arrive adds the next flow of a host.
func (p *Plan) arrive(s *source, hosts int, cdf *CDF) {
	dst := int32(s.from.below(uint64(hosts - 1)))
	if dst >= s.host {
		dst++
	}
	start := instant.Time(math.Floor(s.at))
	f := p.at(s.host, dst, cdf.Quantile(s.from.unit()), start)
	f.Measured = start >= p.MeasureFrom && start < p.MeasureUntil
}
