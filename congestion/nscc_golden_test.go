package congestion

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden curves anew")

// A curve drives one NSCC context over one bottleneck, packet by packet and in integers, so that
// the files under testdata are the same on every machine. Each line shows the state at the end of
// a round of one base RTT.
//
//	sender --line rate--> queue --capacity--> receiver --base RTT in all--> sender
//
// The queue marks at dequeue above 0.2 BDP. It trims above 1 BDP, whose notice takes a base RTT, or
// drops above 5, noticed by a timeout.
type curve struct {
	name     string
	path     Path
	given    map[string]string
	rounds   int
	capacity func(round int) int64 // bits per second
	perAck   int64                 // packets that one acknowledgement covers, unless marked
	penalty  func(round int) (p uint8, restore bool)
	noSample int // every n-th acknowledgement has no RTT sample; 0: none
}

func constant(bps int64) func(int) int64 { return func(int) int64 { return bps } }

// step changes the capacity in rounds from..to.
func step(usual, other int64, from, to int) func(int) int64 {
	return func(round int) int64 {
		if round >= from && round < to {
			return other
		}
		return usual
	}
}

func dropping(p Path) Path {
	p.Trimming = false
	return p
}

var curves = []curve{
	{name: "alone", path: path100, rounds: 40, capacity: constant(100 * gbps)},
	{name: "alone_from_one_packet", path: path100, given: map[string]string{"window": "4160B"}, rounds: 60, capacity: constant(100 * gbps)},
	{name: "half_for_forty_rounds", path: path400, rounds: 100, capacity: step(400*gbps, 200*gbps, 20, 60)},
	{name: "incast_of_32_trimmed", path: path400, rounds: 60, capacity: constant(400 * gbps / 32)},
	{name: "incast_of_16_dropped", path: dropping(path100), rounds: 60, capacity: constant(100 * gbps / 16)},
	{name: "coalesced_without_samples", path: path100, rounds: 60, capacity: step(100*gbps, 50*gbps, 10, 100), perAck: 4, noSample: 3},
	{name: "average_by_time", path: path100, given: map[string]string{"average": "time"}, rounds: 60, capacity: step(100*gbps, 50*gbps, 10, 100)},
	{name: "receiver_penalty", path: path100, rounds: 50, capacity: constant(100 * gbps), penalty: func(round int) (uint8, bool) {
		if round >= 5 && round < 10 {
			return 64, false
		}
		return 0, round == 15
	}},
}

// A line of a curve.
type curveLine struct{ window, maxWindow, delay, queue, acks, marks, losses int64 }

// run returns the lines of the curve, the first from before the start.
func (cv curve) run(t *testing.T, variant string) []curveLine {
	given := map[string]string{"variant": variant}
	for name, text := range cv.given {
		given[name] = text
	}
	w := &curveWorld{curve: cv, c: makeNSCC(t, cv.path, given), bdp: cv.path.BDP()}
	lines := []curveLine{w.line()}
	for w.roundNo = range cv.rounds {
		w.curveLine = curveLine{}
		w.runUntil(Time(w.roundNo+1) * cv.path.BaseRTT)
		lines = append(lines, w.line())
	}
	return lines
}

func text(lines []curveLine) string {
	var out strings.Builder
	fmt.Fprintln(&out, "round window_bytes max_window_bytes average_delay_ps queue_bytes acks marks losses")
	for i, l := range lines {
		fmt.Fprintln(&out, i-1, l.window, l.maxWindow, l.delay, l.queue, l.acks, l.marks, l.losses)
	}
	return out.String()
}

// A curvePacket is a packet in the queue, or news on its way back.
type curvePacket struct {
	sent, at Time // at: when it leaves the queue, or reaches the sender
	service  Time // time on the bottleneck
	marked   bool
}

type curveWorld struct {
	curve
	curveLine // counts of the round
	c         *nscc
	bdp       int64
	roundNo   int
	now       Time
	inFlight  int64
	nicFree   Time
	queued    []curvePacket
	returning []curvePacket // delivered
	lost      []curvePacket // trimmed or dropped
	waiting   int64         // bytes delivered and not yet acknowledged
	count     int
}

func (w *curveWorld) line() curveLine {
	l := w.curveLine
	l.window, l.maxWindow, l.delay = w.c.window, w.c.maxWindow, int64(w.c.avgDelay)
	l.queue = int64(len(w.queued)) * w.path.MTU
	return l
}

// runUntil handles what happens before end, in the order of time.
func (w *curveWorld) runUntil(end Time) {
	for {
		next, what := end, func() {}
		consider := func(list []curvePacket, handle func()) {
			if len(list) > 0 && list[0].at < next {
				next, what = list[0].at, handle
			}
		}
		consider(w.queued, w.dequeue)
		consider(w.returning, w.deliver)
		consider(w.lost, w.lose)
		if at := max(w.now, w.nicFree); w.inFlight+w.path.MTU <= w.c.Window() && at < next {
			next, what = at, w.send
		}
		if next == end {
			w.now = end
			return
		}
		w.now = next
		what()
	}
}

func duration(bytes, bps int64) Time { return Time(bytes * 8 * 1_000_000 / (bps / 1_000_000)) }

func (w *curveWorld) send() {
	mtu := w.path.MTU
	w.inFlight += mtu
	w.nicFree = w.now + duration(mtu, w.path.LineRateBps)
	w.c.OnSent(w.now, mtu, w.inFlight)
	p := curvePacket{sent: w.now, at: w.now + w.path.BaseRTT}
	room := w.bdp
	if !w.path.Trimming {
		room = 5 * w.bdp
		p.at = w.now + 8*w.path.BaseRTT
	}
	if int64(len(w.queued)+1)*mtu > room {
		w.lost = append(w.lost, p)
		return
	}
	p.at = w.now
	if n := len(w.queued); n > 0 {
		p.at = w.queued[n-1].at
	}
	p.service = duration(mtu, w.capacity(w.roundNo))
	p.at += p.service
	w.queued = append(w.queued, p)
}

// dequeue sends the packet on; an idle network gives it a round trip of exactly the base RTT.
func (w *curveWorld) dequeue() {
	p := w.queued[0]
	w.queued = w.queued[1:]
	p.marked = int64(len(w.queued))*w.path.MTU > w.bdp/5
	p.at += w.path.BaseRTT - p.service
	if n := len(w.returning); n > 0 {
		p.at = max(p.at, w.returning[n-1].at)
	}
	w.returning = append(w.returning, p)
}

func (w *curveWorld) deliver() {
	p := w.returning[0]
	w.returning = w.returning[1:]
	w.waiting += w.path.MTU
	if !p.marked && w.waiting < w.perAck*w.path.MTU {
		return
	}
	w.inFlight -= w.waiting
	a := Ack{Delivered: w.waiting, InFlight: w.inFlight, RTT: w.now - p.sent, Marked: p.marked}
	w.waiting = 0
	w.count++
	if w.noSample > 0 && w.count%w.noSample == 0 {
		a.RTT = NoSample
	}
	if w.penalty != nil {
		a.Penalty, a.Restore = w.penalty(w.roundNo)
	}
	w.acks++
	if p.marked {
		w.marks++
	}
	w.c.OnAck(w.now, a)
}

func (w *curveWorld) lose() {
	w.lost = w.lost[1:]
	w.losses++
	w.inFlight -= w.path.MTU
	cause := Trimmed
	if !w.path.Trimming {
		cause = TimedOut
	}
	w.c.OnSignal(w.now, Signal{Cause: cause, Bytes: w.path.MTU, InFlight: w.inFlight})
}

func TestNSCCGoldenCurves(t *testing.T) {
	for _, cv := range curves {
		for _, variant := range []string{"spec", "htsim"} {
			t.Run(cv.name+"_"+variant, func(t *testing.T) {
				file := filepath.Join("testdata", "nscc_"+cv.name+"_"+variant+".txt")
				got := text(cv.run(t, variant))
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err, "write it with -update")
				require.Equal(t, string(want), got)
			})
		}
	}
}

// What the curves are for, said in a few lines: at the end nothing is lost any more and the
// bottleneck is used.
func TestNSCCGoldenCurvesMakeSense(t *testing.T) {
	for _, cv := range curves {
		lines := cv.run(t, "spec")
		var delivered, carries, losses int64
		for round := cv.rounds - 20; round < cv.rounds; round++ {
			l := lines[round+1]
			delivered += max(l.acks, l.acks*cv.perAck) * cv.path.MTU
			carries += cv.capacity(round) / 8 * int64(cv.path.BaseRTT/us) / 1_000_000
			losses += l.losses
		}
		require.Zero(t, losses, cv.name)
		require.Greater(t, float64(delivered), 0.85*float64(carries), cv.name)
	}
}
