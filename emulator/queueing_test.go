package emulator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// A poisson Stack sends packets of one size to host 0 at random instants, and notes how long those that it
// gets were under way: the instant of sending travels in the header.
type poisson struct {
	self  core.Addr
	mean  Time // between two packets; 0: sends nothing
	left  int
	next  Time
	due   Time // next, until the card was told
	rand  rng
	got   int
	total Time
}

func (s *poisson) HandlePacket(now Time, p *core.Packet) {
	var sent Time
	for _, b := range p.Header[4:12] {
		sent = sent<<8 | Time(b)
	}
	s.got++
	s.total += now - sent
}

func (s *poisson) HandleTimeout(Time) { s.due = Never }

func (s *poisson) Deadline() Time {
	if s.mean == 0 || s.left == 0 {
		return Never
	}
	return s.due
}

func (s *poisson) Transmit(now Time, _ core.Pull, p *core.Packet) bool {
	if s.mean == 0 || s.left == 0 || s.next > now {
		return false
	}
	*p = core.Packet{From: s.self, Proto: core.ProtoTest, HeaderLen: 12, Payload: core.Payload{Length: 4096 - 12}}
	for i := range 8 {
		p.Header[4+i] = byte(s.next >> (56 - 8*i)) // when it was made; the card may have been busy
	}
	s.left--
	s.next += Time(float64(s.mean) * exponential(s.rand.next()))
	s.due = s.next
	return true
}

// TestWaitIsThatOfMD1 has many hosts send to one at random: packets of one size from a Poisson process meet
// one server, so that they wait for rho/(2(1-rho)) of their length on average (Pollaczek, Khinchine).
func TestWaitIsThatOfMD1(t *testing.T) {
	const hosts, packet = 33, 332_800 // 4160 bytes at 100 Gbit/s
	for _, rho := range []float64{0.3, 0.6, 0.8} {
		n := build(t, "single", nil, Spec{Hosts: hosts, RateBps: 100e9, LinkDelay: us})
		f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64, BufferBytes: 256 << 20})
		require.NoError(t, err)
		all := make([]*poisson, hosts)
		for h := range all {
			all[h] = &poisson{self: core.Addr(h), left: 3000, rand: rng{derive(11, uint64(h))}}
			if h > 0 {
				all[h].mean = Time(packet / rho * (hosts - 1))
				all[h].next = Time(float64(all[h].mean) * exponential(all[h].rand.next()))
				all[h].due = all[h].next
			}
			f.Attach(h, all[h], core.ProtoTest, 1)
		}
		run(t, f, Never-1)
		require.Equal(t, (hosts-1)*3000, all[0].got)
		wait := float64(all[0].total)/float64(all[0].got) - 2*(packet+us)
		atCard := rho / (hosts - 1) // of one host alone
		want := packet * (rho/(2*(1-rho)) + atCard/(2*(1-atCard)))
		require.InEpsilon(t, want, wait, 0.05, "rho %g", rho)
	}
}
