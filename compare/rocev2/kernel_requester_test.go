package rocev2

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
)

// A report says how the packets that the kernel's requester sent are explained by ours. The kernel's card is pulled
// when the capture shows a packet; ours is asked at the same instants.
type report struct {
	sent     int // packets of the kernel, but for those that the network doubled
	late     int // of these, explained when the latest answers had not been looked at yet
	timeouts int // after our timer had expired
	early    int // as after a timeout, but our timer had not expired yet
	extra    int // not explained: the kernel sent what we would not
	left     int // at the end, what we would still send
}

// What the kernel does differently is in late, early, extra and left; docs/ROCE.md, section 13, has the reasons.
var askings = map[string]report{
	"ibv-rc-pingpong":             {sent: 8},
	"perftest-atomic-cas":         {sent: 5},
	"rc-atomic":                   {sent: 7},
	"rc-nak":                      {sent: 5},
	"rc-read":                     {sent: 12, early: 1},
	"rc-read-loss1pct-veth0":      {sent: 48, late: 1, early: 1},
	"rc-rnr":                      {sent: 8, late: 1, early: 1},
	"rc-send":                     {sent: 29},
	"rc-send-loss1pct-veth0":      {sent: 369, early: 1},
	"rc-write":                    {sent: 29},
	"rc-write-100pct-loss":        {sent: 8, timeouts: 3},
	"rc-write-corrupt5pct-veth0":  {sent: 179, late: 15, early: 1},
	"rc-write-dup10pct-veth1":     {sent: 84, late: 3, early: 1},
	"rc-write-ipv6":               {sent: 29},
	"rc-write-loss1pct-veth0":     {sent: 327},
	"rc-write-mtu256":             {sent: 87, early: 1},
	"rc-write-red-ecn-veth1":      {sent: 160},
	"rc-write-reorder10pct-veth0": {sent: 499, late: 55},
}

// The requester, fed with the answers that reached the kernel's and asked for a packet whenever the kernel sent one,
// sends the same: PSN, opcode and payload; and in the end all is done as it was there.
func TestKernelRequester(t *testing.T) {
	for name, want := range askings {
		t.Run(name, func(t *testing.T) {
			var got report
			for _, c := range conversations(t, name) {
				one := c.ask(t)
				got = report{got.sent + one.sent, got.late + one.late, got.timeouts + one.timeouts, got.early + one.early,
					got.extra + one.extra, got.left + one.left}
			}
			require.Equal(t, want, got)
		})
	}
}

// An asking is our requester on its way through a conversation.
type asking struct {
	c       *conversation
	h       *Host
	on      QueuePair
	now     Time      // of h
	waiting []*caught // answers that the capture has shown and h has not seen
	report
}

func (c *conversation) ask(t *testing.T) report {
	a := &asking{c: c}
	a.h, a.on = c.host(t, hostA, hostB)
	works := a.post(t)
	var end Time
	for k := range c.requests {
		p := &c.requests[k]
		end = p.at
		switch {
		case p.twin && c.isRequest(p):
		case c.isRequest(p):
			a.sent++
			if !a.explain(t, p) {
				a.extra++
				t.Logf("%s: %v at %v is not ours", c.name, p, p.at)
			}
		default:
			a.waiting = append(a.waiting, p)
		}
	}
	a.h = a.fed(len(a.waiting))
	for head, _ := transmit(t, a.h, end); head != nil; head, _ = transmit(t, a.h, end) {
		a.left++
		t.Logf("%s: %v would be sent at the end", c.name, describe(head))
	}
	if a.c.name == "rc-write-100pct-loss" {
		a.h.HandleTimeout(a.h.Deadline())
	}
	a.check(t, works)
	return a.report
}

// fed returns a copy of the host that has seen the first n of the answers that wait.
func (a *asking) fed(n int) *Host {
	h := clone(a.h)
	for _, p := range a.waiting[:n] {
		h.HandlePacket(max(p.at, a.now), a.c.packet(p, hostB, hostA))
	}
	return h
}

// explain looks for a way to send p now: with all answers seen that have come, or without the latest of them, which the
// kernel may not have looked at yet; or after a timeout.
func (a *asking) explain(t *testing.T, p *caught) bool {
	for n := len(a.waiting); n >= 0; n-- {
		h := a.fed(n)
		h.wake(p.at, uint32(a.on)) // the wait of an RNR NAK is over
		if a.sends(t, h, p) {
			if n < len(a.waiting) {
				a.late++
			}
			a.h, a.now, a.waiting = h, p.at, a.waiting[n:]
			return true
		}
	}
	for n := len(a.waiting); n >= 0; n-- {
		h := a.fed(n)
		q := &h.qps[a.on]
		due := h.timerDue(q)
		if q.idle() || q.una == q.high {
			continue
		}
		if due > p.at {
			q.timer = p.at - h.timeout(q)
			h.timers.set(uint32(a.on), p.at)
		}
		h.HandleTimeout(p.at)
		if !a.sends(t, h, p) {
			continue
		}
		if due > p.at {
			a.early++
			t.Logf("%s: %v at %v goes back before our timer", a.c.name, p, p.at)
		} else {
			a.timeouts++
		}
		a.h, a.now, a.waiting = h, p.at, a.waiting[n:]
		return true
	}
	return false
}

// sends tells whether the next packet of h is p.
func (a *asking) sends(t *testing.T, h *Host, p *caught) bool {
	again := h.qps[a.on].again(p.v.PSN)
	head, packet := transmit(t, h, p.at)
	if head == nil || describe(head) != describe(&p.v.Header) {
		return false
	}
	head.DestQP &^= 1 << 20
	theirs := p.v.Header
	if again { // we ask with the first packet after going back
		theirs.AckReq, head.AckReq = false, false
	}
	head.Migrated = false // rxe leaves the migration bit clear
	require.Equal(t, theirs, *head)
	payload := make([]byte, packet.Payload.Length)
	h.ReadAt(packet.Payload.Buffer, packet.Payload.Offset, payload)
	require.Equal(t, p.v.Payload, payload)
	return true
}

// post asks for what A asked for, as its packets tell when they were sent first.
func (a *asking) post(t *testing.T) (works []WorkRequest) {
	var memory []byte
	next := a.c.firstA
	for k := range a.c.requests {
		p := &a.c.requests[k]
		h := &p.v.Header
		if !a.c.isRequest(p) || h.PSN != next {
			continue
		}
		next = next.Add(1)
		if h.Opcode.Starts() {
			works = append(works, WorkRequest{Offset: uint64(len(memory)), Cookie: uint64(len(works))})
		}
		w := &works[len(works)-1]
		memory = append(memory, p.v.Payload...)
		w.Length += uint64(len(p.v.Payload))
		w.Immediate, w.Solicited = h.Immediate, h.Solicited
		switch {
		case h.Opcode == wire.ReadRequest:
			w.Verb, w.Length = Read, uint64(h.RETH.Length)
			next = next.Add(int(max(1, ceilDiv(w.Length, uint64(a.c.mtu)))) - 1)
			memory = append(memory, make([]byte, w.Length)...)
		case h.Opcode == wire.FetchAdd || h.Opcode == wire.CompareSwap:
			w.Verb, w.Add, w.Compare = FetchAdd, h.Atomic.SwapAdd, h.Atomic.Compare
			if h.Opcode == wire.CompareSwap {
				w.Verb = CompareSwap
			}
			w.RemoteKey, w.RemoteOffset = h.Atomic.RKey, h.Atomic.VA
			memory = append(memory, make([]byte, 8)...)
		case h.Opcode.IsWrite() && h.Opcode.HasImmediate():
			w.Verb = WriteImmediate
		case h.Opcode.HasImmediate():
			w.Verb = SendImmediate
		case h.Opcode.IsSend():
			w.Verb = Send
		}
		if h.Opcode.HasRETH() {
			w.RemoteKey, w.RemoteOffset = h.RETH.RKey, h.RETH.VA
		}
	}
	if last := &works[len(works)-1]; len(memory) > 0 && !a.ends(next.Add(-1)) { // refused before its end was sent
		last.Length++
		memory = append(memory, 0)
	}
	buffer := a.h.Register(memory)
	for k := range works {
		works[k].Buffer = buffer
		require.NoError(t, a.h.Post(0, a.on, works[k]))
	}
	return works
}

// ends tells whether the packet with that PSN ended a message.
func (a *asking) ends(number wire.PSN) bool {
	for k := range a.c.requests {
		if p := &a.c.requests[k]; a.c.isRequest(p) && p.v.PSN == number && p.v.Opcode.Ends() {
			return true
		}
	}
	return len(a.c.requests) > 0 && a.c.requests[0].v.Opcode == wire.ReadRequest
}

// check compares how the work requests ended with how they did at the kernel, and what READs and atomics brought.
func (a *asking) check(t *testing.T, works []WorkRequest) {
	brought := map[wire.PSN]*caught{}
	for k := range a.c.requests {
		if p := &a.c.requests[k]; p.v.Opcode.IsReadResponse() || p.v.Opcode == wire.AtomicAcknowledge {
			brought[p.v.PSN] = p
		}
	}
	done := make([]Completion, len(works)+1)
	done = done[:a.h.Completions(done)]
	next := a.c.firstA
	for k, d := range done {
		w := &works[k]
		require.Equal(t, w.Cookie, d.Cookie)
		status := Success
		if a.c.name == "rc-write-100pct-loss" {
			status = RetryExceeded
		}
		if last := a.c.requests[len(a.c.requests)-1].v.AETH.Syndrome; last.IsFatal() {
			status = refusal(last)
		}
		require.Equal(t, status, d.Status)
		if status != Success {
			continue
		}
		packets := int(max(1, ceilDiv(w.Length, uint64(a.c.mtu))))
		memory := a.h.regions[w.Buffer-1].Bytes[w.Offset:]
		switch {
		case w.Verb == Read:
			for n := range packets {
				payload := brought[next.Add(n)].v.Payload
				require.Equal(t, payload, memory[:len(payload)])
				memory = memory[len(payload):]
			}
		case w.Verb.isAtomic():
			packets = 1
			require.Equal(t, brought[next].v.Original, d.Original)
			require.Equal(t, d.Original, binary.LittleEndian.Uint64(memory))
		}
		next = next.Add(packets)
	}
	require.Len(t, done, len(works), "all are done")
}
