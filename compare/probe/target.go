package probe

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/transport/wire"
)

// A prober holds one context with the endpoint as its initiator.
type prober struct {
	line   *Line
	pdcid  uint16 // ours
	theirs uint16 // the endpoint's, once it is known; 0 before
	next   uint32 // PSN
	psn    uint32 // of the last probe
	id     uint16 // message id of the last probe
	last   uint32 // PSN that should be acknowledged in the end, of a probe of several packets
	beside *prober
	err    error
}

const startPSN = 0x01000000

// a request is SEND of 64 bytes in the form of an established context, before it is changed.
func (c *prober) request(change func(p *wire.Packet)) wire.Packet {
	c.id++
	p := wire.Packet{Has: wire.HasPDS | wire.HasSES, Type: wire.TypeRUD, Next: wire.NextStandard, Order: wire.CRCOff}
	p.Request = wire.Request{Flags: wire.RequestAR, ClearOffset: -1, SPDCID: c.pdcid, DPDCID: c.theirs, PSN: c.next}
	p.Standard = wire.Standard{Opcode: wire.OpSend, Flags: wire.SESRelative | wire.SESStart | wire.SESEnd, MessageID: c.id, Initiator: 16, RequestLength: 64}
	p.Standard.JobID, p.Standard.ResourceIndex = 1, 15
	if change != nil {
		change(&p)
	}
	return p
}

// send sends a request with that many bytes of payload, as a new PSN.
func (c *prober) send(bytes int, change func(p *wire.Packet)) {
	p := c.request(change)
	c.psn, c.id = p.Request.PSN, p.Standard.MessageID
	c.put(&p, bytes, How{})
	if p.Request.PSN == c.next {
		c.next++
	}
}

// stray sends a request that takes no PSN.
func (c *prober) stray(bytes int, how How, change func(p *wire.Packet)) {
	p := c.request(change)
	c.psn, c.id = p.Request.PSN, p.Standard.MessageID
	c.put(&p, bytes, how)
}

func (c *prober) put(p *wire.Packet, bytes int, how How) {
	payload := make([]byte, bytes)
	for i := range payload {
		payload[i] = byte(i)
	}
	b := make([]byte, wire.MaxHeaders+bytes)
	c.raw(b[:p.Put(b, payload)], how)
}

func (c *prober) raw(b []byte, how How) {
	if err := c.line.send(b, how); err != nil && c.err == nil {
		c.err = err
	}
}

// control sends a control packet whose PSN is the next one, before it is changed.
func (c *prober) control(kind wire.ControlType, change func(p *wire.Control)) {
	p := wire.Packet{Has: wire.HasPDS, Type: wire.TypeControl, Order: wire.CRCOff}
	p.Control = wire.Control{Control: kind, SPDCID: c.pdcid, DPDCID: c.theirs, PSN: c.next}
	if change != nil {
		change(&p.Control)
	}
	if p.Control.PSN != 0 {
		c.psn = p.Control.PSN
	}
	var b [wire.MaxHeaders]byte
	c.raw(b[:p.Put(b[:], nil)], How{})
}

// answers returns what was answered, and learns the endpoint's PDCID.
func (c *prober) answers() string { return c.settle(false) }

func (c *prober) settle(count bool) string {
	if c.err != nil {
		return c.err.Error()
	}
	heard, err := c.line.settled()
	if err != nil {
		c.err = err
		return err.Error()
	}
	var text []string
	for _, b := range heard {
		if p, _ := wire.ParsePacket(b, wire.CRCOff); c.theirs == 0 && (p.Type == wire.TypeAck || p.Type == wire.TypeAckCC) {
			c.theirs = p.Ack.SPDCID
		}
		text = append(text, say(b, c.psn, c.id, c.pdcid, c.theirs))
	}
	if len(text) == 0 {
		return none
	}
	if count {
		return c.tally(heard)
	}
	return strings.Join(text, "; ")
}

// open begins a context of its own.
func (c *prober) open(pdcid uint16, start uint32) {
	*c = prober{line: c.line, pdcid: pdcid, next: start, id: 255, err: c.err}
}

// opened is a context of its own that is established.
func (c *prober) opened(pdcid uint16) {
	c.open(pdcid, startPSN)
	c.send(64, syn(0))
	c.answers()
}

func syn(offset uint16) func(*wire.Packet) {
	return func(p *wire.Packet) {
		p.Request.Flags |= wire.RequestSyn
		p.Request.PSNOffset = offset
	}
}

func opcode(op wire.Opcode) func(*wire.Packet) {
	return func(p *wire.Packet) { p.Standard.Opcode = op }
}

// A Probe is one line of a table.
type Probe struct {
	Number string // in the table
	What   string // is sent
	Want   string // what the reference provider does
	Here   string // what this project's endpoint does instead; empty: the same
	Why    string // it does
	Native bool   // makes sense over native IP only

	play  func(c *prober)
	count bool  // what is answered to several packets is summed up
	ask   reply // of an initiator
}

// A Result is what a Probe found.
type Result struct {
	Probe
	Got string
}

// Verdict is "ok" if the endpoint did what the provider does, "differs" if it did what this project's endpoint is known to
// do instead, and "unexpected" else.
func (r *Result) Verdict() string {
	switch r.Got {
	case r.Want:
		return "ok"
	case r.Here:
		return "differs"
	}
	return "unexpected"
}

// String is one line: number, verdict, what was sent, what the provider does, what was done, and why.
func (r *Result) String() string {
	text := fmt.Sprintf("%-4s %-10s %s | expected %s", r.Number, r.Verdict(), r.What, r.Want)
	if r.Got != r.Want {
		text += " | got " + r.Got
	}
	if r.Verdict() == "differs" {
		text += " | " + r.Why
	}
	return text
}

// Target plays the table of a target. The endpoint has job 1, PIDonFEP 0, resource index 15, takes any number of sends up to 2600 bytes,
// and has 4096 bytes of memory under key 0x11, which count up, to be read and written but not by RUDI; its payload MTU is 1024.
func Target(l *Line) (results []Result, err error) {
	c := &prober{line: l}
	for _, p := range append(append([]Probe(nil), targetProbes...), moreProbes...) {
		if p.Native && !l.native {
			continue
		}
		p.play(c)
		r := Result{Probe: p, Got: c.settle(p.count)}
		if c.err != nil {
			return results, fmt.Errorf("probe %s: %w", p.Number, c.err)
		}
		results = append(results, r)
	}
	return results, nil
}
