package dissect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// endless makes a capture of n frames on the fly, so that no test holds a large one.
type endless struct {
	n, at int
	make  func(i int) []byte
	rest  []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.at > e.n {
			return 0, io.EOF
		}
		if e.at == 0 { // head of a pcap file, nanoseconds, raw IP
			e.rest = []byte{0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, byte(capture.LinkRaw), 0, 0, 0}
		} else {
			frame := e.make(e.at - 1)
			n := byte(len(frame))
			at := uint32(e.at)
			e.rest = append([]byte{0, 0, 0, 0, byte(at), byte(at >> 8), byte(at >> 16), 0, n, 0, 0, 0, n, 0, 0, 0}, frame...)
		}
		e.at++
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *endless) dump(t *testing.T) *Dump {
	in, err := capture.NewReader(e)
	require.NoError(t, err)
	d := newDump(nil)
	require.NoError(t, d.Run(context.Background(), in, bufio.NewWriter(io.Discard)))
	return d
}

// More PDCs than are remembered: the ones idle longest go, and what they did stays in the sums.
func TestContextsAreBounded(t *testing.T) {
	const n = maxContexts + 5000
	film := &endless{n: n, make: func(i int) []byte {
		src := netip.AddrFrom4([4]byte{10, 2, byte(i >> 8), byte(i)})
		return packet(encap.UETUDP, src, hostB, 0, 10, request(0, wire.RequestSyn), write(1, whole, 0, 0, 10))
	}}
	d := film.dump(t)
	require.Len(t, d.Tracker.Contexts(), maxContexts)
	require.EqualValues(t, 5000, d.Tracker.Forgotten[UET])
	require.EqualValues(t, n, flows(d).Packets+d.Tracker.Rest[UET].Packets)
	require.LessOrEqual(t, len(d.Tracker.byKey), 2*maxContexts)
	require.Contains(t, summary(d), "5000 more")
}

// One flow for ever: its window does not grow beyond what is under way.
func TestWindowIsBounded(t *testing.T) {
	film := &endless{n: 3 * maxWindow, make: func(i int) []byte {
		return packet(encap.UETUDP, hostA, hostB, 0, 10, request(uint32(i), 0), write(uint16(i), whole, 0, 0, 10))
	}}
	d := film.dump(t)
	c := d.Tracker.Contexts()[0]
	require.Len(t, c.Flows[0].slots, maxWindow)
	require.LessOrEqual(t, len(c.Flows[0].open), maxOpen)
	require.EqualValues(t, 3*maxWindow, c.Flows[0].Packets)

	acked := &endless{n: 4000, make: func(i int) []byte {
		if i%2 == 1 {
			return packet(encap.UETUDP, hostB, hostA, 0, 0, ack(i/2, 0))
		}
		return packet(encap.UETUDP, hostA, hostB, 0, 10, request(uint32(i/2), 0), write(uint16(i), whole, 0, 0, 10))
	}}
	d = acked.dump(t)
	c = d.Tracker.Contexts()[0]
	require.Len(t, c.Flows[0].slots, 64, "little is ever under way")
	require.EqualValues(t, 2000, c.Flows[0].Messages)
	require.EqualValues(t, 2000, c.Flows[0].RTT.N)
}

// RUDI has no contexts: the latest requests are remembered, each answer finds its own.
func TestIdempotentRequests(t *testing.T) {
	const n = 2*maxRUDI + 10
	film := &endless{n: n, make: func(i int) []byte {
		return packet(encap.UETUDP, hostA, hostB, 0, 10, &wire.RUDI{Type: wire.TypeRUDI, Next: wire.NextSmall, PacketID: uint32(i)}, &wire.Small{Opcode: wire.OpWrite, RequestLength: 10})
	}}
	d := film.dump(t)
	require.Len(t, d.Tracker.requests, maxRUDI)
	require.Contains(t, d.Tracker.requests, rudiKey{0, hostA, hostB, n - 1})
	require.NotContains(t, d.Tracker.requests, rudiKey{0, hostA, hostB, n - 1 - maxRUDI})
}

// PSNs wrap, for UET after 2^32 and for nobody before.
func TestWrap(t *testing.T) {
	film := &endless{n: 400, make: func(i int) []byte {
		if i%2 == 1 {
			return packet(encap.UETUDP, hostB, hostA, 0, 0, ack(-1100+i/2, 0))
		}
		return packet(encap.UETUDP, hostA, hostB, 0, 10, request(uint32(i/2-1100), 0), write(uint16(i), whole, 0, 0, 10))
	}}
	d := film.dump(t)
	s := flows(d)
	require.EqualValues(t, []int64{200, 200, 0, 0}, []int64{s.Packets, s.Messages, s.Gaps, s.Again})
}

// What a flow says of its packets, one case after the other.
func TestFlowNotes(t *testing.T) {
	budget := maxSlots
	f := &flow{bits: 24, budget: &budget}
	var p Packet
	pass := func(psn uint32, at int, sum uint32, resent bool) string {
		p = Packet{Frame: &capture.Frame{Number: int64(at)}}
		f.pass(&p, passing{psn: f.extend(psn), now: 1e6, frame: int64(at), sum: sum, resent: resent})
		if len(p.Notes) == 0 {
			return ""
		}
		return p.Notes[0].Text
	}
	require.Empty(t, pass(0xfffffe, 1, 1, false))
	require.Empty(t, pass(0xffffff, 2, 2, false))
	require.Equal(t, "gap: 2 PSNs before it not seen", pass(2, 3, 3, false), "the PSN wraps")
	require.Equal(t, "fills a gap, 2 PSNs late", pass(0, 4, 4, false))
	require.Equal(t, "fills a gap, 1 PSN late: retransmission", pass(1, 5, 5, true))
	require.Equal(t, "copy of frame 5, made by the network", pass(1, 6, 5, false))
	require.Equal(t, "retransmission of frame 3, after 0 ns", pass(2, 7, 9, false))
	require.NotNil(t, f.settle(f.extend(2), 8))
	require.Nil(t, f.settle(f.extend(2), 9), "no news")
	require.Equal(t, "spurious retransmission of frame 3: acknowledged in frame 8", pass(2, 9, 10, true))
	require.Equal(t, "from before the capture", pass(0xfffff0, 10, 11, false))
	require.Equal(t, "PSN jumps by 99997", pass(100000, 11, 12, false))
	require.EqualValues(t, 0, f.Missing)
	require.EqualValues(t, []int64{2, 2, 4, 1, 1}, []int64{f.Gaps, f.Late, f.Again, f.Spurious, f.Copies})
}

func TestFilter(t *testing.T) {
	file := read(t, uetCaptures+"60-probe-target.pcap")
	for text, want := range map[string]int64{
		"uet": 118, "roce": 0, "pdc=120": 4, "pdc=0x78": 4, "qp=1": 0, "host=10.9.0.1": 118, "host=10.9.0.9": 0, "type=nack": 16, "type=rud_req,pdc=119": 43,
		"frame=10": 1, "frame=3..12": 10, "frame=84..85,trouble": 2, "uet, frame=4": 1,
	} {
		d := newDump(&Lines{})
		var err error
		d.Filter, err = ParseFilter(text)
		require.NoError(t, err, text)
		_, err = dump(t, file, d)
		require.NoError(t, err)
		require.Equal(t, want, d.Totals.Printed, text)
		require.EqualValues(t, 123, d.Totals.Frames)
	}
	for text, why := range map[string]string{
		"uet=1": "uet takes no value", "pdc=x": "pdc=x: expected a number", "host=here": "expected an IP address", "frame=9..3": "expected a number, or two",
		"type=": "expected a part of a type's name", "rdma": `there is no "rdma"; expected one or more of uet`, "": `there is no ""`,
	} {
		_, err := ParseFilter(text)
		require.ErrorContains(t, err, why, text)
	}
}

// An interrupt ends the reading between two frames.
func TestInterrupt(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	in, err := capture.NewReader(bytes.NewReader(read(t, uetCaptures+"01-rud-send-open-close.pcap")))
	require.NoError(t, err)
	require.True(t, errors.Is(newDump(nil).Run(ctx, in, bufio.NewWriter(io.Discard)), ErrInterrupted))
}
