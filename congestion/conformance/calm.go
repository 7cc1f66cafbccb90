package conformance

import (
	"fmt"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// A weather is what becomes of the packets of a calm network.
type weather uint8

const (
	fair      weather = iota // acknowledged after one base RTT
	queueing                 // acknowledged marked and after four, at half the rate, with a full queue in the telemetry
	trimming                 // every second packet is trimmed
	inferring                // every second packet is held lost by inference
	losing                   // every second packet is held lost by timeout
	notifying                // acknowledged as in fair weather, with a notification every 50 us
	drowning                 // every packet is lost, the acknowledgements of others ask for less, and notifications come
)

var weatherOf = map[congestion.Hearing]weather{
	congestion.HearsCNP: notifying, congestion.HearsTrims: trimming, congestion.HearsInferred: inferring,
	congestion.HearsTimeouts: losing, congestion.HearsQueues: queueing,
}

var newsNames = []struct {
	news congestion.Hearing
	name string
}{
	{congestion.HearsCNP, "CNPs"}, {congestion.HearsTrims, "trimmed packets"}, {congestion.HearsInferred, "inferred losses"},
	{congestion.HearsTimeouts, "timeouts"}, {congestion.HearsQueues, "marks and delay"},
}

// A calm is a network of one flow in which nothing happens by chance: what the controller lets go in one round
// trip comes back in the next, as the weather has it.
type calm struct {
	c       congestion.Controller
	path    congestion.Path
	now     instant.Time
	nextCNP instant.Time
	hop     [1]congestion.Hop
	stuck   bool // the deadline does not move
}

func newCalm(maker congestion.Maker, path congestion.Path) *calm {
	return &calm{c: maker(path), path: path}
}

// rounds goes on for n round trips.
func (n *calm) rounds(count int, w weather) {
	for range count {
		n.round(w)
	}
}

// round sends and answers what may be sent in one round trip, at least one packet.
func (n *calm) round(w weather) {
	p := n.path
	bytes := float64(congestion.Speed(n.c, p)) / 8 * p.BaseRTT.Seconds()
	packets := max(int64(bytes)/p.MTU, 1)
	trip := p.BaseRTT
	if w == queueing {
		trip *= 2
	}
	inFlight := packets * p.MTU
	for i := range packets {
		n.advance(trip / instant.Time(packets))
		n.c.OnSent(n.now, p.MTU, inFlight)
		n.answer(w, i, inFlight-p.MTU)
	}
}

func (n *calm) answer(w weather, i, inFlight int64) {
	p := n.path
	if (w == notifying || w == drowning) && n.now >= n.nextCNP {
		n.nextCNP = n.now + 50*us
		n.c.OnSignal(n.now, congestion.Signal{Cause: congestion.CNP, InFlight: inFlight})
	}
	lost := w >= trimming && w <= losing && i%2 == 0 || w == drowning
	if lost {
		s := congestion.Signal{Cause: congestion.Trimmed, Bytes: p.MTU, InFlight: inFlight, RTT: p.BaseRTT}
		switch {
		case w == inferring:
			s.Cause, s.RTT = congestion.Inferred, 0
		case w == losing || w == drowning && i%2 == 0:
			s.Cause, s.RTT = congestion.TimedOut, 0
		}
		n.c.OnSignal(n.now, s)
		if w == drowning {
			n.c.OnAck(n.now, congestion.Ack{InFlight: inFlight, RTT: congestion.NoSample, Penalty: 127})
		}
		return
	}
	n.hop[0] = congestion.Hop{RateBps: p.LineRateBps, Stamp: n.now - p.BaseRTT/2, SentBytes: n.hop[0].SentBytes + p.MTU}
	a := congestion.Ack{Delivered: p.MTU, InFlight: inFlight, RTT: p.BaseRTT, Hops: n.hop[:]}
	if w == queueing {
		a.RTT, a.Marked = 4*p.BaseRTT, true
		n.hop[0].QueueBytes = 3 * p.BDP()
		n.hop[0].SentBytes += p.BDP() // of others: the link is never idle
	}
	n.c.OnAck(n.now, a)
}

// advance lets time pass, with the controller's own deadlines in it.
func (n *calm) advance(by instant.Time) {
	until := n.now + by
	if n.stuck {
		n.now = until
		return
	}
	for calls := 0; n.c.Deadline() <= until; calls++ {
		if calls == 1000 {
			n.stuck = true
			break
		}
		n.now = max(n.now, n.c.Deadline())
		n.c.OnTimeout(n.now)
	}
	n.now = until
}

func (n *calm) speed() int64 { return congestion.Speed(n.c, n.path) }

func gbps(bps int64) string { return fmt.Sprintf("%.3g Gb/s", float64(bps)/1e9) }
