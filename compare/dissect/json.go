package dissect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/capture"
)

// JSON prints packets as JSON Lines, kind first. Keys documents every key.
type JSON struct{ line object }

// Packet prints a packet.
func (j *JSON) Packet(out *bufio.Writer, p *Packet, _ bool) {
	f := p.Frame
	o := &j.line
	o.open(strings.ToLower(p.Kind.String()))
	o.put("frame", f.Number)
	if !f.Time.IsZero() {
		o.put("time", f.Time.Format(time.RFC3339Nano))
		o.put("time_ns", p.Since.Nanoseconds())
	}
	o.put("interface", f.Interface.Index)
	if f.Interface.Name != "" {
		o.put("interface_name", f.Interface.Name)
	}
	if f.Direction != capture.Unknown {
		o.put("direction", [...]string{"", "in", "out", "unknown"}[f.Direction&3])
	}
	if f.HasPacket {
		o.put("packet", f.Packet)
	}
	o.put("bytes", f.Length)
	if f.Snapped() {
		o.put("captured_bytes", len(f.Data))
	}
	for _, l := range p.layers() {
		flat := l.key == "link" || l.key == "ip" || l.key == "encap"
		if !flat {
			o.nest(l.key)
		}
		for _, field := range l.fields {
			o.put(field.key, field.value)
		}
		if !flat {
			o.close()
		}
	}
	if p.Headers > 0 {
		o.put("payload_bytes", p.Payload)
	}
	o.put("check", p.Check.String())
	if p.Trimmed {
		o.put("trimmed", true)
	}
	if p.Malformed != "" {
		o.put("malformed", p.Malformed)
	}
	if len(f.Comments) > 0 {
		o.put("comments", f.Comments)
	}
	if p.Context != nil {
		o.put("context", p.Context.Number)
		o.put("side", p.Side)
	}
	if len(p.Notes) > 0 {
		var notes []string
		for _, n := range p.Notes {
			notes = append(notes, n.Text)
		}
		o.put("notes", notes)
	}
	o.finish(out)
}

// An object is one line of JSON under way: keys in the order of their putting.
type object struct {
	b     bytes.Buffer
	fresh bool // nothing in the innermost object yet
}

func (o *object) open(kind string) {
	o.b.Reset()
	o.b.WriteByte('{')
	o.fresh = true
	o.put("kind", kind)
}

func (o *object) key(name string) {
	if !o.fresh {
		o.b.WriteByte(',')
	}
	o.fresh = false
	o.b.WriteString(`"` + name + `":`) // names are ours, or of code points: none needs escaping
}

func (o *object) put(name string, v any) {
	o.key(name)
	encoder := json.NewEncoder(&o.b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // numbers, words and lists of them
	}
	o.b.Truncate(o.b.Len() - 1) // the encoder ends lines
}

func (o *object) nest(name string) {
	o.key(name)
	o.b.WriteByte('{')
	o.fresh = true
}

func (o *object) close() {
	o.b.WriteByte('}')
	o.fresh = false
}

func (o *object) finish(out *bufio.Writer) {
	o.b.WriteString("}\n")
	out.Write(o.b.Bytes())
}

// statsJSON is how Stats appear in JSON.
type statsJSON struct {
	Packets    int64            `json:"packets"`
	Bytes      int64            `json:"payload_bytes"`
	Answers    int64            `json:"answers"`
	Gaps       int64            `json:"gaps"`
	Missing    int64            `json:"missing_psns"`
	Late       int64            `json:"late_packets"`
	Again      int64            `json:"retransmissions"`
	Spurious   int64            `json:"spurious_retransmissions"`
	Copies     int64            `json:"copies"`
	Marked     int64            `json:"ecn_marked"`
	Trimmed    int64            `json:"trimmed"`
	Refusals   int64            `json:"refusals"`
	CNPs       int64            `json:"cnps"`
	Messages   int64            `json:"messages"`
	Failed     int64            `json:"failed"`
	Reasons    map[string]int64 `json:"reasons,omitempty"`
	RTTSamples int64            `json:"rtt_samples"`
	RTTMin     int64            `json:"rtt_min_ns"`
	RTTMean    int64            `json:"rtt_mean_ns"`
	RTTMax     int64            `json:"rtt_max_ns"`
}

func (s *Stats) json() statsJSON {
	return statsJSON{s.Packets, s.Bytes, s.Answers, s.Gaps, s.Missing, s.Late, s.Again, s.Spurious, s.Copies, s.Marked, s.Trimmed, s.Refusals, s.CNPs,
		s.Messages, s.Failed, s.Reasons, s.RTT.N, s.RTT.Min.Nanoseconds(), s.RTT.Mean().Nanoseconds(), s.RTT.Max.Nanoseconds()}
}

type endJSON struct {
	Address string  `json:"address"`
	ID      *uint32 `json:"id"`
}

// Summary prints a line for each context, and one with the totals.
func (j *JSON) Summary(out *bufio.Writer, d *Dump, broken string) {
	o := &j.line
	for _, c := range d.Tracker.Contexts() {
		o.open("context")
		o.put("context", c.Number)
		o.put("protocol", c.Kind.String())
		if c.Interface != "" {
			o.put("interface_name", c.Interface)
		}
		var ends [2]endJSON
		for i, e := range c.Ends {
			ends[i].Address = e.Addr.String()
			if e.Known {
				ends[i].ID = &e.ID
			}
		}
		o.put("ends", ends)
		if c.Kind == UET {
			o.put("ordered", c.Ordered)
			o.put("opened_frame", c.Opened)
			o.put("closed_frame", c.Closed)
		}
		o.put("first_ns", c.First.Nanoseconds())
		o.put("last_ns", c.Last.Nanoseconds())
		o.put("flows", [2]statsJSON{c.Flows[0].Stats.json(), c.Flows[1].Stats.json()})
		o.finish(out)
	}
	for _, kind := range []Kind{UET, RoCE} {
		if n := d.Tracker.Forgotten[kind]; n > 0 {
			o.open("forgotten")
			o.put("protocol", kind.String())
			o.put("contexts", n)
			o.put("flows", d.Tracker.Rest[kind].json())
			o.finish(out)
		}
	}
	t := &d.Totals
	o.open("totals")
	o.put("format", d.Format)
	if d.Application != "" {
		o.put("application", d.Application)
	}
	if d.Comment != "" {
		o.put("comment", d.Comment)
	}
	for _, c := range []struct {
		key string
		n   int64
	}{{"frames", t.Frames}, {"bytes", t.Bytes}, {"uet", t.UET}, {"roce", t.RoCE}, {"printed", t.Printed}, {"malformed", t.Malformed}, {"bad_check", t.BadCheck},
		{"unchecked", t.NoCheck}, {"snapped", t.Snapped}, {"trimmed", t.Trimmed}, {"ecn_marked", t.Marked}, {"dropped", t.Dropped}, {"commented", t.Commented},
		{"capture_dropped", int64(d.CaptureDropped)}} {
		o.put(c.key, c.n)
	}
	o.nest("types")
	for _, name := range sorted(t.Types) {
		o.put(name, struct {
			Packets int64 `json:"packets"`
			Payload int64 `json:"payload_bytes"`
		}{t.Types[name].Packets, t.Types[name].Payload})
	}
	o.close()
	o.nest("others")
	for _, name := range sorted(t.Others) {
		o.put(name, t.Others[name])
	}
	o.close()
	if broken != "" {
		o.put("broken", broken)
	}
	o.finish(out)
}
