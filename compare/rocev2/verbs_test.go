package rocev2

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
)

const (
	firstOfA = wire.PSN(0xFFFFF6) // wraps soon
	firstOfB = wire.PSN(0x00ABCD)
)

// A pair is two hosts with one queue pair, connected by numbers, and 64 KiB of memory each, which peers call by key
// 0x1234 and address 0x7F0000000000.
type pair struct {
	*testNet
	a, b       *Host
	onA, onB   QueuePair
	memA, memB []byte
	bufA, bufB uint32
	doneA      []Completion
	doneB      []Completion
}

const (
	testKey  = 0x1234
	testBase = uint64(0x7F0000000000)
	noAccess = LocalWrite
)

func newPair(t testing.TB, c Config) *pair {
	t.Helper()
	n := newNet(t, 2, c)
	p := &pair{testNet: n, a: n.hosts[0], b: n.hosts[1], memA: pattern(1<<16, 1), memB: pattern(1<<16, 3)}
	var err error
	p.onA, err = p.a.Connect(Connection{Peer: 2, QPN: 0x100000, PeerQPN: 0x200000, SendPSN: firstOfA, ReceivePSN: firstOfB})
	require.NoError(t, err)
	p.onB, err = p.b.Connect(Connection{Peer: 1, QPN: 0x200000, PeerQPN: 0x100000, SendPSN: firstOfB, ReceivePSN: firstOfA})
	require.NoError(t, err)
	p.bufA, err = p.a.RegisterRegion(Region{Bytes: p.memA, Key: testKey, Base: testBase, Access: AllAccess})
	require.NoError(t, err)
	p.bufB, err = p.b.RegisterRegion(Region{Bytes: p.memB, Key: testKey, Base: testBase, Access: AllAccess})
	require.NoError(t, err)
	return p
}

func (p *pair) post(w WorkRequest) {
	p.t.Helper()
	if w.Buffer == 0 {
		w.Buffer = p.bufA
	}
	if !w.Verb.isSend() && w.RemoteKey == 0 {
		w.RemoteKey = testKey
	}
	w.RemoteOffset += testBase
	require.NoError(p.t, p.a.Post(p.now, p.onA, w))
}

func (p *pair) receive(offset, length uint64) {
	p.t.Helper()
	require.NoError(p.t, p.b.PostReceive(p.now, p.onB, Buffer{Handle: p.bufB, Offset: offset, Length: length, Cookie: offset}))
}

// end runs to the end and audits both hosts.
func (p *pair) end() {
	p.t.Helper()
	p.run(forever)
	p.drain()
	p.quiet()
	for _, h := range p.hosts {
		require.NoError(p.t, h.Audit())
	}
}

func (p *pair) drain() {
	var buf [3]Completion
	for k, all := range []*[]Completion{&p.doneA, &p.doneB} {
		for n := p.hosts[k].Completions(buf[:]); n > 0; n = p.hosts[k].Completions(buf[:]) {
			*all = append(*all, buf[:n]...)
		}
	}
}

// Every verb does what it says, and tells so.
func TestVerbs(t *testing.T) {
	p := newPair(t, testConfig())
	lines := p.ladder()
	p.receive(40_000, 5000)
	p.receive(50_000, 100)
	p.receive(51_000, 100)
	p.receive(52_000, 100)
	p.post(WorkRequest{Verb: Write, Offset: 100, Length: 3000, RemoteOffset: 7, Cookie: 1})
	p.post(WorkRequest{Verb: Send, Offset: 5, Length: 2500, Solicited: true, Cookie: 2})
	p.post(WorkRequest{Verb: WriteImmediate, Length: 0, Immediate: 0, Cookie: 3})
	p.post(WorkRequest{Verb: SendImmediate, Offset: 9, Length: 61, Immediate: 0xCAFE, Cookie: 4})
	p.post(WorkRequest{Verb: Read, Offset: 30_000, Length: 2049, RemoteOffset: 20_000, Cookie: 5})
	p.post(WorkRequest{Verb: FetchAdd, Offset: 60_000, RemoteOffset: 64, Add: 5, Cookie: 6})
	p.post(WorkRequest{Verb: CompareSwap, Offset: 60_008, RemoteOffset: 64, Compare: 1, Add: 9, Cookie: 7})
	p.post(WorkRequest{Verb: SendInvalidate, Offset: 9, Length: 3, Immediate: testKey, Cookie: 8})
	before := binary.LittleEndian.Uint64(p.memA[100+57:])
	p.end()

	var statuses []string
	for _, c := range p.doneA {
		require.Equal(t, p.onA, c.QP)
		statuses = append(statuses, fmt.Sprintf("%d %v %v %d", c.Cookie, c.Verb, c.Status, c.Length))
	}
	require.Equal(t, []string{"1 WRITE success 3000", "2 SEND success 2500", "3 WRITE with immediate success 0", "4 SEND with immediate success 61",
		"5 READ success 2049", "6 FetchAdd success 8", "7 CmpSwap success 8", "8 SEND with invalidate success 3"}, statuses)
	require.Equal(t, []Completion{
		{QP: p.onB, Verb: Receive, At: p.doneB[0].At, Length: 2500, Cookie: 40_000, Opcode: wire.SendLast, Solicited: true},
		{QP: p.onB, Verb: Receive, At: p.doneB[1].At, Length: 0, Cookie: 50_000, Opcode: wire.WriteOnlyImmediate},
		{QP: p.onB, Verb: Receive, At: p.doneB[2].At, Length: 61, Cookie: 51_000, Opcode: wire.SendOnlyImmediate, Immediate: 0xCAFE},
		{QP: p.onB, Verb: Receive, At: p.doneB[3].At, Length: 3, Cookie: 52_000, Opcode: wire.SendOnlyInvalidate, Immediate: testKey},
	}, p.doneB)
	fresh := pattern(1<<16, 1)
	require.Equal(t, fresh[5:2505], p.memB[40_000:42_500])
	require.Equal(t, fresh[9:70], p.memB[51_000:51_061])
	require.Equal(t, pattern(1<<16, 3)[20_000:22_049], p.memA[30_000:32_049])
	require.Equal(t, before, p.doneA[5].Original)
	require.Equal(t, before+5, p.doneA[6].Original, "a swap that does not match changes nothing")
	require.Equal(t, before+5, binary.LittleEndian.Uint64(p.memB[64:]))
	require.Equal(t, before+5, binary.LittleEndian.Uint64(p.memA[60_008:]))
	require.Equal(t, noAccess, p.b.regions[p.bufB-1].Access, "invalidated")
	require.Contains(t, *lines, "1>2 READ request 16777214 ask")
	require.Contains(t, *lines, "2>1 READ response Middle 16777215")
	require.Contains(t, *lines, "2>1 READ response Last 0")
	require.Contains(t, *lines, "1>2 FetchAdd 1 ask")
}

// A SEND without a receive waits, and comes again; what was sent behind it as well.
func TestReceiverNotReady(t *testing.T) {
	for _, behind := range []bool{false, true} {
		c := testConfig()
		c.NakBehindRNR = behind
		p := newPair(t, c)
		lines := p.ladder()
		p.post(WorkRequest{Verb: Send, Length: 1500})
		p.run(300 * us)
		p.receive(0, 2000)
		p.end()
		require.Len(t, p.doneB, 1)
		require.Len(t, p.doneA, 1)
		require.Equal(t, Success, p.doneA[0].Status)
		require.Greater(t, p.doneA[0].At, 640*us)
		require.Less(t, p.doneA[0].At, 700*us)
		want := []string{"1>2 SEND First 16777206", "1>2 SEND Last 16777207 ask", "2>1 RNR NAK 16777206 msn 0"}
		if behind {
			want = append(want, "2>1 NAK PSN sequence error 16777206 msn 0")
		}
		require.Equal(t, append(want, "1>2 SEND First 16777206 ask", "1>2 SEND Last 16777207 ask", "2>1 ACK 16777206 msn 0",
			"2>1 ACK 16777207 msn 1"), *lines)
	}
}

func TestReceiverNeverReady(t *testing.T) {
	c := testConfig()
	c.RNRRetry = 3
	p := newPair(t, c)
	naks := 0
	p.seen = func(_ Time, _ *core.Packet, h *wire.Header) {
		if h.Opcode == wire.Acknowledge && h.AETH.Syndrome.IsRNR() {
			naks++
		}
	}
	p.post(WorkRequest{Verb: Send, Length: 1, Cookie: 1})
	p.post(WorkRequest{Verb: Send, Length: 1, Cookie: 2})
	p.end()
	require.Equal(t, 4, naks)
	require.Equal(t, []Status{RNRRetryExceeded, Flushed}, []Status{p.doneA[0].Status, p.doneA[1].Status})
	p.post(WorkRequest{Verb: Send, Length: 1})
	p.drain()
	require.Equal(t, Flushed, p.doneA[2].Status)
}

// What the responder refuses ends the queue pair with the right status on both sides.
func TestVerbsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		w      WorkRequest
		want   Status
		at     []Status // of the two receives of the target
		rights Access
	}{
		"WRITE, unknown key":     {WorkRequest{Verb: Write, Length: 1, RemoteKey: 9}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess},
		"WRITE, no right":        {WorkRequest{Verb: Write, Length: 1}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess &^ RemoteWrite},
		"WRITE past the end":     {WorkRequest{Verb: Write, Length: 1000, RemoteOffset: 1<<16 - 999}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess},
		"WRITE before the start": {WorkRequest{Verb: Write, Length: 1000, RemoteOffset: ^uint64(0)}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess},
		"READ, no right":         {WorkRequest{Verb: Read, Length: 5000}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess &^ RemoteRead},
		"atomic, no right":       {WorkRequest{Verb: FetchAdd}, RemoteAccessError, []Status{Flushed, Flushed}, AllAccess &^ RemoteAtomic},
		"atomic, odd address":    {WorkRequest{Verb: CompareSwap, RemoteOffset: 4}, RemoteInvalidRequest, []Status{Flushed, Flushed}, AllAccess},
		"SEND too long":          {WorkRequest{Verb: Send, Length: 101}, RemoteInvalidRequest, []Status{LocalLength, Flushed}, AllAccess},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, testConfig())
			p.receive(0, 100)
			p.receive(0, 100)
			p.b.regions[p.bufB-1].Access = c.rights
			before := append([]byte(nil), p.memB...)
			p.post(c.w)
			p.post(WorkRequest{Verb: Read, Length: 1})
			p.end()
			require.Equal(t, []Status{c.want, Flushed}, []Status{p.doneA[0].Status, p.doneA[1].Status})
			require.Equal(t, c.at, []Status{p.doneB[0].Status, p.doneB[1].Status})
			require.Equal(t, before, p.memB)
		})
	}
}

// A lost response is asked for again, from there on, whether other responses, a later acknowledgement or the timer tell.
func TestLostResponse(t *testing.T) {
	lose := func(number wire.PSN) func(*core.Packet, *wire.Header) fate {
		done := false
		return func(_ *core.Packet, h *wire.Header) (f fate) {
			if (h.Opcode.IsReadResponse() || h.Opcode == wire.AtomicAcknowledge) && h.PSN == number && !done {
				f.drop, done = true, true
			}
			return f
		}
	}
	for _, resumes := range []bool{false, true} {
		c := testConfig()
		c.ReadResumes = resumes
		p := newPair(t, c)
		lines := p.ladder()
		p.fate = lose(firstOfA.Add(2))
		p.post(WorkRequest{Verb: Read, Offset: 100, Length: 5000, RemoteOffset: 64})
		p.end()
		require.Equal(t, p.memB[64:5064], p.memA[100:5100])
		begin := "First"
		if resumes {
			begin = "Middle"
		}
		require.Equal(t, []string{"1>2 READ request 16777206 ask", "2>1 READ response First 16777206", "2>1 READ response Middle 16777207",
			"2>1 READ response Middle 16777208", "2>1 READ response Middle 16777209", "2>1 READ response Last 16777210",
			"1>2 READ request 16777208 ask", "2>1 READ response " + begin + " 16777208", "2>1 READ response Middle 16777209",
			"2>1 READ response Last 16777210"}, *lines)
	}
	t.Run("atomic", func(t *testing.T) { // which must not be carried out twice
		p := newPair(t, testConfig())
		p.fate = lose(firstOfA)
		before := binary.LittleEndian.Uint64(p.memB)
		p.post(WorkRequest{Verb: FetchAdd, Add: 7})
		p.post(WorkRequest{Verb: Write, Length: 10, RemoteOffset: 100})
		p.end()
		require.Len(t, p.doneA, 2)
		require.Equal(t, before, p.doneA[0].Original)
		require.Equal(t, before+7, binary.LittleEndian.Uint64(p.memB))
		require.Less(t, p.doneA[1].At, 100*us, "the acknowledgement of the WRITE told")
	})
	t.Run("timer", func(t *testing.T) {
		p := newPair(t, testConfig())
		p.fate = lose(firstOfA)
		p.post(WorkRequest{Verb: Read, Length: 10})
		p.end()
		require.Equal(t, Success, p.doneA[0].Status)
		require.EqualValues(t, 1, p.a.count.Timeouts)
	})
}

// A READ that was asked for again may come behind old responses of it: as long as those come, nobody is impatient. The
// kernel answers every repetition in full, one after the other.
func TestOldResponsesHoldTheTimer(t *testing.T) {
	p := newPair(t, testConfig())
	answer := func(at Time, h wire.Header, length uint32) {
		packet := core.Packet{From: 2, To: 1, Proto: core.ProtoRoCE, Payload: core.Payload{Owner: 2, Buffer: p.bufB, Length: length}}
		h.DestQP, h.AETH.Syndrome = 0x100000, wire.AckUnlimited
		packet.HeaderLen = uint8(len(h.Append(packet.Header[:0], wire.Standard)))
		p.a.HandlePacket(at, &packet)
	}
	p.post(WorkRequest{Verb: Read, Length: 3000})
	head, _ := transmit(t, p.a, 0)
	require.Equal(t, wire.ReadRequest, head.Opcode)
	answer(1*us, wire.Header{BTH: wire.BTH{Opcode: wire.ReadResponseFirst, PSN: firstOfA}}, testMTU)
	patience := p.a.Config().Timeout
	for now := patience / 2; now < 4*patience; now += patience / 2 {
		answer(now, wire.Header{BTH: wire.BTH{Opcode: wire.ReadResponseFirst, PSN: firstOfA}}, testMTU)
		p.a.HandleTimeout(now)
		head, _ = transmit(t, p.a, now)
		require.Nil(t, head)
	}
	p.a.HandleTimeout(6 * patience)
	head, _ = transmit(t, p.a, 6*patience)
	require.Equal(t, firstOfA.Add(1), head.PSN, "now it is silent")
}

// No more READs and atomics are under way than agreed; a peer that does not keep to it is refused.
func TestReadDepth(t *testing.T) {
	c := testConfig()
	c.MaxReads = 3
	p := newPair(t, c)
	under, most := 0, 0
	p.seen = func(_ Time, _ *core.Packet, h *wire.Header) {
		switch h.Opcode {
		case wire.ReadRequest:
			under++
		case wire.ReadResponseLast, wire.ReadResponseOnly:
			under--
		}
		most = max(most, under)
	}
	for k := 0; k < 20; k++ {
		p.post(WorkRequest{Verb: Read, Length: uint64(500 * (k % 5)), Offset: uint64(k)})
	}
	p.end()
	require.Len(t, p.doneA, 20)
	require.Equal(t, 3, most)

	c.MaxReads = 4
	greedy := newPair(t, c)
	greedy.b.cfg.MaxReads = 3
	for k := 0; k < 4; k++ {
		greedy.post(WorkRequest{Verb: Read, Length: 5000})
	}
	greedy.a.HandleTimeout(0)
	for k := 0; k < 4; k++ { // all requests before any response
		var packet core.Packet
		require.True(t, greedy.a.Transmit(0, core.Pull{Open: core.AllClasses}, &packet))
		greedy.b.HandlePacket(0, &packet)
	}
	require.Equal(t, refused, greedy.b.qps[greedy.onB].rstate)
}

// Requests and responses share a port; both go on.
func TestBothWays(t *testing.T) {
	p := newPair(t, testConfig())
	for k := 0; k < 10; k++ {
		p.post(WorkRequest{Verb: Read, Length: 20_000})
		require.NoError(t, p.b.Post(0, p.onB, WorkRequest{Verb: Write, Length: 20_000, RemoteKey: testKey, RemoteOffset: testBase + 30_000, Buffer: p.bufB}))
	}
	order := ""
	p.seen = func(_ Time, q *core.Packet, h *wire.Header) {
		if q.From == 2 && h.Opcode.IsReadResponse() {
			order += "r"
		}
		if q.From == 2 && h.Opcode.IsWrite() {
			order += "w"
		}
	}
	p.end()
	require.Len(t, p.doneA, 10)
	require.Len(t, p.doneB, 10)
	require.Contains(t, order, "rwrwrwrwrwrwrwrwrw")
}

// Payloads without bytes take the same ways.
func TestVirtualVerbs(t *testing.T) {
	n := newNet(t, 2, testConfig())
	on, err := n.hosts[0].Connect(Connection{Peer: 2, QPN: 0x100000, PeerQPN: 0x200000, SendPSN: 7, ReceivePSN: 9})
	require.NoError(t, err)
	onB, err := n.hosts[1].Connect(Connection{Peer: 1, QPN: 0x200000, PeerQPN: 0x100000, SendPSN: 9, ReceivePSN: 7})
	require.NoError(t, err)
	require.NoError(t, n.hosts[1].PostReceive(0, onB, Buffer{Length: 1 << 20}))
	for _, w := range []WorkRequest{{Verb: Read, Length: 100_000, RemoteOffset: 1 << 40}, {Verb: Send, Length: 100_000}, {Verb: Write, Length: 5000, RemoteOffset: 77}} {
		require.NoError(t, n.hosts[0].Post(0, on, w))
	}
	n.send(0, 1, core.Message{Length: 5000, RemoteKey: 3})
	n.run(forever)
	n.quiet()
	var done [8]Completion
	require.Equal(t, 3, n.hosts[0].Completions(done[:]))
	require.Equal(t, 1, n.hosts[1].Completions(done[:]))
	require.Len(t, n.kind(1, core.Delivered), 1)
	require.EqualValues(t, 1, n.hosts[1].count.MessagesGot-3)
}

// READ responses keep to the rate of the queue pair's controller, which CNPs of the reader slow down.
func TestResponsesArePaced(t *testing.T) {
	c := testConfig()
	var err error
	c.Make, _, err = congestion.Registry.Make("dcqcn", nil)
	require.NoError(t, err)
	p := newPair(t, c)
	marks := 0
	p.fate = func(_ *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsReadResponse() {
			f.mark = marks < 10
			marks++
		}
		return f
	}
	for k := 0; k < 20; k++ {
		p.post(WorkRequest{Verb: Read, Length: 60_000})
	}
	p.end()
	require.Len(t, p.doneA, 20)
	require.NotZero(t, p.b.count.CNPsReceived)
	require.Greater(t, p.doneA[19].At, 130*us, "1.2 MB at half the line rate, at the least")
}

func TestVerbMistakes(t *testing.T) {
	p := newPair(t, testConfig())
	h := p.a
	for want, do := range map[string]func() error{
		"queue pair number 1048576 is taken": func() error {
			_, err := h.Connect(Connection{Peer: 2, QPN: 0x100000, PeerQPN: 5})
			return err
		},
		"queue pair number 4 is taken": func() error { _, err := h.Connect(Connection{Peer: 2, QPN: 4, PeerQPN: 5}); return err },
		"expected numbers from 2":      func() error { _, err := h.Connect(Connection{Peer: 2, QPN: 9, PeerQPN: 1}); return err },
		"expected 24 bits": func() error {
			_, err := h.Connect(Connection{Peer: 2, QPN: 9, PeerQPN: 9, SendPSN: 1 << 24})
			return err
		},
		"connects to itself":            func() error { _, err := h.Connect(Connection{Peer: 1, QPN: 9, PeerQPN: 9}); return err },
		"on port 1 of 1":                func() error { _, err := h.Connect(Connection{Peer: 2, QPN: 9, PeerQPN: 9, Port: 1}); return err },
		"no connected queue pair 9":     func() error { return h.Post(0, 9, WorkRequest{}) },
		"no connected queue pair 0":     func() error { return h.PostReceive(0, 0, Buffer{}) },
		"receive is not posted by Post": func() error { return h.Post(0, p.onA, WorkRequest{Verb: Receive}) },
		"at most 1073741824":            func() error { return h.Post(0, p.onA, WorkRequest{Length: 1<<30 + 1}) },
		"not lie within registered buffer": func() error {
			return h.Post(0, p.onA, WorkRequest{Length: 2, Buffer: p.bufA, Offset: 1<<16 - 1})
		},
		"with local write": func() error { return h.PostReceive(0, p.onA, Buffer{Handle: 7, Length: 1}) },
		"is taken":         func() error { _, err := h.RegisterRegion(Region{Key: testKey}); return err },
	} {
		require.ErrorContains(t, do(), want)
	}
	h.regions[p.bufA-1].Access = 0
	require.ErrorContains(t, h.Post(0, p.onA, WorkRequest{Verb: Read, Length: 1, Buffer: p.bufA}), "without local write")
	other, err := New(1, irnConfig())
	require.NoError(t, err)
	_, err = other.Connect(Connection{Peer: 2, QPN: 1 << 20, PeerQPN: 1 << 20})
	require.ErrorContains(t, err, "need placement in order")
	// A key of one's own choice and handles do not collide.
	buffer, err := other.RegisterRegion(Region{Bytes: make([]byte, 3), Key: 2, Access: AllAccess})
	require.NoError(t, err)
	require.EqualValues(t, 1, buffer)
	require.EqualValues(t, 3, other.Register(make([]byte, 5)))
	require.EqualValues(t, 1, other.handle(2))
	require.Zero(t, other.handle(1))
}

// A random mix of verbs over a network that loses, doubles and delays: everything is carried out once and in order.
func TestVerbsSwarm(t *testing.T) {
	for seed := int64(1); seed <= 150; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { verbsSwarm(t, rand.New(rand.NewSource(seed))) })
	}
}

func verbsSwarm(t *testing.T, r *rand.Rand) {
	c := testConfig()
	c.Timeout, c.RetryCount = Time(r.Intn(400)+100)*us, -1
	c.MaxReads = r.Intn(4) + 1
	c.NakBehindRNR, c.ReadResumes = r.Intn(2) == 0, r.Intn(2) == 0
	c.AckReqEvery = r.Intn(5) + 1
	p := newPair(t, c)
	loss, twice, late := r.Float64()*0.1, r.Float64()*0.1, r.Float64()*0.1
	p.fate = func(*core.Packet, *wire.Header) (f fate) {
		f.drop, f.twice = r.Float64() < loss, r.Float64() < twice
		if r.Float64() < late {
			f.late = Time(r.Intn(40)) * us
		}
		return f
	}
	// WRITEs fill the first quarter of B's memory, SENDs the second; READs come from the last, atomics go to its end.
	model := append([]byte(nil), p.memB...)
	want := append([]byte(nil), p.memA...)
	const quarter, counter = 1 << 14, 1<<16 - 8
	var originals []uint64
	receives, at := 0, uint64(0)
	works := r.Intn(40) + 1
	for k := 0; k < works; k++ {
		length := uint64(r.Intn(4000))
		from := uint64(r.Intn(quarter - 4000))
		to := uint64(r.Intn(quarter - 4000))
		switch verb := Verb(r.Intn(int(Datagram))); verb {
		case Write, WriteImmediate:
			p.post(WorkRequest{Verb: verb, Offset: from, Length: length, RemoteOffset: to})
			copy(model[to:], p.memA[from:from+length])
			receives += int(verb)
		case Send, SendImmediate, SendInvalidate:
			length = min(length, 300)
			p.post(WorkRequest{Verb: verb, Offset: from, Length: length, Immediate: 77})
			copy(model[quarter+at:], p.memA[from:from+length])
			receives++
			at += 300
		case Read:
			p.post(WorkRequest{Verb: verb, Offset: quarter + from, Length: length, RemoteOffset: 3*quarter + min(to, quarter-4008)})
			copy(want[quarter+from:], model[3*quarter+min(to, quarter-4008):][:length])
		case FetchAdd, CompareSwap:
			w := WorkRequest{Verb: verb, Offset: 3 * quarter, RemoteOffset: counter, Add: r.Uint64()}
			old := binary.LittleEndian.Uint64(model[counter:])
			now := old + w.Add
			if verb == CompareSwap {
				now = old
				if r.Intn(2) == 0 {
					w.Compare, now = old, w.Add
				}
			}
			p.post(w)
			originals = append(originals, old)
			binary.LittleEndian.PutUint64(model[counter:], now)
			binary.LittleEndian.PutUint64(want[3*quarter:], old)
		}
	}
	// SENDs and immediates use receives in order; how much room each needs is known, when it comes is not.
	room := uint64(0)
	for _, pt := range needReceive(p) {
		p.run(p.now + Time(r.Intn(200))*us)
		if pt.isSend() {
			p.receive(quarter+room, 300)
			room += 300
		} else {
			p.receive(0, 0)
		}
	}
	p.end()
	require.Len(t, p.doneA, works)
	require.Len(t, p.doneB, receives)
	for _, done := range p.doneA {
		require.Equal(t, Success, done.Status)
		if done.Verb.isAtomic() {
			require.Equal(t, originals[0], done.Original)
			originals = originals[1:]
		}
	}
	require.Equal(t, model, p.memB, "what WRITEs, SENDs and atomics left")
	require.Equal(t, want, p.memA, "what READs and atomics brought")
}

// needReceive returns the verbs posted at A that need a receive, in order.
func needReceive(p *pair) (verbs []Verb) {
	for pi := p.a.qps[p.onA].head; pi != 0; pi = p.a.parts[pi].next {
		if v := p.a.verbOf(&p.a.parts[pi]); v.isSend() || v == WriteImmediate {
			verbs = append(verbs, v)
		}
	}
	return verbs
}
