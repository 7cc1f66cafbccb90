package dissect

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A field is a named value of a header, with its place in the frame.
type field struct {
	key      string // of JSON
	at, size int    // bytes, from the first one of the frame; size 0: follows from others
	value    any    // uint64, int64, bool, string, []string
	text     string // of the tree, behind the value; "" if that says all
}

// A layer is a header.
type layer struct {
	key      string // of JSON
	title    string
	at, size int
	fields   []field
}

// num adds a number at an offset of the layer.
func (l *layer) num(key string, at, size int, v uint64) { l.add(key, at, size, v, "") }

// hex adds a number that JSON shows as a string, because it may need more than 53 bits or is no quantity.
func (l *layer) hex(key string, at, size int, v uint64) {
	l.add(key, at, size, fmt.Sprintf("0x%0*x", 2*size, v), "")
}

// word adds a code point by its name, with its number in the tree.
func (l *layer) word(key string, at, size int, name fmt.Stringer, number uint64) {
	text := "(" + strconv.FormatUint(number, 10) + ")"
	if name.String() == strconv.FormatUint(number, 10) {
		text = "(reserved)"
	}
	l.add(key, at, size, name.String(), text)
}

// flags adds a list of flags.
func (l *layer) flags(key string, at, size int, text string) {
	list := []string{}
	if text != "0" {
		list = strings.Split(text, "+")
	}
	l.add(key, at, size, list, "")
}

func (l *layer) add(key string, at, size int, value any, text string) {
	l.fields = append(l.fields, field{key, l.at + at, size, value, text})
}

// layers returns the headers of a packet in the order of the frame.
func (p *Packet) layers() (all []layer) {
	if link := p.linkLayer(); len(link.fields) > 0 {
		all = append(all, link)
	}
	all = append(all, p.ipLayer(), p.transportLayer())
	at := p.Link.Size + p.IP.Payload
	if p.Kind == RoCE {
		return append(all, p.roceLayers(at)...)
	}
	return append(all, p.uetLayers(at)...)
}

func (p *Packet) linkLayer() layer {
	k := &p.Link
	l := layer{key: "link", title: p.Frame.Interface.Link.String(), size: k.Size}
	if k.HasMAC && k.Dst != ([6]byte{}) {
		l.add("dst_mac", 0, 6, mac(k.Dst), "")
		l.add("src_mac", 6, 6, mac(k.Src), "")
	} else if k.HasMAC {
		l.add("src_mac", 0, 0, mac(k.Src), "")
	}
	var ids []string
	for _, t := range k.Tags {
		ids = append(ids, strconv.Itoa(int(t.ID)))
	}
	if len(ids) > 0 {
		at := k.Size - 4*len(ids)
		text := ""
		for _, t := range k.Tags {
			text += fmt.Sprintf(" type 0x%04x priority %d", t.Type, t.Priority)
			if t.Drop {
				text += " drop eligible"
			}
		}
		l.add("vlan", at-2, 4*len(ids), ids, text[1:])
	}
	return l
}

func mac(b [6]byte) string {
	text := hex.EncodeToString(b[:])
	for i := 10; i > 0; i -= 2 {
		text = text[:i] + ":" + text[i:]
	}
	return text
}

func (p *Packet) ipLayer() layer {
	h := &p.IP
	if h.IsIPv4() {
		l := layer{key: "ip", title: "IPv4", at: p.Link.Size, size: h.Transport}
		l.num("dscp", 1, 1, uint64(h.Class.DSCP()))
		l.add("ecn", 1, 1, h.Class.ECN().String(), "")
		l.num("id", 4, 2, uint64(h.ID))
		l.add("df", 6, 2, h.DF, "")
		l.num("ttl", 8, 1, uint64(h.TTL))
		l.num("protocol", 9, 1, uint64(h.Protocol))
		l.add("src", 12, 4, h.Src.String(), "")
		l.add("dst", 16, 4, h.Dst.String(), "")
		return l
	}
	l := layer{key: "ip", title: "IPv6", at: p.Link.Size, size: h.Transport}
	l.num("dscp", 0, 2, uint64(h.Class.DSCP()))
	l.add("ecn", 0, 2, h.Class.ECN().String(), "")
	l.num("flow_label", 0, 4, uint64(h.FlowLabel))
	l.num("protocol", 6, 1, uint64(h.Protocol))
	l.num("ttl", 7, 1, uint64(h.TTL))
	l.add("src", 8, 16, h.Src.String(), "")
	l.add("dst", 24, 16, h.Dst.String(), "")
	return l
}

func (p *Packet) transportLayer() layer {
	h := &p.IP
	l := layer{key: "encap", title: h.Kind.String(), at: p.Link.Size + h.Transport, size: h.Payload - h.Transport}
	l.add("encapsulation", 0, 0, h.Kind.String(), "")
	l.add("entropy", 0, 2, uint64(h.Entropy), fmt.Sprintf("0x%04x", h.Entropy))
	if h.Kind != encap.UETNative {
		l.num("dst_port", 2, 2, uint64(h.DstPort))
		if h.UDPChecksum != 0 {
			l.hex("udp_checksum", 6, 2, uint64(h.UDPChecksum))
		}
	}
	return l
}

func (p *Packet) roceLayers(at int) []layer {
	h := &p.RoCE
	b := layer{key: "bth", title: "BTH", at: at, size: roce.BTHSize}
	if !p.hasBTH {
		return nil
	}
	b.word("opcode", 0, 1, h.Opcode, uint64(h.Opcode))
	b.flags("flags", 1, 8, bthFlags(&h.BTH))
	b.num("pad", 1, 1, uint64(h.Pad))
	b.hex("pkey", 2, 2, uint64(h.PKey))
	b.hex("dest_qp", 5, 3, uint64(h.DestQP))
	b.num("psn", 9, 3, uint64(h.PSN))
	all := []layer{b}
	if p.partial() && p.Headers == 0 {
		return all
	}
	at += roce.BTHSize
	next := func(key, title string, size int) *layer {
		all = append(all, layer{key: key, title: title, at: at, size: size})
		at += size
		return &all[len(all)-1]
	}
	o := h.Opcode
	if o.HasDETH() {
		l := next("deth", "DETH", roce.DETHSize)
		l.hex("qkey", 0, 4, uint64(h.DETH.QKey))
		l.hex("src_qp", 5, 3, uint64(h.DETH.SourceQP))
	}
	if o == roce.Flush {
		next("feth", "FETH", roce.FETHSize).hex("flush", 3, 1, uint64(h.Flush))
	}
	if p.hasRETH {
		l := next("reth", "RETH", roce.RETHSize)
		l.hex("va", 0, 8, h.RETH.VA)
		l.hex("rkey", 8, 4, uint64(h.RETH.RKey))
		l.num("length", 12, 4, uint64(h.RETH.Length))
	}
	if o == roce.CompareSwap || o == roce.FetchAdd {
		l := next("atomic_eth", "AtomicETH", roce.AtomicETHSize)
		l.hex("va", 0, 8, h.Atomic.VA)
		l.hex("rkey", 8, 4, uint64(h.Atomic.RKey))
		l.hex("swap_add", 12, 8, h.Atomic.SwapAdd)
		l.hex("compare", 20, 8, h.Atomic.Compare)
	}
	if o.HasAETH() {
		s := h.AETH.Syndrome
		l := next("aeth", "AETH", roce.AETHSize)
		l.add("syndrome", 0, 1, s.String(), fmt.Sprintf("0x%02x", uint8(s)))
		if n, counts := s.Credits(); counts {
			l.num("credits", 0, 1, uint64(n))
		}
		if s.IsRNR() {
			l.num("rnr_wait_ns", 0, 1, uint64(s.RNRWait().Duration()))
		}
		l.num("msn", 1, 3, uint64(h.AETH.MSN))
		if o == roce.AtomicAcknowledge {
			next("atomic_ack_eth", "AtomicAckETH", roce.AtomicAckSize).hex("original", 0, 8, h.Original)
		}
		if s == roce.NakSelective {
			l := next("selective", "selective NAK (not in the standard)", roce.SelectiveSize)
			l.hex("flags", 0, 1, uint64(h.Selective.Flags))
			l.num("base", 1, 3, uint64(h.Selective.Base))
			l.hex("bitmap", 4, 8, h.Selective.Bitmap)
		}
	}
	switch {
	case o.HasImmediate():
		next("immdt", "ImmDt", roce.ImmSize).hex("immediate", 0, 4, uint64(h.Immediate))
	case o == roce.SendLastInvalidate || o == roce.SendOnlyInvalidate:
		next("ieth", "IETH", roce.IETHSize).hex("invalidate_rkey", 0, 4, uint64(h.Immediate))
	}
	return all
}
