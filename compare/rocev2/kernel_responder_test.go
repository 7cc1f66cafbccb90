package rocev2

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
)

// regions returns the memory that B had registered, as far as the requests tell: one region for each R_Key, from the
// page of its lowest address to behind the highest byte that was asked for.
func (c *conversation) regions(fill byte) (all []Region) {
	type span struct{ from, to uint64 }
	spans := map[uint32]span{}
	var keys []uint32
	note := func(key uint32, va uint64, length uint32) {
		s, known := spans[key]
		if !known {
			keys = append(keys, key)
			s.from = va
		}
		spans[key] = span{min(s.from, va), max(s.to, va+uint64(length))}
	}
	for k := range c.requests {
		switch h := &c.requests[k].v.Header; {
		case h.Opcode == wire.FetchAdd || h.Opcode == wire.CompareSwap:
			note(h.Atomic.RKey, h.Atomic.VA, 8)
		case h.Opcode.IsRequest() && h.Opcode.HasRETH():
			note(h.RETH.RKey, h.RETH.VA, h.RETH.Length)
		}
	}
	for _, key := range keys {
		s := spans[key]
		base := s.from &^ 4095
		all = append(all, Region{Bytes: affine(int(s.to-base), fill), Base: base, Key: key, Access: AllAccess})
	}
	return all
}

// A serving is what else B had at hand.
type serving struct {
	fill    byte                             // of registered memory
	room    uint64                           // of the receives
	ready   Time                             // when the receives were posted
	regions func(k int, r []Region) []Region // corrects the regions of the k-th conversation
	want    difference
}

// A difference is what our answers differ in from the kernel's.
type difference struct {
	cnps        int // congestion notifications: rxe sends none
	more, fewer int // answers that only we, or only the kernel, sent
}

var servings = map[string]serving{
	"ibv-rc-pingpong": {},
	"rc-send":         {},
	"rc-write":        {},
	"rc-write-ipv6":   {},
	"rc-write-mtu256": {},
	"rc-read":         {fill: 3},
	"rc-rnr":          {ready: 8 * ms},
	"rc-atomic": {regions: func(_ int, r []Region) []Region {
		clear(r[0].Bytes) // as the program did
		return r
	}},
	"perftest-atomic-cas":        {}, // memory as it was left by others: see below
	"rc-nak":                     {room: 100, regions: nakRegions},
	"rc-write-loss1pct-veth1":    {},
	"rc-send-loss1pct-veth1":     {},
	"rc-write-corrupt5pct-veth1": {},
	"rc-write-dup10pct-veth1":    {},
	"rc-write-red-ecn-veth1":     {want: difference{cnps: 123}},
}

// nakRegions gives B what it had when it refused: the key 0xdeadbe00 is nobody's; the fourth and fifth connections
// have a region of one page without the right to be read.
func nakRegions(k int, r []Region) []Region {
	switch k {
	case 0, 1:
		r[0].Key = 1
	case 3, 4:
		r[0].Bytes, r[0].Access = make([]byte, 4096), LocalWrite|RemoteWrite
	}
	return r
}

// The responder, fed with the requests that reached the kernel's, sends the same answers: PSN, opcode, syndrome, MSN,
// the payload of READ responses, the value of atomics.
func TestKernelResponder(t *testing.T) {
	for name, s := range servings {
		t.Run(name, func(t *testing.T) {
			for k, c := range conversations(t, name) {
				c.serve(t, k, s)
			}
		})
	}
}

// server makes B with its memory.
func (c *conversation) server(t *testing.T, k int, s serving) (*Host, QueuePair) {
	h, on := c.host(t, hostB, hostA)
	registered := c.regions(s.fill)
	if s.regions != nil {
		registered = s.regions(k, registered)
	}
	if c.name == "perftest-atomic-cas" {
		c.leftovers(registered[0])
	}
	for _, r := range registered {
		_, err := h.RegisterRegion(r)
		require.NoError(t, err)
	}
	if len(registered) == 0 { // a host without regions would take every key
		h.Register(nil)
	}
	return h, on
}

// answers feeds h with a request and returns what it says to that.
func (c *conversation) answers(t *testing.T, h *Host, p *caught) (all []string, cnps int) {
	h.HandlePacket(p.at, c.packet(p, hostA, hostB))
	for head, sent := transmit(t, h, p.at); head != nil; head, sent = transmit(t, h, p.at) {
		if head.Opcode == wire.CongestionNotification {
			cnps++
			continue
		}
		payload := make([]byte, sent.Payload.Length)
		if sent.Payload.Buffer != 0 {
			h.ReadAt(sent.Payload.Buffer, sent.Payload.Offset, payload)
		}
		all = append(all, describe(head)+string(payload))
	}
	return all, cnps
}

func (c *conversation) serve(t *testing.T, k int, s serving) {
	h, on := c.server(t, k, s)
	room := s.room
	if room == 0 {
		room = 8192
	}
	ready := func() {
		for range c.requests {
			require.NoError(t, h.PostReceive(0, on, Buffer{Length: room}))
		}
	}
	if s.ready == 0 {
		ready()
	}
	var ours, theirs []string
	var got difference
	for k := range c.requests {
		p := &c.requests[k]
		if !c.isRequest(p) {
			theirs = append(theirs, describe(&p.v.Header)+string(p.v.Payload))
			continue
		}
		if s.ready != 0 && p.at >= s.ready {
			ready()
			s.ready = 0
		}
		answers, cnps := c.answers(t, h, p)
		ours = append(ours, answers...)
		got.cnps += cnps
	}
	common := lcs(ours, theirs)
	got.more, got.fewer = len(ours)-common, len(theirs)-common
	if got != s.want {
		t.Errorf("%s: %d answers of ours, %d of the kernel, %d the same, %d CNPs; pinned: %+v", c.name, len(ours), len(theirs), common, got.cnps, s.want)
		for k := range max(len(ours), len(theirs)) {
			if k >= len(ours) || k >= len(theirs) || ours[k] != theirs[k] {
				t.Errorf("first at %d: %.60q and %.60q", k, ours[min(k, len(ours)):min(k+3, len(ours))], theirs[min(k, len(theirs)):min(k+3, len(theirs))])
				break
			}
		}
	}
	require.NoError(t, h.Audit())
}

// The READs under loss were captured at A only, so which requests and which answers were lost is inferred: a
// request did not arrive if what we would answer is not among the kernel's next answers. The IP identification, which
// the kernel counts up, tells how many answers were lost.
func TestKernelResponderAcrossLoss(t *testing.T) {
	c := conversations(t, "rc-read-loss1pct-veth0")[0]
	h, _ := c.server(t, 0, serving{fill: 9})
	var theirs []string
	lost, last := 0, uint16(0)
	for k := range c.requests {
		if p := &c.requests[k]; !c.isRequest(p) {
			if last != 0 {
				lost += int(p.v.IP.ID - last - 1)
			}
			last = p.v.IP.ID
			theirs = append(theirs, describe(&p.v.Header)+string(p.v.Payload))
		}
	}
	requests, requestsLost, answersLost := 0, 0, 0
	for k := range c.requests {
		p := &c.requests[k]
		if !c.isRequest(p) {
			continue
		}
		requests++
		without := clone(h)
		answers, _ := c.answers(t, h, p)
		seen := 0
		for _, answer := range answers {
			if len(theirs) > 0 && answer == theirs[0] {
				theirs = theirs[1:]
				seen++
			}
		}
		if len(answers) > 0 && seen == 0 {
			h = without
			requestsLost++
			continue
		}
		answersLost += len(answers) - seen
	}
	require.Empty(t, theirs, "answers of the kernel that we would not have given")
	require.Equal(t, []int{48, 1, 5}, []int{requests, requestsLost, answersLost})
	require.Equal(t, 6, lost, "the sixth, between the two answers about PSN 575, answers no request that A sent")
}

// leftovers puts into memory what the first answer for each address says was there.
func (c *conversation) leftovers(r Region) {
	asked := map[wire.PSN]uint64{}
	for k := range c.requests {
		switch h := &c.requests[k].v.Header; h.Opcode {
		case wire.CompareSwap:
			asked[h.PSN] = h.Atomic.VA
		case wire.AtomicAcknowledge:
			binary.LittleEndian.PutUint64(r.Bytes[asked[h.PSN]-r.Base:], h.Original)
		}
	}
}

// lcs returns the length of the longest common subsequence.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		before := 0
		for j, y := range b {
			above := row[j+1]
			switch {
			case x == y:
				row[j+1] = before + 1
			case row[j] > row[j+1]:
				row[j+1] = row[j]
			}
			before = above
		}
	}
	return row[len(b)]
}
