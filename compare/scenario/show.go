package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Show writes the resolved scenario as YAML, every default filled in. It reads back as the same
// scenario, from the same working folder if it depends on files.
func (s *Scenario) Show() string {
	doc := s.document(false)
	if len(s.classes) > 0 { // for protocols that may be named later
		doc.put("classes", showClasses(s.classes))
	}
	return doc.yaml()
}

// Hash identifies what the scenario means: the canonical form with every default filled in, less title
// and description, and with the contents of input files in the place of their names.
func (s *Scenario) Hash() string {
	sum := sha256.Sum256([]byte(s.document(true).yaml()))
	return hex.EncodeToString(sum[:])
}

// document is the scenario as a tree. For hashing, files are named by what is in them.
func (s *Scenario) document(hashing bool) *node {
	doc := &node{kind: mapNode}
	doc.put("name", scalar(s.Name))
	if s.Title != "" && !hashing {
		doc.put("title", scalar(s.Title))
	}
	if s.Description != "" && !hashing {
		doc.put("description", scalar(s.Description))
	}
	doc.put("fabric", s.showFabric(hashing))
	if len(s.Faults) > 0 {
		faults := &node{kind: listNode}
		for i := range s.Faults {
			faults.items = append(faults.items, s.Faults[i].show())
		}
		doc.put("faults", faults)
	}
	w := fields("kind", s.Workload.Kind)
	if entry, err := workload.Registry.Lookup(s.Workload.Kind); err == nil {
		s.putParams(w, entry.Params, s.Workload.Params, hashing)
	}
	doc.put("workload", w)
	protocols := &node{kind: listNode}
	for i := range s.Protocols {
		protocols.items = append(protocols.items, s.Protocols[i].show())
	}
	doc.put("protocols", protocols)
	doc.put("seeds", scalar(s.Seeds.String()))
	s.Fixed.show(doc)
	doc.put("horizon", scalar(formatTime(s.Horizon)))
	return doc
}

func (s *Scenario) showFabric(hashing bool) *node {
	f := &s.Fabric
	n := fields("topology", f.Topology)
	entry, err := emulator.Topologies.Lookup(f.Topology)
	if err == nil {
		s.putParams(n, entry.Params, f.Params, hashing)
	}
	f.showSpec(n, declares(entry.Params, "file"))
	n.put("payloadMTU", scalar(strconv.FormatInt(f.PayloadMTU, 10)))
	n.put("linkOverhead", scalar(formatBytes(f.LinkOverhead)))
	n.put("wireBytes", scalar(formatBytes(f.WireBytes)))
	n.put("buffer", fields("perSwitch", formatBytes(f.Buffer.PerSwitch), "alpha", formatFloat(f.Buffer.Alpha)))
	n.put("reroute", fields("local", formatTime(f.Reroute.Local), "global", formatTime(f.Reroute.Global)))
	if f.Routing != "" {
		n.put("routing", scalar(f.Routing))
	}
	n.put("loss", f.showLoss())
	n.put("samplePeriod", scalar(formatTime(f.SamplePeriod)))
	return n
}

// showSpec leaves out what a topology file says.
func (f *Fabric) showSpec(n *node, fromFile bool) {
	n.put("hosts", scalar(strconv.Itoa(f.Spec.Hosts)))
	n.put("rate", scalar(formatRate(f.Spec.RateBps)))
	if !fromFile {
		n.put("linkDelay", scalar(formatTime(f.Spec.LinkDelay)))
		n.put("oversubscription", scalar(formatFloat(f.Spec.Oversubscription)))
	}
	if !fromFile || f.Spec.SwitchDelay != 0 {
		n.put("switchDelay", scalar(formatTime(f.Spec.SwitchDelay)))
	}
	if len(f.Spec.TierRateBps) > 0 {
		n.put("tierRates", each(f.Spec.TierRateBps, formatRate))
	}
	if len(f.Spec.TierDelay) > 0 {
		n.put("tierDelays", each(f.Spec.TierDelay, formatTime))
	}
}

func (f *Fabric) showLoss() *node {
	n := &node{kind: mapNode}
	f.Loss.show(n)
	if len(f.LinkLoss) > 0 {
		links := &node{kind: listNode}
		for _, l := range f.LinkLoss {
			item := fields("link", l.Link, "oneway", strconv.FormatBool(l.OneWay))
			l.Loss.show(item)
			links.items = append(links.items, item)
		}
		n.put("links", links)
	}
	return n
}

func (l Loss) show(n *node) {
	n.put("random", scalar(formatFloat(l.Random)))
	n.put("corrupt", scalar(formatFloat(l.Corrupt)))
	n.put("every", scalar(strconv.FormatInt(l.Every, 10)))
	if b := l.Burst; !b.IsZero() {
		burst := fields("meanGood", formatTime(b.MeanGood), "meanBad", formatTime(b.MeanBad))
		if b.P > 0 {
			burst = fields("p", formatFloat(b.P), "r", formatFloat(b.R))
		}
		burst.put("lossGood", scalar(formatFloat(b.LossGood)))
		burst.put("lossBad", scalar(formatFloat(b.LossBad)))
		n.put("burst", burst)
	}
}

// show writes the fields that the kind of the fault has.
func (out *Fault) show() *node {
	n := fields("at", formatTime(out.At), "for", formatTime(out.For), "kind", out.Kind)
	if out.Kind == "slowhost" {
		n.put("host", scalar(strconv.Itoa(out.Host)))
	} else {
		n.put("link", scalar(out.Link))
	}
	kind, _ := faultKind(out.Kind)
	for _, field := range kind.Fields {
		n.put(field, scalar(map[string]string{
			"oneway": strconv.FormatBool(out.OneWay),
			"period": formatTime(out.Period),
			"factor": formatFloat(out.Factor),
			"loss":   formatFloat(out.Loss),
		}[field]))
	}
	return n
}

func (e *Entry) show() *node {
	n := fields("protocol", e.Full(), "label", e.Label)
	class := &node{kind: mapNode}
	for _, s := range settings(protocol.ClassParams, e.Class) {
		class.put(s.name, scalar(s.text))
	}
	n.put("class", class)
	return n
}

// Full returns the SPEC with every parameter, also of the algorithms it chooses, in canonical form.
func (e *Entry) Full() string {
	parts := []string{e.Spec.Name}
	if entry, err := protocol.Registry.Lookup(e.Spec.Name); err == nil {
		for _, s := range settings(entry.Params, e.Params) {
			parts = append(parts, s.name+"="+s.text)
		}
	}
	return strings.Join(parts, ",")
}

// show writes the seeds that do not follow from the seed of the run.
func (f FixedSeeds) show(doc *node) {
	for _, part := range []struct {
		name string
		seed *uint64
	}{{"seedMatrix", f.Matrix}, {"seedHash", f.Hash}, {"seedLoss", f.Loss}, {"seedJitter", f.Jitter}, {"seedProtocol", f.Protocol}} {
		if part.seed != nil {
			doc.put(part.name, scalar(strconv.FormatUint(*part.seed, 10)))
		}
	}
}

// putParams writes parameters; for hashing, files are named by what is in them.
func (s *Scenario) putParams(n *node, params []param.Param, v param.Values, hashing bool) {
	for _, p := range settings(params, v) {
		for _, in := range s.Inputs {
			if hashing && in.Path == p.text {
				p.text = "sha256:" + in.SHA256
			}
		}
		n.put(p.name, scalar(p.text))
	}
}

// showClasses writes the class settings as given.
func showClasses(classes map[string][]classSetting) *node {
	out := &node{kind: mapNode}
	for _, name := range sortedKeys(classes) {
		n := &node{kind: mapNode}
		for _, s := range classes[name] {
			n.put(s.name, scalar(s.text))
		}
		out.put(name, n)
	}
	return out
}

func scalar(text string) *node { return &node{text: text} }

// fields makes a mapping of scalars from names and values in turn.
func fields(pairs ...string) *node {
	n := &node{kind: mapNode}
	for i := 0; i < len(pairs); i += 2 {
		n.put(pairs[i], scalar(pairs[i+1]))
	}
	return n
}

func each[T int64 | instant.Time](list []T, format func(T) string) *node {
	n := &node{kind: listNode}
	for _, item := range list {
		n.items = append(n.items, scalar(format(item)))
	}
	return n
}
