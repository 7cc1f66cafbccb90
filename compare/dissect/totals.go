package dissect

import (
	"cmp"
	"slices"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// Totals count the frames of a capture.
type Totals struct {
	Frames, Bytes int64 // bytes on the wire
	UET, RoCE     int64
	Types         map[string]*Count // of UET by PDS type, of RoCE by opcode
	Others        map[string]int64  // what was neither, by name
	Malformed     int64
	BadCheck      int64 // checksum wrong or missing
	NoCheck       int64 // not checked: snapped, trimmed, encrypted
	Snapped       int64
	Trimmed       int64
	Marked        int64 // CE
	Commented     int64
	Dropped       int64 // seen at the interface of what the fabric dropped
	Printed       int64 // matched the filter
}

// A Count counts packets and their payload.
type Count struct{ Packets, Payload int64 }

const maxNames = 256 // of other traffic that are told apart

// add counts a packet.
func (t *Totals) add(p *Packet) {
	t.Frames++
	t.Bytes += int64(p.Frame.Length)
	if p.Frame.Snapped() {
		t.Snapped++
	}
	if len(p.Frame.Comments) > 0 {
		t.Commented++
	}
	if p.Frame.Interface.Name == capture.DropsPort {
		t.Dropped++
	}
	if p.Kind == Other {
		if t.Others == nil {
			t.Others = map[string]int64{}
		}
		if _, known := t.Others[p.Other]; !known && len(t.Others) == maxNames {
			t.Others["more"]++
			return
		}
		t.Others[p.Other]++
		return
	}
	if p.Kind == UET {
		t.UET++
	} else {
		t.RoCE++
	}
	for _, c := range []struct {
		is bool
		to *int64
	}{{p.Malformed != "", &t.Malformed}, {p.Check.Wrong(), &t.BadCheck}, {p.Check == Unchecked, &t.NoCheck}, {p.Trimmed, &t.Trimmed},
		{p.IP.Class.ECN() == encap.CE, &t.Marked}} {
		if c.is {
			*c.to++
		}
	}
	if t.Types == nil {
		t.Types = map[string]*Count{}
	}
	name := p.typeName()
	if t.Types[name] == nil {
		t.Types[name] = &Count{}
	}
	t.Types[name].Packets++
	t.Types[name].Payload += int64(p.Payload)
}

// typeName names the type of a packet in totals and filters: "UET CP CLOSE_CMD", "RoCE WRITE First".
func (p *Packet) typeName() string {
	if p.Kind == RoCE && !p.hasBTH || p.Kind == UET && p.UET.Type == 0 {
		return p.Kind.String() + " unreadable"
	}
	if p.Kind == RoCE {
		return "RoCE " + p.RoCE.Opcode.String()
	}
	name := "UET " + p.UET.Type.String()
	if p.UET.Type == wire.TypeControl && p.UET.Has&wire.HasPDS != 0 {
		name += " " + p.UET.Control.Control.String()
	}
	return name
}

// sorted returns the keys of a map in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
