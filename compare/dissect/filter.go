package dissect

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Filter chooses packets: all of its terms must hold. The zero Filter lets all through.
type Filter []term

type term func(p *Packet) bool

// FilterHelp lists the terms.
const FilterHelp = "uet, roce, pdc=N, qp=N, host=ADDRESS, type=TEXT, frame=N or N..M, noted, trouble"

// ParseFilter reads terms separated by commas.
func ParseFilter(text string) (f Filter, err error) {
	for _, t := range strings.Split(text, ",") {
		t = strings.TrimSpace(t)
		name, value, _ := strings.Cut(t, "=")
		var one term
		switch name {
		case "uet", "roce", "noted", "trouble":
			if t != name {
				return nil, fmt.Errorf("%s takes no value", name)
			}
			one = plainTerms[name]
		case "pdc", "qp":
			id, err := strconv.ParseUint(value, 0, 24)
			if err != nil {
				return nil, fmt.Errorf("%s=%s: expected a number such as %s=17 or %s=0x11", name, value, name, name)
			}
			kind := map[string]Kind{"pdc": UET, "qp": RoCE}[name]
			one = func(p *Packet) bool { return p.Kind == kind && p.has(uint32(id)) }
		case "host":
			addr, err := netip.ParseAddr(value)
			if err != nil {
				return nil, fmt.Errorf("host=%s: expected an IP address", value)
			}
			one = func(p *Packet) bool { return p.IP.Src == addr || p.IP.Dst == addr }
		case "type":
			if value == "" {
				return nil, fmt.Errorf("type=: expected a part of a type's name, such as type=nack or type=write")
			}
			want := strings.ToLower(value)
			one = func(p *Packet) bool { return strings.Contains(strings.ToLower(p.typeName()), want) }
		case "frame":
			low, high, is := strings.Cut(value, "..")
			if !is {
				high = low
			}
			first, err1 := strconv.ParseInt(low, 10, 64)
			last, err2 := strconv.ParseInt(high, 10, 64)
			if err1 != nil || err2 != nil || first > last {
				return nil, fmt.Errorf("frame=%s: expected a number, or two as in frame=10..20", value)
			}
			one = func(p *Packet) bool { return p.Frame.Number >= first && p.Frame.Number <= last }
		default:
			return nil, fmt.Errorf("there is no %q; expected one or more of %s", t, FilterHelp)
		}
		f = append(f, one)
	}
	return f, nil
}

var plainTerms = map[string]term{
	"uet":     func(p *Packet) bool { return p.Kind == UET },
	"roce":    func(p *Packet) bool { return p.Kind == RoCE },
	"noted":   func(p *Packet) bool { return p.worst() >= Notable },
	"trouble": func(p *Packet) bool { return p.worst() >= Trouble },
}

// has tells whether a packet names that number, or belongs to a context in which an end has it.
func (p *Packet) has(id uint32) bool {
	if c := p.Context; c != nil && (c.Ends[0].Known && c.Ends[0].ID == id || c.Ends[1].Known && c.Ends[1].ID == id) {
		return true
	}
	if p.Kind == RoCE {
		return p.RoCE.DestQP == id || p.RoCE.Opcode.HasDETH() && p.RoCE.DETH.SourceQP == id
	}
	from, to := pdcids(&p.UET)
	return uint32(from) == id || uint32(to) == id
}

func (f Filter) match(p *Packet) bool {
	for _, t := range f {
		if !t(p) {
			return false
		}
	}
	return true
}
