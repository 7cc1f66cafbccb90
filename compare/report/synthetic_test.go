package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats"
)

// The tests need results that look like real ones: a ladder of protocols, several seeds with common
// luck, flows that never finish, samples over time. Nothing here claims to be a measurement.

// A synthProtocol is a step of the ladder with the shape of its flows.
type synthProtocol struct {
	spec, label string
	slow        float64 // median slowdown without loss
	spread      float64 // of the logarithm of a flow's slowdown
	lossCost    float64 // slowdown added by 1 % loss
	givesUp     float64 // share of flows that give up at 1 % loss
	resent      float64 // share without loss
	spurious    float64 // share of retransmissions
	hot         float64 // how uneven links are
	paused      bool
	trims       bool
}

var synthLadder = []synthProtocol{
	{"rocev2,congestion=dcqcn", "RoCE v2, one path", 2.05, 0.42, 28, 0.02, 0.002, 0.6, 1.1, true, false},
	{"rocev2,congestion=dcqcn,qps=4", "RoCE v2, 4 queue pairs", 1.62, 0.22, 22, 0.01, 0.002, 0.6, 0.6, true, false},
	{"rocev2,congestion=dcqcn,qps=16", "RoCE v2, 16 queue pairs", 1.41, 0.12, 20, 0, 0.002, 0.6, 0.35, true, false},
	{"rocev2,mode=adaptive", "RoCE v2, adaptive routing", 1.27, 0.06, 24, 0, 0.004, 0.7, 0.1, true, false},
	{"rocev2,loss=selective", "IRN (selective repeat)", 2.0, 0.40, 3.2, 0, 0.006, 0.3, 1.1, false, false},
	{"uet,mode=rod,spray=ecmp,class.trim=false", "UET ROD, one path", 1.9, 0.38, 9, 0, 0.004, 0.3, 1.1, false, false},
	{"uet,spray=ecmp,class.trim=false", "UET RUD, one path", 1.86, 0.37, 2.6, 0, 0.004, 0.2, 1.1, false, false},
	{"uet,spray=reps,class.trim=false", "UET sprayed, no trimming", 1.16, 0.04, 1.3, 0, 0.008, 0.35, 0.08, false, false},
	{"uet,congestion=nscc,spray=reps", "UET in full", 1.09, 0.025, 0.55, 0, 0.011, 0.04, 0.07, false, true},
}

// A synthScenario is one block of the report.
type synthScenario struct {
	info    ScenarioInfo
	flows   int
	bytes   float64
	loss    float64
	seeds   int
	queue   float64 // typical queue in bytes
	poisson bool
	samples bool
	burden  float64 // further slowdown of protocols that cannot move traffic elsewhere
}

func synthScenarios() []synthScenario {
	fabric := "fat tree of 3 tiers, 128 hosts, 400 Gb/s, 500 ns a link and a switch, base RTT 9.8 us, 64 MB per switch; payload MTU 4096"
	one := func(x float64) *float64 { return &x }
	list := []synthScenario{
		{info: ScenarioInfo{Name: "permutation", Title: "Clean permutation", Family: "ladder", FabricLine: fabric, CapacityBps: one(128 * 400e9),
			Description: "Every host sends one flow of 2 MiB to another host and receives one. Nothing is lost unless a queue overflows; what slows flows down is where their paths cross."},
			flows: 128, bytes: 2 << 20, seeds: 5, queue: 180e3, samples: true},
		{info: ScenarioInfo{Name: "degraded", Title: "One degraded uplink", Family: "ladder", FabricLine: fabric + "; leaf0-spine1 at 100 Gb/s", CapacityBps: one(128 * 400e9),
			Description: "The permutation again, with one uplink at a quarter of its rate."},
			flows: 128, bytes: 2 << 20, seeds: 5, queue: 260e3, burden: 0.6},
		{info: ScenarioInfo{Name: "allreduce", Title: "Ring all-reduce", Headline: "jct_ns", Family: "ladder", FabricLine: fabric,
			Description: "16 ranks reduce 64 MiB in a ring; each step waits for the one before."},
			flows: 480, bytes: 4 << 20, seeds: 5, queue: 90e3},
		{info: ScenarioInfo{Name: "websearch", Title: "Poisson arrivals, WebSearch sizes, load 0.5", Headline: "slowdown.p99", FabricLine: "leaf-spine, 128 hosts, 8 leaves, 8 spines, 100 Gb/s, 1 us a link",
			Description: "Flows arrive at random and have the sizes of a web search cluster; the first 5 ms are not counted."},
			flows: 3000, bytes: 1.7e6, seeds: 3, queue: 120e3, poisson: true},
	}
	for _, n := range []int{2, 8, 32} {
		list = append(list, synthScenario{info: ScenarioInfo{Name: fmt.Sprintf("incast-%d", n), Title: fmt.Sprintf("Incast, %d to 1", n),
			Family: "incast", Sweep: &SweepPoint{Axis: "senders", Value: float64(n), Log: true}, FabricLine: fabric, Demonstration: n == 2,
			Description: "All send 1 MiB to one host at once."}, flows: n, bytes: 1 << 20, seeds: 5, queue: 300e3 * math.Sqrt(float64(n))})
	}
	for _, p := range []float64{0, 1.0 / 65536, 1.0 / 8192, 1.0 / 1024, 1.0 / 256, 1.0 / 100} {
		title := "Random loss, " + Percent(p)
		if p == 0 {
			title = "Random loss, none"
		}
		list = append(list, synthScenario{info: ScenarioInfo{Name: fmt.Sprintf("loss-%s", Percent(p)), Title: title, Family: "loss", LossRate: one(p),
			FabricLine: fabric, CapacityBps: one(128 * 400e9), Description: "The permutation, with random loss of this rate on every link."},
			flows: 128, bytes: 2 << 20, seeds: 3, queue: 160e3, loss: p})
	}
	return list
}

// synthetic returns data as an evening of runs would leave them. It is made once: tests must not write
// into its slices.
var synthetic = sync.OnceValue(makeSynthetic)

func makeSynthetic() Data {
	d := Data{Manifest: compare.Manifest{
		Kind: "manifest", Version: "v0.1.0-dev", SourceHash: "5b1d0c6f2a97", Carrier: "fabric",
		Command: []string{"weft", "compare", "--full"}, Seeds: []uint64{1, 2, 3, 4, 5},
		Inputs: []compare.ManifestInput{{Path: "perm_128n.cm", SHA256: "9f2c7e0a51b4", Bytes: 4711}},
	}}
	for _, s := range synthScenarios() {
		s.addTo(&d)
	}
	d.Comparisons = stats.Compare(d.Runs)
	return d
}

// addTo appends a scenario with all of its runs.
func (s synthScenario) addTo(d *Data) {
	s.info.Kind, s.info.Rules, s.info.ClassNotes = "scenario", map[string][]string{}, map[string]string{}
	for _, p := range synthLadder {
		s.info.ClassNotes[p.label] = p.classNote()
		s.info.Rules[p.label] = p.rules()
	}
	d.Scenarios = append(d.Scenarios, s.info)
	hash := fmt.Sprintf("%012x", len(s.info.Name)*7919)
	d.Manifest.Scenarios = append(d.Manifest.Scenarios, compare.ManifestScenario{Name: s.info.Name, Hash: hash,
		YAML: "name: " + s.info.Name + "\nfabric:\n  topology: fattree\n  hosts: 128\n  rate: 400Gbps\nworkload: {kind: permutation, size: 2MiB}\n"})
	for seed := uint64(1); seed <= uint64(s.seeds); seed++ {
		for i, p := range synthLadder {
			s.run(d, p, i, seed, hash)
		}
	}
}

func (p synthProtocol) classNote() string {
	switch {
	case p.paused:
		return "PFC with headroom, ECN 400KB..1600KB p=0.2"
	case p.trims:
		return "trimming, queue 1 bdp, ECN 0.2..0.8 bdp"
	}
	return "no PFC, no trimming, queue 1 bdp, ECN 0.2..0.8 bdp"
}

func (p synthProtocol) rules() []string {
	if p.spec[0] == 'u' {
		return []string{"64-bit SACK maps; a clear bit declares nothing lost", "RTO 1 ms with backoff, tail probes after one base RTT"}
	}
	return []string{"one NAK per gap, go back to the missing PSN", "timeout 4.096 us x 2^14, 7 retries, then an error", "CNPs at most one per 50 us and queue pair"}
}

// run makes one run: the luck of the seed is common to all protocols, a little is their own.
func (s synthScenario) run(d *Data, p synthProtocol, index int, seed uint64, hash string) {
	common := rand.New(rand.NewPCG(seed, uint64(len(s.info.Name))))
	own := rand.New(rand.NewPCG(seed, uint64(index)<<32|uint64(len(s.info.Title))))
	weather := math.Exp(0.05 * common.NormFloat64() * (1 + p.spread))
	flows := make([]compare.Flow, s.flows)
	for i := range flows {
		flows[i] = s.flow(p, i, seed, weather, common, own)
	}
	r := compare.Run{Kind: "run", Scenario: s.info.Name, Protocol: p.spec, Label: p.label, Seed: seed, ScenarioHash: hash, Hosts: 128}
	stats.Fill(&r, flows)
	s.count(&r, p, flows, own)
	if s.poisson {
		r.Bins = stats.Bins(flows, stats.BinEdges("websearch"))
	}
	d.Runs, d.Flows = append(d.Runs, r), append(d.Flows, flows...)
	if s.samples && seed == 1 {
		d.Samples = append(d.Samples, s.sample(p, r.Virtual, own)...)
	}
	d.Timings = append(d.Timings, compare.Timing{Kind: "timing", Scenario: s.info.Name, Protocol: p.spec, Seed: seed, Wall: 1e9, CPU: 9e8, PeakRSS: 4e7})
}

func (s synthScenario) flow(p synthProtocol, i int, seed uint64, weather float64, common, own *rand.Rand) compare.Flow {
	bytes, start := s.bytes, 100*common.Float64()
	if s.poisson {
		bytes, start = math.Min(3e7, math.Exp(11+2.2*common.NormFloat64())), 3e6*common.Float64()
	}
	ideal := 9800 + bytes*8*1.012/400
	if s.info.Family == "incast" {
		ideal = 9800 + bytes*8*1.012/400*float64(s.flows)
	}
	slow := 1 + (p.slow-1)*weather*math.Exp(p.spread*common.NormFloat64()) + s.burden*p.hot*own.Float64()
	slow += p.lossCost * math.Pow(s.loss*100, 0.8) * (0.5 + own.Float64())
	if s.info.Family == "incast" {
		slow = 1.01 + (p.slow-1)*0.05*math.Log2(float64(s.flows))*weather
	}
	f := compare.Flow{Kind: "flow", Scenario: s.info.Name, Protocol: p.spec, Seed: seed, Flow: i, Src: i % 128, Dst: (i + 5) % 128,
		Bytes: uint64(bytes), Start: start, Ideal: ideal, State: "finished"}
	if own.Float64() < p.givesUp*s.loss*100 {
		f.State = "retry"
		return f
	}
	fct := ideal * slow
	end, received := start+fct, start+fct-4900
	f.FCT, f.End, f.EndReceiver = &fct, &end, &received
	return f
}

// count fills in what happened to packets.
func (s synthScenario) count(r *compare.Run, p synthProtocol, flows []compare.Flow, own *rand.Rand) {
	packets := 0.0
	for i := range flows {
		packets += math.Ceil(float64(flows[i].Bytes) / 4096)
		if flows[i].End != nil {
			r.Virtual = max(r.Virtual, *flows[i].End)
		}
	}
	if r.Finished < r.Flows {
		r.Virtual = 1e7
	}
	resent := p.resent*own.Float64() + s.loss*(1+2*p.lossCost)
	r.PacketsDelivered, r.PacketsSent = uint64(packets), uint64(packets*(1+resent))
	r.BytesDelivered = uint64(packets * 4096)
	r.Retransmitted = uint64(packets * resent)
	r.Spurious = uint64(packets * resent * p.spurious)
	r.Dropped.Random = uint64(packets * s.loss)
	if p.trims {
		r.Trimmed = uint64(packets * p.resent)
	} else if !p.paused {
		r.Dropped.Queue = uint64(packets * p.resent)
	}
	r.Marked, r.Nacks = uint64(packets*0.08), r.Retransmitted/9
	if s.loss > 0 {
		r.Timeouts = uint64(packets * s.loss * p.lossCost / 30)
		r.TimeoutWait = float64(r.Timeouts) * 3e5
	}
	if p.paused {
		r.PauseFrames, r.Pause = uint64(900*p.hot), 4e6*p.hot*(0.5+own.Float64())
	}
	r.OutOfOrder.Packets = uint64(packets * (1.2 - p.hot) * 0.1)
	p50, p99, load, jain := s.queue*p.hot/4, s.queue*p.hot, 1+p.hot, 1/(1+p.hot*p.hot/3)
	r.QueueBytes = compare.QueueStats{P50: &p50, P99: &p99, Max: s.queue * (0.7 + p.hot)}
	r.LinkLoad = compare.LinkLoad{MaxOverMean: &load, Jain: &jain}
	r.StateHash = fmt.Sprintf("%016x", own.Uint64())
}

// sample makes queue and link observations every microsecond or so.
func (s synthScenario) sample(p synthProtocol, end float64, own *rand.Rand) []compare.Sample {
	var out []compare.Sample
	const steps, spines, leaves = 60, 8, 8
	base := compare.Sample{Kind: "sample", Scenario: s.info.Name, Protocol: p.spec, Seed: 1}
	heat := make([]float64, spines*leaves)
	for i := range heat {
		heat[i] = math.Min(1, 0.62*math.Exp(0.6*p.hot*own.NormFloat64()))
	}
	for k := range steps {
		t := float64(k)
		shape := math.Exp(-math.Pow((t-8)/10, 2)) + 0.4*p.hot*math.Exp(-t/40)
		for i := range heat {
			name := fmt.Sprintf("leaf%d-spine%d", i/spines, i%spines)
			o := base
			bytes := math.Max(0, s.queue*heat[i]*shape*(0.6+0.8*own.Float64()))
			o.At, o.Queue, o.Bytes = t*end/steps, name, &bytes
			load := math.Min(1, heat[i]*(0.9+0.2*own.Float64()))
			l := base
			l.At, l.Link, l.Load = t*end/steps, name, &load
			out = append(out, o, l)
			if i%4 == 0 {
				h := l
				even := math.Min(1, 0.8/p.slow*(0.95+0.1*own.Float64()))
				h.Link, h.Load = fmt.Sprintf("h%d-leaf%d", i/4, i/8), &even
				out = append(out, h)
			}
		}
	}
	return out
}
