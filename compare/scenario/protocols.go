package scenario

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/transport/param"
)

// An Entry is one protocol of a scenario, resolved.
type Entry struct {
	Spec     Spec // as given, without class settings
	Label    string
	Protocol protocol.Protocol
	Params   param.Values // of the protocol, defaults filled in
	Class    param.Values // by protocol.ClassParams, defaults filled in
}

// Routing returns how switches spread the packets of this entry: as its class says, or the fabric, or
// else as the protocol wants.
func (e *Entry) Routing(f *Fabric) string {
	switch word := e.Class.Word("routing"); {
	case word != "auto":
		return word
	case f.Routing != "":
		return f.Routing
	}
	return e.Protocol.Routing()
}

// String returns the SPEC with every parameter of the protocol filled in, and the class settings
// that are not those the protocol asks for. It tells the entries of a scenario apart.
func (e *Entry) String() string {
	parts := []string{e.Spec.Name}
	if params := e.Params.String(); params != "" {
		parts = append(parts, params)
	}
	usual, err := class(e.Protocol)
	for _, p := range protocol.ClassParams {
		if text := canonical(p, e.Class.Word(p.Name)); err == nil && text != canonical(p, usual.Word(p.Name)) {
			parts = append(parts, "class."+p.Name+"="+text)
		}
	}
	return strings.Join(parts, ",")
}

// readProtocols reads the list: SPECs, or mappings {protocol: SPEC, label: ..., class: {...}}. A
// single text may hold several SPECs.
func readProtocols(top *reader, classes map[string][]classSetting) []Entry {
	var entries []Entry
	for i, n := range protocolNodes(top) {
		e := readEntry(top, i, n, classes)
		if *top.err != nil {
			return nil
		}
		if text := distinct(entries, &e); text != "" {
			top.fail(n, fmt.Sprintf("protocols.%d", i), text)
			return nil
		}
		entries = append(entries, e)
	}
	return entries
}

// distinct says what makes an entry the same as an earlier one.
func distinct(earlier []Entry, e *Entry) string {
	for j := range earlier {
		if earlier[j].String() == e.String() {
			return fmt.Sprintf("is the same as protocols.%d, %s", j, earlier[j].Label)
		}
		if earlier[j].Label == e.Label {
			return fmt.Sprintf("has the same label as protocols.%d: %q; give one of them a label of its own", j, e.Label)
		}
	}
	return ""
}

// protocolNodes returns one node an entry.
func protocolNodes(top *reader) []*Node {
	n := top.take("protocols")
	if n == nil {
		return nil
	}
	if n.Kind == List {
		return n.Items
	}
	if n.Kind == Mapping {
		return []*Node{n}
	}
	specs, err := ParseSpecs(n.Text)
	if err != nil {
		top.fail(n, "protocols", err.Error())
		return nil
	}
	nodes := make([]*Node, len(specs))
	for i, s := range specs {
		nodes[i] = &Node{Text: s.String(), Where: n.Where}
	}
	return nodes
}

func readEntry(top *reader, i int, n *Node, classes map[string][]classSetting) Entry {
	field := fmt.Sprintf("protocols.%d", i)
	text, label := n.Text, ""
	var own []classSetting
	if n.Kind == Mapping {
		r := top.element("protocols", i, n)
		text, label = r.text("protocol", ""), r.text("label", "")
		own = readClass(r, "class")
		r.done()
	}
	if *top.err != nil {
		return Entry{}
	}
	if n.Kind == List || n.Null || text == "" {
		top.fail(n, field, "is "+n.Describe()+"; expected a SPEC such as uet,spray=reps or {protocol: SPEC, label: TEXT, class: {...}}")
		return Entry{}
	}
	e, err := makeEntry(text, classes, own)
	if err != nil {
		top.fail(n, field, err.Error())
		return Entry{}
	}
	e.Label = label
	if label == "" {
		e.Label = text
	}
	return e
}

// makeEntry resolves one SPEC.
func makeEntry(text string, classes map[string][]classSetting, own []classSetting) (Entry, error) {
	spec, err := ParseSpec(text)
	if err != nil {
		return Entry{}, err
	}
	inSpec, others := spec.split("class.")
	e := Entry{Spec: Spec{Name: spec.Name, Given: others}}
	e.Protocol, e.Params, err = protocol.Registry.Make(spec.Name, others)
	if err != nil {
		return e, err
	}
	var last []classSetting
	for _, name := range sortedKeys(inSpec) {
		last = append(last, classSetting{name: name, text: inSpec[name]})
	}
	if e.Class, err = class(e.Protocol, classes[allClasses], classes[spec.Name], own, last); err != nil {
		return e, fmt.Errorf("protocol %s: %w", spec.Name, err)
	}
	return e, nil
}
