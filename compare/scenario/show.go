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
		doc.Put("classes", showClasses(s.classes))
	}
	if s.shown != nil {
		doc.Put("published", s.shown.clone())
	}
	return doc.yaml()
}

// Hash identifies what the scenario means: the canonical form with every default filled in, less title,
// description and what others found, and with the contents of input files in the place of their names.
func (s *Scenario) Hash() string {
	sum := sha256.Sum256([]byte(s.document(true).yaml()))
	return hex.EncodeToString(sum[:])
}

// document is the scenario as a tree. For hashing, files are named by what is in them.
func (s *Scenario) document(hashing bool) *Node {
	doc := &Node{Kind: Mapping}
	doc.Put("name", scalar(s.Name))
	if s.Title != "" && !hashing {
		doc.Put("title", scalar(s.Title))
	}
	if s.Description != "" && !hashing {
		doc.Put("description", scalar(s.Description))
	}
	doc.Put("fabric", s.showFabric(hashing))
	if len(s.Faults) > 0 {
		faults := &Node{Kind: List}
		for i := range s.Faults {
			faults.Items = append(faults.Items, s.Faults[i].show())
		}
		doc.Put("faults", faults)
	}
	w := fields("kind", s.Workload.Kind)
	if entry, err := workload.Registry.Lookup(s.Workload.Kind); err == nil {
		s.putParams(w, entry.Params, s.Workload.Params, hashing)
	}
	doc.Put("workload", w)
	protocols := &Node{Kind: List}
	for i := range s.Protocols {
		protocols.Items = append(protocols.Items, s.Protocols[i].show())
	}
	doc.Put("protocols", protocols)
	doc.Put("seeds", scalar(s.Seeds.String()))
	s.Fixed.show(doc)
	doc.Put("horizon", scalar(formatTime(s.Horizon)))
	return doc
}

func (s *Scenario) showFabric(hashing bool) *Node {
	f := &s.Fabric
	n := fields("topology", f.Topology)
	entry, err := emulator.Topologies.Lookup(f.Topology)
	if err == nil {
		s.putParams(n, entry.Params, f.Params, hashing)
	}
	f.showSpec(n, declares(entry.Params, "file"))
	n.Put("payloadMTU", scalar(strconv.FormatInt(f.PayloadMTU, 10)))
	n.Put("linkOverhead", scalar(formatBytes(f.LinkOverhead)))
	n.Put("wireBytes", scalar(formatBytes(f.WireBytes)))
	n.Put("buffer", fields("perSwitch", formatBytes(f.Buffer.PerSwitch), "alpha", formatFloat(f.Buffer.Alpha)))
	n.Put("reroute", fields("local", formatTime(f.Reroute.Local), "global", formatTime(f.Reroute.Global)))
	if f.Routing != "" {
		n.Put("routing", scalar(f.Routing))
	}
	if len(f.Classes) > 0 {
		classes := &Node{Kind: List}
		for i := range f.Classes {
			classes.Items = append(classes.Items, f.Classes[i].show())
		}
		n.Put("classes", classes)
	}
	n.Put("loss", f.showLoss())
	n.Put("samplePeriod", scalar(formatTime(f.SamplePeriod)))
	return n
}

// showSpec leaves out what a topology file says.
func (f *Fabric) showSpec(n *Node, fromFile bool) {
	n.Put("hosts", scalar(strconv.Itoa(f.Spec.Hosts)))
	n.Put("rate", scalar(formatRate(f.Spec.RateBps)))
	if !fromFile {
		n.Put("linkDelay", scalar(formatTime(f.Spec.LinkDelay)))
		n.Put("oversubscription", scalar(formatFloat(f.Spec.Oversubscription)))
	}
	if !fromFile || f.Spec.SwitchDelay != 0 {
		n.Put("switchDelay", scalar(formatTime(f.Spec.SwitchDelay)))
	}
	if len(f.Spec.TierRateBps) > 0 {
		n.Put("tierRates", each(f.Spec.TierRateBps, formatRate))
	}
	if len(f.Spec.TierDelay) > 0 {
		n.Put("tierDelays", each(f.Spec.TierDelay, formatTime))
	}
}

func (f *Fabric) showLoss() *Node {
	n := &Node{Kind: Mapping}
	f.Loss.show(n)
	if len(f.LinkLoss) > 0 {
		links := &Node{Kind: List}
		for _, l := range f.LinkLoss {
			item := fields("link", l.Link, "oneway", strconv.FormatBool(l.OneWay))
			l.Loss.show(item)
			links.Items = append(links.Items, item)
		}
		n.Put("links", links)
	}
	return n
}

func (l Loss) show(n *Node) {
	n.Put("random", scalar(formatFloat(l.Random)))
	n.Put("corrupt", scalar(formatFloat(l.Corrupt)))
	n.Put("every", scalar(strconv.FormatInt(l.Every, 10)))
	if b := l.Burst; !b.IsZero() {
		burst := fields("meanGood", formatTime(b.MeanGood), "meanBad", formatTime(b.MeanBad))
		if b.P > 0 {
			burst = fields("p", formatFloat(b.P), "r", formatFloat(b.R))
		}
		burst.Put("lossGood", scalar(formatFloat(b.LossGood)))
		burst.Put("lossBad", scalar(formatFloat(b.LossBad)))
		n.Put("burst", burst)
	}
	if l.Netem != "" {
		n.Put("netem", scalar(l.Netem))
	}
}

// show writes the fields that the kind of the fault has.
func (out *Fault) show() *Node {
	n := fields("at", formatTime(out.At), "for", formatTime(out.For), "kind", out.Kind)
	if out.Kind == "slowhost" {
		n.Put("host", scalar(strconv.Itoa(out.Host)))
	} else {
		n.Put("link", scalar(out.Link))
	}
	kind, _ := faultKind(out.Kind)
	for _, field := range kind.Fields {
		n.Put(field, scalar(map[string]string{
			"oneway": strconv.FormatBool(out.OneWay),
			"period": formatTime(out.Period),
			"factor": formatFloat(out.Factor),
			"loss":   formatFloat(out.Loss),
		}[field]))
	}
	return n
}

func (e *Entry) show() *Node {
	n := fields("protocol", e.Full(), "label", e.Label)
	class := &Node{Kind: Mapping}
	for _, s := range settings(protocol.ClassParams, e.Class) {
		class.Put(s.name, scalar(s.text))
	}
	n.Put("class", class)
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
func (f FixedSeeds) show(doc *Node) {
	for _, part := range []struct {
		name string
		seed *uint64
	}{{"seedMatrix", f.Matrix}, {"seedHash", f.Hash}, {"seedLoss", f.Loss}, {"seedJitter", f.Jitter}, {"seedProtocol", f.Protocol}} {
		if part.seed != nil {
			doc.Put(part.name, scalar(strconv.FormatUint(*part.seed, 10)))
		}
	}
}

// putParams writes parameters; for hashing, files are named by what is in them.
func (s *Scenario) putParams(n *Node, params []param.Param, v param.Values, hashing bool) {
	for _, p := range settings(params, v) {
		for _, in := range s.Inputs {
			if hashing && in.Path == p.text {
				p.text = "sha256:" + in.SHA256
			}
		}
		n.Put(p.name, scalar(p.text))
	}
}

// showClasses writes the class settings as given.
func showClasses(classes map[string][]classSetting) *Node {
	out := &Node{Kind: Mapping}
	for _, name := range sortedKeys(classes) {
		n := &Node{Kind: Mapping}
		for _, s := range classes[name] {
			n.Put(s.name, scalar(s.text))
		}
		out.Put(name, n)
	}
	return out
}

func scalar(text string) *Node { return &Node{Text: text} }

// fields makes a mapping of scalars from names and values in turn.
func fields(pairs ...string) *Node {
	n := &Node{Kind: Mapping}
	for i := 0; i < len(pairs); i += 2 {
		n.Put(pairs[i], scalar(pairs[i+1]))
	}
	return n
}

func each[T int64 | instant.Time](list []T, format func(T) string) *Node {
	n := &Node{Kind: List}
	for _, item := range list {
		n.Items = append(n.Items, scalar(format(item)))
	}
	return n
}
