package dissect

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"strings"
)

// Tree prints packets as trees: every field with its place in the frame and its bytes.
type Tree struct {
	Lines Lines // for the first line of each packet
}

const mostBytes = 8 // of a field that are shown

// Packet prints a packet.
func (t *Tree) Packet(out *bufio.Writer, p *Packet, several bool) {
	t.Lines.NoHead = true
	t.Lines.Packet(out, p, several)
	for _, l := range p.layers() {
		fmt.Fprintf(out, "       %4d  %s, %d bytes\n", l.at, l.title, l.size)
		for _, f := range l.fields {
			place := strings.Repeat(" ", 4)
			if f.size > 0 {
				place = fmt.Sprintf("%4d", f.at)
			}
			fmt.Fprintf(out, "       %s    %-18s %-22s %s\n", place, p.bytes(f.at, f.size), f.key, strings.TrimSpace(valueText(f.value)+" "+f.text))
		}
	}
	at := p.Link.Size + p.IP.Payload + p.Headers
	if p.Payload > 0 && p.Headers > 0 {
		fmt.Fprintf(out, "       %4d    %-18s %-22s %s\n", at, p.bytes(at, p.Payload), "payload", size(int64(p.Payload)))
	}
	switch end := p.Link.Size + p.IP.End; p.Check {
	case Unchecked:
	case Absent, BadMissing:
		fmt.Fprintf(out, "               %-18s %-22s %s\n", "", "checksum", p.Check)
	default:
		fmt.Fprintf(out, "       %4d    %-18s %-22s %s\n", end-4, p.bytes(end-4, 4), "checksum", p.Check)
	}
	fmt.Fprintln(out)
}

// valueText is the value of a field for people.
func valueText(v any) string {
	if list, is := v.([]string); is {
		if len(list) == 0 {
			return "-"
		}
		return strings.Join(list, "+")
	}
	return fmt.Sprint(v)
}

// bytes are those of a field in hexadecimal, as far as they were captured.
func (p *Packet) bytes(at, n int) string {
	data := p.Frame.Data
	at = min(at, len(data))
	part := data[at:min(at+n, len(data))]
	if len(part) > mostBytes {
		return hex.EncodeToString(part[:mostBytes]) + ".."
	}
	return hex.EncodeToString(part)
}
