package core

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/wire"
)

const (
	us = instant.Microsecond
	ms = instant.Millisecond
)

// fixedWindow is a controller for tests: a window and a rate that never change. It notes what it
// was told.
type fixedWindow struct {
	window, rate int64
	acks         []congestion.Ack
	signals      []congestion.Signal
	keep         bool
}

func (f *fixedWindow) OnSent(Time, int64, int64) {}
func (f *fixedWindow) OnAck(_ Time, a congestion.Ack) {
	if f.keep {
		f.acks = append(f.acks, a)
	}
}
func (f *fixedWindow) OnSignal(_ Time, s congestion.Signal) {
	if f.keep {
		f.signals = append(f.signals, s)
	}
}
func (f *fixedWindow) OnTimeout(Time) {}
func (f *fixedWindow) Deadline() Time { return Never }
func (f *fixedWindow) Window() int64  { return f.window }
func (f *fixedWindow) Rate() int64    { return f.rate }

// A report is what a sprayer was told.
type report struct {
	ev      uint16
	outcome spray.Outcome
	rtt     Time
}

// randomEV is a sprayer for tests: a new random value for every packet, never the one to avoid.
type randomEV struct {
	random  random
	reports []report
	avoided []int32
	run     int
	keep    bool
}

func (r *randomEV) Next(_ Time, avoid int32) (uint16, int) {
	if r.keep {
		r.avoided = append(r.avoided, avoid)
	}
	ev := uint16(r.random.next())
	if int32(ev) == avoid {
		ev++
	}
	return ev, max(1, r.run)
}

func (r *randomEV) Report(_ Time, ev uint16, o spray.Outcome, rtt Time) {
	if r.keep {
		r.reports = append(r.reports, report{ev, o, rtt})
	}
}

// A fate is what the network of a pair does to one packet.
type fate struct {
	drop, trim, lastHop, mark, corrupt bool
	copies                             int  // extra copies
	late                               Time // extra delay
}

// A flight is a packet under way.
type flight struct {
	at  Time
	seq int
	p   Packet
}

// A pair is two endpoints, A (address 1) and B (address 2), and a network in virtual time
// between them: a serialising link and a delay each way, and a hook that decides every packet's
// fate.
type pair struct {
	t       testing.TB
	now     Time
	ends    [2]*Endpoint
	cc      [2][]*fixedWindow
	spray   [2][]*randomEV
	free    [2]Time // when each link can take the next packet
	seq     int
	air     []flight // ordered by (at, seq)
	delay   Time
	rate    int64
	closed  ClassMask
	fates   func(from int, p *Packet) fate
	log     []string // one line a packet, if narrate
	narrate bool
	hash    uint64
	events  [2][]Event
	dataNo  [2]int // data packets sent so far, by end
}

// base is a configuration for small tests: short timers, real-sized packets.
func base() Config {
	return Config{PayloadMTU: 1024, ControlClass: 1, LineRateBps: 100e9, BaseRTT: 10 * us, RTO: RTOConfig{Init: 100 * us}, Seed: 7}
}

// newPair builds a pair of endpoints of the same configuration; change, if not nil, may differ
// by end.
func newPair(t testing.TB, c Config, change func(end int, c *Config)) *pair {
	p := &pair{t: t, delay: 5*us - 200*instant.Nanosecond, rate: 100e9, hash: fnvOffset}
	for end := range 2 {
		mine := c
		mine.Self = Addr(end + 1)
		if mine.NewController == nil {
			mine.NewController = func(congestion.Path) congestion.Controller {
				f := &fixedWindow{window: 150_000, keep: true}
				p.cc[end] = append(p.cc[end], f)
				return f
			}
		}
		if mine.NewSprayer == nil {
			mine.NewSprayer = func(s spray.Path) spray.Sprayer {
				r := &randomEV{random: random(s.Seed), keep: true}
				p.spray[end] = append(p.spray[end], r)
				return r
			}
		}
		mine.Remote = func(owner Addr) Memory { return p.ends[owner-1] }
		if change != nil {
			change(end, &mine)
		}
		e, err := New(mine)
		require.NoError(t, err)
		p.ends[end], p.cc[end] = e, nil // of none of its contexts, but to see what kind it is
	}
	return p
}

const fnvOffset = 14695981039346656037

func (p *pair) A() *Endpoint { return p.ends[0] }
func (p *pair) B() *Endpoint { return p.ends[1] }

// send makes A write so many bytes to B; the cookie counts up.
func (p *pair) send(length uint64, change ...func(*Message)) {
	m := Message{To: 2, Length: length, RemoteKey: 1000, Cookie: 1}
	for _, c := range change {
		c(&m)
	}
	require.NoError(p.t, p.A().Send(p.now, m))
}

// launch lets both ends transmit while their links are free.
func (p *pair) launch() {
	for end, e := range p.ends {
		var out Packet
		for p.free[end] <= p.now && e.Transmit(p.now, Pull{Open: AllClasses &^ p.closed}, &out) {
			p.check(end, &out)
			p.free[end] = p.now + serialisation(out.Bytes()+60, p.rate)
			p.fly(end, out)
		}
	}
}

// check holds what every transmitted packet must obey.
func (p *pair) check(end int, out *Packet) {
	prologue, _ := wire.ParsePrologue(out.Header[:2])
	data := prologue.Type().IsRequest() || prologue.Type() == wire.TypeRUDI
	probe := prologue.Type() == wire.TypeControl && prologue.Control() == wire.ControlProbe
	c := p.ends[end].cfg
	ok := out.From == Addr(end+1) && out.To == Addr(2-end) && out.Proto == ProtoUET && (out.Telemetry == 0 || prologue.Type() == wire.TypeAckCC) &&
		(out.Flags&Trimmable != 0) == (data && c.Trimming)
	read := prologue.Type() == wire.TypeRUDIResp && out.Payload.Length > 0
	if data || probe || read || prologue.Type() == wire.TypeUUD {
		ok = ok && out.ECN == ECT0 && out.Class == c.DataClass
	} else {
		ok = ok && out.ECN == NotECT && out.Class == c.ControlClass && out.Flags == 0
	}
	if !ok {
		require.Fail(p.t, "a packet with wrong fields", "%+v", *out)
	}
}

// fly decides a packet's fate and puts it on its way.
func (p *pair) fly(end int, out Packet) {
	f := fate{}
	if p.fates != nil {
		f = p.fates(end, &out)
	}
	if isData(&out) {
		p.dataNo[end]++
	}
	if f.mark && out.ECN == ECT0 {
		out.ECN = CE
	}
	if f.trim || f.lastHop {
		out.Payload.Length = 0
		out.Flags |= WasTrimmed
		clear(out.Header[16:])
		if f.lastHop {
			out.Flags |= TrimmedLastHop
		}
	}
	if f.corrupt {
		out.Flags |= Corrupt
	}
	p.note(end, &out, f)
	if f.drop {
		return
	}
	for range f.copies + 1 {
		p.seq++
		v := flight{p.free[end] + p.delay + f.late, p.seq, out}
		at := sort.Search(len(p.air), func(i int) bool { return p.air[i].at > v.at })
		p.air = append(p.air, flight{})
		copy(p.air[at+1:], p.air[at:])
		p.air[at] = v
		f.late += 300 * instant.Nanosecond
	}
}

// note writes the log and the hash of everything that was sent.
func (p *pair) note(end int, out *Packet, f fate) {
	for _, v := range [...]uint64{uint64(p.now), uint64(end), uint64(out.EV), uint64(out.Flags), out.Payload.Offset, uint64(out.Payload.Length)} {
		p.hash = splitmix.Mix(p.hash ^ v)
	}
	for _, b := range out.Header[:out.HeaderLen] {
		p.hash = (p.hash ^ uint64(b)) * 1099511628211
	}
	if p.narrate {
		p.log = append(p.log, fmt.Sprintf("%9.3fus  %c  %s %s", p.now.Microseconds(), 'A'+rune(end), describe(out), f.String()))
	}
}

func (f fate) String() string {
	var s []string
	for _, c := range []struct {
		on   bool
		word string
	}{{f.drop, "dropped"}, {f.trim, "trimmed"}, {f.lastHop, "trimmed at the last hop"}, {f.mark, "marked"}, {f.corrupt, "corrupted"}, {f.copies > 0, "duplicated"}, {f.late > 0, "late"}} {
		if c.on {
			s = append(s, c.word)
		}
	}
	return strings.Join(s, " ")
}

func isData(p *Packet) bool { return typeOf(p).IsRequest() }

func typeOf(p *Packet) wire.Type {
	prologue, _ := wire.ParsePrologue(p.Header[:2])
	return prologue.Type()
}

// describe is one packet as text.
func describe(p *Packet) string {
	b := p.Header[:p.HeaderLen]
	switch prologue, _ := wire.ParsePrologue(b); prologue.Type() {
	case wire.TypeAckCC:
		a, _ := wire.ParseAckCC(b)
		return fmt.Sprintf("ACK_CC cack=%d psn=%d base=%+d map=%x rcvd=%d ooo=%d [%v]", a.CumPSN, a.PSN(), a.SackOffset, a.Sack, a.RcvdBytes, a.OOO, a.Flags)
	case wire.TypeAck:
		a, _ := wire.ParseAck(b)
		return fmt.Sprintf("ACK cack=%d [%v]", a.CumPSN, a.Flags)
	case wire.TypeNack:
		n, _ := wire.ParseNack(b)
		return fmt.Sprintf("NACK %v psn=%d payload=%d [%v]", n.Code, n.PSN, n.Payload, n.Flags)
	case wire.TypeControl:
		c, _ := wire.ParseControl(b)
		return fmt.Sprintf("%v psn=%d payload=%d [%v]", c.Control, c.PSN, c.Payload, c.Flags)
	default:
		r, _ := wire.ParseRequest(b)
		return fmt.Sprintf("%v psn=%d len=%d clear=%+d [%v]", r.Type, r.PSN, p.Payload.Length, r.ClearOffset, r.Flags)
	}
}

// step goes to the next instant at which anything happens; false if nothing ever will.
func (p *pair) step(until Time) bool {
	p.launch()
	next := Never
	for end, e := range p.ends {
		next = min(next, e.Deadline())
		if p.free[end] > p.now {
			next = min(next, p.free[end])
		}
	}
	if len(p.air) > 0 {
		next = min(next, p.air[0].at)
	}
	if next == Never || next > until {
		p.now = max(p.now, min(until, next))
		return false
	}
	p.now = max(p.now, next)
	for len(p.air) > 0 && p.air[0].at <= p.now {
		v := p.air[0]
		p.air = p.air[1:]
		p.ends[v.p.To-1].HandlePacket(p.now, &v.p)
	}
	for end, e := range p.ends {
		if e.Deadline() <= p.now {
			e.HandleTimeout(p.now)
			if e.Deadline() <= p.now {
				require.Fail(p.t, "a timer that does not move")
			}
		}
		p.take(end)
	}
	return true
}

func (p *pair) take(end int) {
	var buf [4]Event
	for {
		n := p.ends[end].Events(buf[:])
		p.events[end] = append(p.events[end], buf[:n]...)
		if n == 0 {
			return
		}
	}
}

// runFor lets so much time pass.
func (p *pair) runFor(d Time) {
	until := p.now + d
	for p.step(until) {
	}
	p.now = until
}

// run goes on until nothing happens any more, or for a second.
func (p *pair) run() {
	until := p.now + instant.Second
	for p.step(until) {
	}
}

// runDone goes on until A has so many events.
func (p *pair) runDone(n int) {
	p.t.Helper()
	until := p.now + 10*instant.Second
	for len(p.events[0]) < n {
		if !p.step(until) {
			require.Len(p.t, p.events[0], n, "messages that never end\n%s", strings.Join(p.log, "\n"))
		}
	}
}

// wantOne requires that one message completed at A and was delivered at B, and nothing else.
func (p *pair) wantOne() Event {
	p.t.Helper()
	require.Len(p.t, p.events[0], 1)
	require.Equal(p.t, Completed, p.events[0][0].Kind)
	require.Len(p.t, p.events[1], 1)
	require.Equal(p.t, Delivered, p.events[1][0].Kind)
	p.balanced()
	return p.events[0][0]
}

// balanced requires that nothing is left in flight or outstanding.
func (p *pair) balanced() {
	p.t.Helper()
	for _, e := range p.ends {
		for i := range e.contexts {
			require.Zero(p.t, e.contexts[i].inFlight, "bytes in flight that nobody will report")
		}
		require.Zero(p.t, e.responsesUsed)
	}
}

// nth makes a hook that gives the n-th data packet of A (from 0) a fate, and the others none.
func nth(f fate, numbers ...int) func(int, *Packet) fate {
	count := 0
	return func(from int, p *Packet) fate {
		if from != 0 || !isData(p) {
			return fate{}
		}
		count++
		for _, n := range numbers {
			if n == count-1 {
				return f
			}
		}
		return fate{}
	}
}

// kindNth gives the n-th packet of a type from one end a fate.
func kindNth(from int, t wire.Type, f fate, numbers ...int) func(int, *Packet) fate {
	count := 0
	return func(end int, p *Packet) fate {
		if end != from || typeOf(p) != t {
			return fate{}
		}
		count++
		for _, n := range numbers {
			if n == count-1 {
				return f
			}
		}
		return fate{}
	}
}

// logged counts the lines of the log that contain a text.
func (p *pair) logged(text string) (n int) {
	for _, line := range p.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// inject hands a packet with a header of our making to one end, as if it came from the other.
func (p *pair) inject(to int, h interface{ Put([]byte) int }, change ...func(*Packet)) {
	out := Packet{From: Addr(2 - to), To: Addr(to + 1), Proto: ProtoUET, ECN: NotECT}
	out.HeaderLen = uint8(h.Put(out.Header[:]))
	for _, c := range change {
		c(&out)
	}
	p.ends[to].HandlePacket(p.now, &out)
}

// answer returns the next packet that one end wants to send.
func (p *pair) answer(end int) *Packet {
	p.t.Helper()
	var out Packet
	require.True(p.t, p.ends[end].Transmit(p.now, Pull{Open: AllClasses}, &out), "nothing was answered")
	return &out
}

// wantNack requires that one end answers with a NACK of that code.
func (p *pair) wantNack(end int, code wire.NackCode) wire.Nack {
	p.t.Helper()
	out := p.answer(end)
	n, why := wire.ParseNack(out.Header[:out.HeaderLen])
	require.Equal(p.t, wire.OK, why, "%s", describe(out))
	require.Equal(p.t, code, n.Code, "%v", n.Code)
	return n
}

// all joins hooks: every packet suffers what any of them has for it.
func all(hooks ...func(int, *Packet) fate) func(int, *Packet) fate {
	return func(from int, p *Packet) (f fate) {
		for _, h := range hooks {
			g := h(from, p)
			f.drop, f.trim, f.lastHop = f.drop || g.drop, f.trim || g.trim, f.lastHop || g.lastHop
			f.mark, f.corrupt = f.mark || g.mark, f.corrupt || g.corrupt
			f.copies, f.late = f.copies+g.copies, f.late+g.late
		}
		return f
	}
}
