package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-transport/weft/transport/wire"
)

// An Asker has the endpoint that is probed send 64 bytes to the prober, and returns how that ended. It is called from a
// goroutine, never twice at once, and gives up with context.DeadlineExceeded.
type Asker func() error

// A reply puts a packet together that answers a request. n counts the transmissions of that request from 0.
type reply func(t *target, q *wire.Packet, n int) []byte

// A target plays the other end.
type target struct {
	line       *Line
	pdcid      uint16
	contexts   map[uint16]bool // that were seen
	generation uint8           // that was seen last
}

// ack is the good answer, before it is changed.
func (t *target) ack(q *wire.Packet, change func(p *wire.Packet)) []byte {
	p := wire.Packet{Has: wire.HasPDS | wire.HasSES, Type: wire.TypeAck, Next: wire.NextResponse, Order: wire.CRCOff}
	p.Ack.Ack = wire.Ack{SPDCID: t.pdcid, DPDCID: q.Request.SPDCID, CumPSN: q.Request.PSN}
	p.Response = wire.Response{Op: wire.RespDefault, Code: wire.RCOK, MessageID: q.Standard.MessageID, JobID: q.Standard.JobID, ModifiedLength: q.Standard.RequestLength}
	if change != nil {
		change(&p)
	}
	b := make([]byte, wire.MaxHeaders)
	return b[:p.Put(b, nil)]
}

// refuse answers a request with a response that must be cleared, and so is not yet part of the cumulative PSN.
func refuse(p *wire.Packet, code wire.ReturnCode) {
	p.Ack.Flags, p.Ack.CumPSN, p.Ack.Offset = wire.AckClear, p.Ack.CumPSN-1, 1
	p.Response.Op, p.Response.Code, p.Response.ModifiedLength = wire.RespResponse, code, 0
}

func (t *target) nack(q *wire.Packet, code wire.NackCode) []byte {
	p := wire.Packet{Has: wire.HasPDS, Type: wire.TypeNack, Order: wire.CRCOff}
	p.Nack.Nack = wire.Nack{Code: code, PSN: q.Request.PSN, SPDCID: t.pdcid, DPDCID: q.Request.SPDCID}
	b := make([]byte, wire.MaxHeaders)
	return b[:p.Put(b, nil)]
}

// first answers the first transmission so, and further ones well.
func first(change func(p *wire.Packet)) reply {
	return func(t *target, q *wire.Packet, n int) []byte {
		if n > 0 {
			return t.ack(q, nil)
		}
		return t.ack(q, change)
	}
}

func firstNack(code wire.NackCode) reply {
	return func(t *target, q *wire.Packet, n int) []byte {
		if n > 0 {
			return t.ack(q, nil)
		}
		return t.nack(q, code)
	}
}

// initiatorProbes are the answers of capture 61 and 62, each to a request of an established context.
var initiatorProbes = []Probe{
	{Number: "i1", What: "ACK with DEFAULT_RESPONSE OK, modified_length 0", Want: "success", ask: first(func(p *wire.Packet) { p.Response.ModifiedLength = 0 })},
	{Number: "i2", What: "ACK with return code NULL, job 0", Want: "success", ask: first(func(p *wire.Packet) { p.Response = wire.Response{MessageID: p.Response.MessageID} })},
	{Number: "i3", What: "ACK without response", Want: "never ends",
		Here: "success",
		Why:  "an ACK is the success of a send, whose response carries nothing more", ask: first(func(p *wire.Packet) { p.Has, p.Next = wire.HasPDS, wire.NextNone })},
	{Number: "i4", What: "ACK with RESPONSE OK", Want: "success", ask: first(func(p *wire.Packet) { p.Response.Op = wire.RespResponse })},
	{Number: "i5", What: "ACK_CC with m flag and mpr 8", Want: "success", ask: first(func(p *wire.Packet) {
		p.Type, p.Ack.Flags, p.Ack.MPR, p.Ack.Sack = wire.TypeAckCC, wire.AckMarked, 8, 1
	})},
	{Number: "i6", What: "NACK TRIMMED", Want: "again retx+ar, success", ask: firstNack(wire.NackTrimmed)},
	{Number: "i7", What: "NACK NO_RESOURCE", Want: "again retx+ar, success", ask: firstNack(wire.NackNoResource)},
	{Number: "i8", What: "NACK RCVD_SES_PROCG", Want: "again retx+ar, success", ask: firstNack(wire.NackSESInProgress)},
	{Number: "i9", What: "RESPONSE BAD_GENERATION, generation 3", Want: "CLEAR_CMD, anew, success, generation 3",
		Here: "anew, success, generation 3",
		Why:  "the repetition clears the response with its CLEAR_PSN", ask: generation},
	{Number: "i10", What: "the message after that", Want: "success", ask: generation},
	{Number: "i11", What: "RESPONSE NO_MATCH", Want: "CLEAR_CMD, anew, success", ask: first(func(p *wire.Packet) { refuse(p, wire.RCNoMatch) })},
	{Number: "i12", What: "RESPONSE DISABLED", Want: "CLEAR_CMD, failure", ask: first(func(p *wire.Packet) { refuse(p, wire.RCDisabled) })},
	{Number: "i13", What: "ACK with a CACK beyond the last PSN sent", Want: "again retx+ar, success", ask: first(func(p *wire.Packet) { p.Ack.CumPSN += 5; p.Ack.Offset -= 5 })},
	{Number: "i14", What: "ACK with a wrong SPDCID", Want: "again retx+ar, success", ask: first(func(p *wire.Packet) { p.Ack.SPDCID++ })},
	{Number: "i15", What: "ACK with a wrong message id", Want: "success", ask: first(func(p *wire.Packet) { p.Response.MessageID += 7 })},
	{Number: "i16", What: "NACK INV_DPDCID", Want: "CLOSE_CMD, failure", Here: "failure", Why: "a context that the target does not know needs no CLOSE", ask: firstNack(wire.NackInvDPDCID)},
	{Number: "i17", What: "the message after that", Want: "success, new context", ask: first(nil)},
	{Number: "i18", What: "ACK with request close", Want: "success",
		Here: "CLOSE_CMD, success",
		Why:  "who is asked to close closes", ask: first(func(p *wire.Packet) { p.Ack.Flags = wire.AckClose })},
}

// generation accepts generation 3 only.
func generation(t *target, q *wire.Packet, _ int) []byte {
	if q.Standard.Generation == 3 {
		return t.ack(q, nil)
	}
	return t.ack(q, func(p *wire.Packet) { refuse(p, wire.RCBadGeneration); p.Response.Generation = 3 })
}

// Initiator plays the table of an initiator: ask has it send, and l is where it sends to.
func Initiator(l *Line, ask Asker) (results []Result, err error) {
	t := &target{line: l, pdcid: 0x222, contexts: map[uint16]bool{}}
	if got, err := t.watch(&Probe{ask: first(nil)}, ask); err != nil || got != "success, new context" {
		return nil, fmt.Errorf("opening a context: %s, %w", got, err)
	}
	for _, p := range initiatorProbes {
		got, err := t.watch(&p, ask)
		if err != nil {
			return results, fmt.Errorf("probe %s: %w", p.Number, err)
		}
		results = append(results, Result{Probe: p, Got: got})
	}
	return results, nil
}

// watch lets the endpoint send once and says what it did: what came besides the request, and how it ended.
func (t *target) watch(p *Probe, ask Asker) (string, error) {
	ended := make(chan error, 1)
	go func() { ended <- ask() }()
	w := watch{target: t, probe: p, sent: map[uint32]int{}}
	end := ""
	for end == "" {
		select {
		case err := <-ended:
			end = outcome(err)
		default:
			b, err := t.line.hear(time.Millisecond)
			if err == nil {
				err = w.take(b)
			}
			if err != nil && err != errSilent {
				return "", err
			}
		}
	}
	for w.owed {
		b, err := t.line.hear(t.line.patience)
		if err == nil {
			err = w.take(b)
		}
		if err != nil {
			return "", fmt.Errorf("a response that must be cleared is not: %w", err)
		}
	}
	for range 2 { // what follows at once: CLOSE, which is answered
		more, err := t.line.settled()
		if err != nil {
			return "", err
		}
		for _, b := range more {
			if err := w.take(b); err != nil {
				return "", err
			}
		}
	}
	if w.fresh {
		end += ", new context"
	}
	if w.generation != t.generation {
		end += fmt.Sprint(", generation ", w.generation)
	}
	t.generation = w.generation
	return strings.Join(append(w.seen, end), ", "), nil
}

// A watch is one request under way.
type watch struct {
	*target
	probe      *Probe
	seen       []string
	sent       map[uint32]int // transmissions, by PSN
	fresh      bool           // a context was opened
	owed       bool           // a response is to be cleared: up to uncleared
	uncleared  uint32
	generation uint8
}

func (w *watch) take(b []byte) error {
	q, _ := wire.ParsePacket(b, wire.CRCOff)
	switch {
	case q.Type == wire.TypeControl:
		w.note(q.Control.Control.String())
		a := wire.Packet{Has: wire.HasPDS, Type: wire.TypeAck, Order: wire.CRCOff}
		a.Ack.Ack = wire.Ack{SPDCID: w.pdcid, DPDCID: q.Control.SPDCID}
		switch q.Control.Control {
		case wire.ControlClose:
			a.Ack.CumPSN, a.Ack.Offset = q.Control.PSN-1, 1
		case wire.ControlClear:
			w.cleared(q.Control.Payload)
			a.Ack.CumPSN = q.Control.Payload
		default:
			return nil
		}
		b := make([]byte, wire.MaxHeaders)
		return w.line.send(b[:a.Put(b, nil)], How{})
	case !q.Type.IsRequest():
		w.note(q.Type.String())
		return nil
	}
	if !w.contexts[q.Request.SPDCID] {
		w.contexts[q.Request.SPDCID], w.fresh = true, true
		w.pdcid++ // of each context another
	}
	w.cleared(q.Request.PSN + uint32(int32(q.Request.ClearOffset)))
	n := w.sent[q.Request.PSN]
	switch {
	case n > 0:
		w.note(fmt.Sprintf("again %v", q.Request.Flags&^wire.RequestSyn))
	case len(w.sent) > 0:
		w.note("anew")
		n = 1
	}
	w.sent[q.Request.PSN]++
	w.generation = q.Standard.Generation
	answer := w.probe.ask(w.target, &q, n)
	if a, _ := wire.ParsePacket(answer, wire.CRCOff); a.Type == wire.TypeAck && a.Ack.Flags&wire.AckClear != 0 {
		w.owed, w.uncleared = true, a.Ack.PSN()
	}
	return w.line.send(answer, How{})
}

func (w *watch) cleared(psn uint32) {
	if int32(psn-w.uncleared) >= 0 {
		w.owed = false
	}
}

// note notes what was seen, repetitions once.
func (w *watch) note(what string) {
	for _, s := range w.seen {
		if s == what {
			return
		}
	}
	w.seen = append(w.seen, what)
}

func outcome(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "never ends"
	case err != nil:
		return "failure"
	}
	return "success"
}
