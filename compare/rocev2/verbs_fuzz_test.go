package rocev2

import (
	"testing"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// nothing is a memory of zeros.
type nothing struct{}

func (nothing) ReadAt(uint32, uint64, []byte) {}

// FuzzVerbs feeds a host with work of all kinds under way arbitrary packets on its connected queue pair, between packets of
// its own: it never panics, its books hold, nothing completes twice, and what it keeps for the peer is bounded.
//
// The input is a list of packets, each with a head of 4 bytes: what to do before, header bytes, time in us, payload
// bytes by 8.
func FuzzVerbs(f *testing.F) {
	for _, name := range []string{"rc-send", "rc-write", "rc-read", "rc-atomic", "rc-rnr", "rc-nak", "ud-send"} {
		var session []byte
		for _, c := range conversations(f, name) {
			for k := range c.requests {
				h := &c.requests[k].v.Header
				header := h.Append(nil, wire.Standard)
				head := byte(0x21)
				switch {
				case h.Opcode.IsDatagram():
					head = 0x24
				case !h.Opcode.IsRequest():
					head = 0x23
				}
				session = append(session, head, byte(len(header)), 30, byte(len(c.requests[k].v.Payload)/8))
				session = append(session, header...)
			}
		}
		f.Add(session, uint8(0))
		f.Add(session, uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, mode uint8) {
		c := testConfig()
		c.NakBehindRNR, c.ReadResumes, c.MaxReads = mode&1 != 0, mode&2 != 0, int(mode>>2&3)+1
		c.Remote = func(core.Addr) core.Memory { return nothing{} }
		h, err := New(1, c)
		if err != nil {
			t.Fatal(err)
		}
		on, err := h.Connect(Connection{Peer: 2, QPN: 0x100000, PeerQPN: 0x200000, SendPSN: 0xFFFFFE, ReceivePSN: 0x100})
		if err != nil {
			t.Fatal(err)
		}
		buffer, err := h.RegisterRegion(Region{Bytes: make([]byte, 1<<15), Base: 1 << 12, Key: 0x576, Access: AllAccess})
		if err != nil {
			t.Fatal(err)
		}
		mail, err := h.OpenDatagrams(0x300000, 0x11111111, 0)
		if err != nil {
			t.Fatal(err)
		}
		posted := 0
		for v := Write; v < Datagram; v++ {
			for range 2 {
				if err := h.Post(0, on, WorkRequest{Verb: v, Buffer: buffer, Length: 5000, Cookie: uint64(posted)}); err != nil {
					t.Fatal(err)
				}
				if err := h.PostReceive(0, on, Buffer{Handle: buffer, Length: 3000}); err != nil {
					t.Fatal(err)
				}
				posted++
			}
			if err := h.PostReceive(0, mail, Buffer{Handle: buffer, Length: 1024}); err != nil {
				t.Fatal(err)
			}
		}
		now, packets := Time(0), 0
		var out core.Packet
		for len(data) > 4 {
			for k := 0; k < int(data[0]>>4); k++ {
				h.Transmit(now, core.Pull{Open: core.AllClasses}, &out)
			}
			size := min(int(data[1]&63), len(data)-4)
			p := core.Packet{From: 2, To: 1, HeaderLen: uint8(size), ECN: core.ECN(data[2] & 3)}
			p.Payload = core.Payload{Owner: 2, Buffer: 1, Length: uint32(data[3]) * 8}
			copy(p.Header[:], data[4:4+size])
			if data[0]&1 != 0 { // to the queue pair that exists
				copy(p.Header[5:8], []byte{0x10, 0, 0})
			}
			if data[0]&4 != 0 {
				copy(p.Header[5:8], []byte{0x30, 0, 0})
			}
			if data[0]&2 != 0 { // about what was sent
				copy(p.Header[9:11], []byte{0, 0})
			}
			now += Time(data[2]) * us
			h.HandlePacket(now, &p)
			packets++
			if h.Deadline() <= now {
				h.HandleTimeout(now)
			}
			if err := h.Audit(); err != nil {
				t.Fatal(err)
			}
			data = data[4+size:]
		}
		if len(h.replies) > packets+2 || len(h.replays) != 2*c.MaxReads {
			t.Fatalf("%d replies and %d replays after %d packets", len(h.replies), len(h.replays), packets)
		}
		seen := map[uint64]bool{}
		var done [64]Completion
		for _, d := range done[:h.Completions(done[:])] {
			if d.Verb == Receive {
				continue
			}
			if seen[d.Cookie] {
				t.Fatalf("work request %d completed twice", d.Cookie)
			}
			seen[d.Cookie] = true
		}
	})
}
