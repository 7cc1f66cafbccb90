package dissect

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/weft-transport/weft/compare/capture"
)

// A Printer says what becomes of each packet.
type Printer interface {
	Packet(out *bufio.Writer, p *Packet, several bool)
}

// A Dump reads a capture to its end, or to where it is broken.
type Dump struct {
	Decoder Decoder
	Tracker *Tracker
	Totals  Totals
	Filter  Filter
	Printer Printer // nil: totals only

	CaptureDropped       uint64 // packets that the capture says it has lost itself
	Format               string // of the file
	Application, Comment string // who wrote it, and what it says of itself
}

// ErrInterrupted is the error of Run when its context has ended.
var ErrInterrupted = errors.New("interrupted")

// Run decodes all frames, follows them and prints those that the filter lets through. All of the file goes into the
// totals. The error is that of reading, or of out.
func (d *Dump) Run(ctx context.Context, in *capture.Reader, out *bufio.Writer) error {
	var f capture.Frame
	var p Packet
	for {
		if in.Idle() { // a capture under way: show what there is before waiting for more
			out.Flush()
		}
		err := in.Next(&f)
		d.CaptureDropped, d.Format = in.Dropped(), in.Format()
		d.Application, d.Comment = in.Origin()
		if err == io.EOF {
			return out.Flush()
		}
		if err == nil && ctx.Err() != nil {
			err = ErrInterrupted
		}
		if err != nil {
			if flushed := out.Flush(); flushed != nil {
				return flushed
			}
			return err
		}
		d.Decoder.Decode(&f, &p)
		d.Tracker.Follow(&p)
		d.Totals.add(&p)
		if p.Kind == Other || !d.Filter.match(&p) {
			continue
		}
		d.Totals.Printed++
		if d.Printer != nil {
			d.Printer.Packet(out, &p, len(in.Interfaces()) > 1)
		}
	}
}
