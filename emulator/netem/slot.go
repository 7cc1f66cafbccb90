package netem

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
)

// attempt is what the kernel does whenever it looks for a packet to send: a slot that began before the first
// packet is due has passed unused, and the next one is awaited.
func (m *Model) attempt(now Time) {
	if m.p.Slot.On() && m.slotNext < m.waiting[0].At {
		m.nextSlot(now)
	}
}

func (m *Model) nextSlot(now Time) {
	s := &m.p.Slot
	wait := s.Min
	if s.Distribution != nil {
		wait = draw(s.Delay, s.Jitter, s.Distribution, &correlated{}, &m.rand)
	} else if span := uint64((s.Max - s.Min) / instant.Nanosecond); span > 0 {
		wait += Time(uint64(m.place.next())*span>>32) * instant.Nanosecond
	}
	m.slotNext = now + max(wait, 0)
	m.renewSlot()
}

func (m *Model) renewSlot() {
	m.slotPackets, m.slotBytes = m.p.Slot.Packets, m.p.Slot.Bytes
	if m.slotPackets == 0 {
		m.slotPackets = math.MaxInt
	}
	if m.slotBytes == 0 {
		m.slotBytes = math.MaxInt
	}
}
