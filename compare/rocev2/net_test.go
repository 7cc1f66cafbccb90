package rocev2

import (
	"container/heap"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

const (
	us      = instant.Microsecond
	ns      = instant.Nanosecond
	forever = never - 1
	testMTU = 1024
	dataCl  = core.Class(0)
	ctlCl   = core.Class(1)
)

// testConfig is go-back-N over a link of 100 Gbit/s and a round trip of 10 us.
func testConfig() Config {
	return Config{
		Path: congestion.Path{LineRateBps: 100e9, BaseRTT: 10 * us, MTU: testMTU + 100, MSS: testMTU},
		Seed: 1, Data: dataCl, Control: ctlCl,
	}
}

// A fate is what the network does with one packet. The zero fate is to deliver it.
type fate struct {
	drop, twice, mark, corrupt bool
	late                       Time
}

// A testNet connects hosts by links of one rate and delay, on which fate decides about each packet.
type testNet struct {
	t      testing.TB
	hosts  []*Host
	delay  Time
	slot   Time // if set, every data packet takes this long, and control packets no time
	now    Time
	free   []Time // per host: when its port is free
	closed core.ClassMask
	flying flights
	seq    int
	fate   func(p *core.Packet, h *wire.Header) fate
	seen   func(now Time, p *core.Packet, h *wire.Header) // every packet as it is sent
	events [][]core.Event                                 // per host
	steps  int
}

type flight struct {
	at  Time
	seq int
	p   core.Packet
}

type flights []flight

func (f flights) Len() int { return len(f) }
func (f flights) Less(i, j int) bool {
	return f[i].at < f[j].at || f[i].at == f[j].at && f[i].seq < f[j].seq
}
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)   { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	x := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return x
}

func newNet(t testing.TB, hosts int, c Config) *testNet {
	t.Helper()
	n := &testNet{t: t, delay: 4 * us, free: make([]Time, hosts), events: make([][]core.Event, hosts)}
	c.Remote = func(a core.Addr) core.Memory { return n.hosts[a-1] }
	for k := 0; k < hosts; k++ {
		h, err := New(core.Addr(k+1), c)
		require.NoError(t, err)
		n.hosts = append(n.hosts, h)
	}
	return n
}

// header reads the headers of p.
func (n *testNet) header(p *core.Packet) *wire.Header {
	var h wire.Header
	size, refusal := wire.Parse(p.Header[:p.HeaderLen], n.hosts[0].dialect, &h)
	if refusal != wire.Accepted || size != int(p.HeaderLen) {
		n.t.Fatalf("header of %d bytes, %d read: %v", p.HeaderLen, size, refusal)
	}
	return &h
}

func (n *testNet) send(from, to int, m core.Message) {
	n.t.Helper()
	m.To = core.Addr(to + 1)
	require.NoError(n.t, n.hosts[from].Send(n.now, m))
}

// write sends a virtual message of a length from host 0 to host 1.
func (n *testNet) write(length int) {
	n.t.Helper()
	n.send(0, 1, core.Message{Length: uint64(length), RemoteKey: 7, RemoteOffset: 5000, Cookie: uint64(length)})
}

// run lets time pass until nothing is left to do, or until the given time.
func (n *testNet) run(until Time) {
	for {
		n.transmit()
		next := n.next()
		if next > until || next == never {
			if until != forever {
				n.now = max(n.now, until)
			}
			break
		}
		n.now = next
		if n.steps++; n.steps > 20_000_000 {
			n.t.Fatal("no end")
		}
		n.arrive()
		for _, h := range n.hosts {
			if h.Deadline() <= n.now {
				h.HandleTimeout(n.now)
				if h.Deadline() <= n.now {
					n.t.Fatal("deadline stays")
				}
			}
		}
	}
	n.collect()
}

func (n *testNet) transmit() {
	for k, h := range n.hosts {
		for n.free[k] <= n.now {
			var p core.Packet
			if !h.Transmit(n.now, core.Pull{Open: core.AllClasses &^ n.closed}, &p) {
				break
			}
			n.ship(k, &p)
		}
	}
}

func (n *testNet) ship(k int, p *core.Packet) {
	h := n.header(p)
	if n.seen != nil {
		n.seen(n.now, p, h)
	}
	n.free[k] = n.now + n.serialise(p)
	var f fate
	if n.fate != nil {
		f = n.fate(p, h)
	}
	if f.drop {
		return
	}
	if f.mark {
		if p.ECN != core.ECT0 {
			n.t.Fatal("packet cannot be marked")
		}
		p.ECN = core.CE
	}
	if f.corrupt {
		p.Flags |= core.Corrupt
	}
	n.fly(n.free[k]+n.delay+f.late, p)
	if f.twice {
		n.fly(n.free[k]+n.delay+f.late+ns, p)
	}
}

func (n *testNet) serialise(p *core.Packet) Time {
	if n.slot == 0 {
		return wireTime(p.Bytes()+72, n.hosts[0].cfg.Path.LineRateBps)
	}
	if p.Class == dataCl {
		return n.slot
	}
	return 0
}

func (n *testNet) fly(at Time, p *core.Packet) {
	n.seq++
	heap.Push(&n.flying, flight{at, n.seq, *p})
}

func (n *testNet) next() Time {
	next := never
	if len(n.flying) > 0 {
		next = n.flying[0].at
	}
	for k, h := range n.hosts {
		next = min(next, max(h.Deadline(), n.now))
		if n.free[k] > n.now {
			next = min(next, n.free[k])
		}
	}
	return next
}

func (n *testNet) arrive() {
	for len(n.flying) > 0 && n.flying[0].at <= n.now {
		f := heap.Pop(&n.flying).(flight)
		n.hosts[f.p.To-1].HandlePacket(n.now, &f.p)
	}
}

func (n *testNet) collect() {
	var buf [3]core.Event
	for k, h := range n.hosts {
		for {
			got := h.Events(buf[:])
			n.events[k] = append(n.events[k], buf[:got]...)
			if got == 0 {
				break
			}
		}
	}
}

// finish runs to the end and checks that everything that host 0 sent was delivered to host 1, once.
func (n *testNet) finish(messages int) {
	n.t.Helper()
	n.run(forever)
	require.Len(n.t, n.kind(0, core.Completed), messages)
	require.Len(n.t, n.kind(1, core.Delivered), messages)
	require.Empty(n.t, n.kind(0, core.Failed))
	n.quiet()
}

// quiet checks that no host holds anything or waits for anything.
func (n *testNet) quiet() {
	n.t.Helper()
	for k, h := range n.hosts {
		require.Equal(n.t, never, h.Deadline(), "host %d", k)
		require.Zero(n.t, h.Misplaced(), "host %d", k)
		require.Zero(n.t, h.count.Malformed, "host %d", k)
		require.Empty(n.t, h.striped, "host %d", k)
		for i := range h.qps {
			q := &h.qps[i]
			require.Zero(n.t, q.head, "host %d queue pair %d", k, i)
			require.Zero(n.t, q.inFlight, "host %d queue pair %d", k, i)
			require.Equal(n.t, q.una, q.next)
		}
	}
}

func (n *testNet) kind(host int, kind core.EventKind) (found []core.Event) {
	for _, e := range n.events[host] {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// dropData returns a fate that drops the data packets with the given running numbers, from 0.
func dropData(numbers ...int) func(*core.Packet, *wire.Header) fate {
	count := 0
	return func(p *core.Packet, h *wire.Header) (f fate) {
		if !h.Opcode.IsRequest() {
			return f
		}
		for _, k := range numbers {
			f.drop = f.drop || k == count
		}
		count++
		return f
	}
}

// ladder records what is sent, one line a packet.
func (n *testNet) ladder() *[]string {
	var lines []string
	n.seen = func(_ Time, p *core.Packet, h *wire.Header) { lines = append(lines, line(p, h)) }
	return &lines
}

func line(p *core.Packet, h *wire.Header) string {
	switch {
	case h.Opcode == wire.CongestionNotification:
		return fmt.Sprintf("%d>%d CNP", p.From, p.To)
	case h.Opcode != wire.Acknowledge:
		ask := ""
		if h.AckReq {
			ask = " ask"
		}
		return fmt.Sprintf("%d>%d %v %d%s", p.From, p.To, h.Opcode, h.PSN, ask)
	case h.AETH.Syndrome == wire.NakSelective:
		return fmt.Sprintf("%d>%d NAK %d flags %d base %d map %x", p.From, p.To, h.PSN, h.Selective.Flags, h.Selective.Base, h.Selective.Bitmap)
	}
	return fmt.Sprintf("%d>%d %v %d msn %d", p.From, p.To, h.AETH.Syndrome, h.PSN, h.AETH.MSN)
}
