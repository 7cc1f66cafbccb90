package crosscheck

import (
	"encoding/binary"

	rocewire "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/wire"
)

// A weather decides what becomes of the packets that arrive at one host.
type weather struct {
	s       *Scenario
	host    uint64
	control uint64            // packets so far
	copies  map[uint32]uint64 // of data, by sequence number
	free    core.Time         // when the link has sent what came before
	lost    uint64            // of data
	late    uint64
}

func newWeather(s *Scenario, host int) *weather {
	return &weather{s: s, host: uint64(host), copies: make(map[uint32]uint64)}
}

// fate returns whether a packet that is sent now is lost, and else how long it is under way.
func (w *weather) fate(now core.Time, p *core.Packet) (lost bool, after core.Time) {
	kind, number, copies := uint64(0), uint64(0), uint64(0)
	if psn, data := sequence(p); data {
		kind, number, copies = 1, uint64(psn), w.copies[psn]
		w.copies[psn]++
	} else {
		number = w.control
		w.control++
	}
	x := splitmix.Mix(w.s.Seed)
	for _, v := range [...]uint64{w.host, kind, number, copies} {
		x = splitmix.Mix(x ^ v)
	}
	unit := func(of uint64) float64 { return float64(splitmix.Mix(x^of)>>11) / (1 << 53) }
	if unit(1) < w.s.Loss {
		w.lost += kind
		return true, 0
	}
	w.free = max(w.free, now) + core.Time(8*p.Bytes())*instant.Second/core.Time(w.s.RateBps)
	after = w.free - now + instant.FromDuration(w.s.RTT)/2
	if unit(2) < w.s.Reorder {
		w.late += kind
		after += instant.FromDuration(w.s.ReorderBy)
	}
	return false, after
}

// sequence returns the number of a packet that carries a message; false for all others.
func sequence(p *core.Packet) (psn uint32, data bool) {
	b := p.Header[:p.HeaderLen]
	switch p.Proto {
	case core.ProtoUET:
		if first, why := wire.ParsePrologue(b); why == wire.OK && first.Type().IsRequest() && len(b) >= wire.RequestSize {
			return binary.BigEndian.Uint32(b[4:]), true
		}
	case core.ProtoRoCE:
		if len(b) >= rocewire.BTHSize && rocewire.Opcode(b[0]).IsWrite() {
			return binary.BigEndian.Uint32(b[8:]) & 0xffffff, true
		}
	}
	return 0, false
}
