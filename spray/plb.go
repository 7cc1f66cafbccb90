package spray

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// PLB, protective load balancing: one entropy value, left for another when it stays congested. Once
// per round trip the share of marked acknowledgements is looked at; enough congested rounds in a row
// move the context, and fewer do where nothing is under way, since nothing can then be reordered. After
// a loss, which moves it at once, it stays where it is for a while, lest it follow every failure.
//
//	share of marks >= threshold     bad = bad+1     else bad = 0
//	bad >= rounds, or idle and bad >= idleRounds    another value, bad = 0
//
// The variants:
//
//	             threshold   rounds   idleRounds   suspend (and up to as much again at random)
//	linux        50 %        12       3            60s
//	artifact     25 %        1        1            0
//
// Linux was tuned for round trips of a network of data centres; flows of a few round trips never
// move under it. The artifact is what the simulations of REPS compare with.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "plb",
		Doc:    "One entropy value, replaced after several congested rounds or a loss.",
		Source: "PLB (SIGCOMM 2022); Linux net/ipv4/tcp_plb.c; variant=artifact: the REPS artifact",
		Params: append(spaceParams("65536"), runParam,
			param.Param{Name: "variant", Kind: param.Word, Default: "linux", OneOf: []string{"linux", "artifact"},
				Doc: "Whose defaults threshold, rounds, idleRounds and suspend take."},
			param.Param{Name: "threshold", Kind: param.Fraction, Min: 0, Max: 1,
				Doc: "Share of marked acknowledgements that makes a round congested; absent: as the variant. Independent of rate and RTT."},
			param.Param{Name: "rounds", Kind: param.Int, Min: 1, Max: 1 << 10,
				Doc: "Congested round trips in a row that move the context; absent: as the variant; counted in rounds, so no scaling."},
			param.Param{Name: "idleRounds", Kind: param.Int, Min: 1, Max: 1 << 10,
				Doc: "The same where nothing was sent or heard for a round trip; absent: as the variant; no scaling."},
			param.Param{Name: "suspend", Kind: param.Duration,
				Doc: "After a loss it stays for this time and up to as much again; absent: as the variant. Not scaled with rate or RTT: it should outlast the repair of a route."},
			param.Param{Name: "congestedRTT", Kind: param.Float, Default: "0", Min: 0, Max: 1000,
				Doc: "A round trip of this many base RTTs counts as marked (Falcon judges by delay); 0: delay is not looked at."}),
		New: newPLBMaker,
	})
}

// plbParams are shared by all contexts of a run.
type plbParams struct {
	threshold    float64
	rounds, idle uint16
	suspend      Time
	congestedRTT float64
	run          int32
}

type plb struct {
	kept
	p             *plbParams
	rtt           Time // idle round trip, the least length of a round
	roundEnd      Time
	lastSeen      Time // when a packet last left or was heard of
	until         Time // suspended
	acked, marked uint32
	bad           uint16
}

func newPLBMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	p := &plbParams{threshold: 0.5, rounds: 12, idle: 3, suspend: 60 * instant.Second, congestedRTT: v.Float("congestedRTT"), run: int32(v.Int("run"))}
	if v.Word("variant") == "artifact" {
		p.threshold, p.rounds, p.idle, p.suspend = 0.25, 1, 1, 0
	}
	if v.Has("threshold") {
		p.threshold = v.Float("threshold")
	}
	if v.Has("rounds") {
		p.rounds = uint16(v.Int("rounds"))
	}
	if v.Has("idleRounds") {
		p.idle = uint16(v.Int("idleRounds"))
	}
	if v.Has("suspend") {
		p.suspend = v.Time("suspend")
	}
	return func(path Path) Sprayer {
		return &plb{kept: newKept(at, path.Seed), p: p, rtt: path.BaseRTT}
	}, err
}

func (l *plb) Next(now Time, avoid int32) (uint16, int) {
	if now-l.lastSeen > l.rtt && l.bad >= l.p.idle {
		l.repath(now)
	}
	l.lastSeen = now
	l.leave(now, avoid)
	return l.ev, int(l.p.run)
}

// repath moves unless it is suspended.
func (l *plb) repath(now Time) {
	if now >= l.until {
		l.move(now)
		l.bad = 0
	}
}

func (l *plb) Report(now Time, ev uint16, o Outcome, rtt Time) {
	l.lastSeen = now
	if ev != l.ev {
		return // older news says nothing about the value in use
	}
	if o == Lost {
		l.lost(now)
		return
	}
	if now >= l.roundEnd {
		l.endRound(now, rtt)
	}
	l.acked++
	if o != Good || l.p.congestedRTT > 0 && float64(rtt) >= float64(l.p.congestedRTT*float64(l.rtt)) {
		l.marked++
	}
}

func (l *plb) lost(now Time) {
	if now-l.since < l.rtt {
		return
	}
	l.move(now)
	l.bad = 0
	if s := l.p.suspend; s > 0 {
		l.until = now + min(s+Time(float64(float64(s)*float64(l.rng.next()>>11)/(1<<53))), instant.Never-now)
	}
}

// endRound judges the round trip that is over. The first after a move holds what was under way
// then, which ev tells apart, so every round counts.
func (l *plb) endRound(now, rtt Time) {
	if float64(l.marked) >= float64(l.p.threshold*float64(l.acked)) && l.marked > 0 {
		l.bad = min(l.bad, math.MaxUint16-1) + 1
	} else {
		l.bad = 0
	}
	l.acked, l.marked = 0, 0
	l.roundEnd = now + max(l.rtt, rtt)
	if l.bad >= l.p.rounds {
		l.repath(now)
	}
}
