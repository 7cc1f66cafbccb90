package live

import "github.com/weft-transport/weft/transport/core"

// flights are the parcels in the network, by a number that their packets carry as the buffer of their payload: 0 is none.
type flights struct {
	all    []*parcel
	unused []uint32
}

// depart gives a packet its parcel.
func (f *flights) depart(p *core.Packet, x *parcel) {
	if last := len(f.unused) - 1; last >= 0 {
		p.Payload.Buffer = f.unused[last]
		f.unused = f.unused[:last]
	} else {
		f.all = append(f.all, nil)
		p.Payload.Buffer = uint32(len(f.all))
	}
	f.all[p.Payload.Buffer-1] = x
}

// of returns the parcel of a packet; nil: it has none.
func (f *flights) of(p *core.Packet) *parcel {
	if p.Payload.Buffer == 0 {
		return nil
	}
	return f.all[p.Payload.Buffer-1]
}

// end takes the parcel of a packet away.
func (f *flights) end(p *core.Packet) *parcel {
	x := f.of(p)
	if x != nil {
		f.all[p.Payload.Buffer-1] = nil
		f.unused = append(f.unused, p.Payload.Buffer)
	}
	return x
}
