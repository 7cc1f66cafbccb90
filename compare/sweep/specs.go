package sweep

import (
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
)

// protocolsOf returns the protocols of a point: the axis's or the plan's, with the parameters that
// vary. nil: those of the scenario. A SPEC that cannot be read is left as it is, for the scenario to
// refuse.
func protocolsOf(fixed *value, chosen []override) *value {
	protocols := fixed
	params := map[string]string{}
	for _, ov := range chosen {
		if ov.field == "protocols" {
			protocols = ov.value
		}
		if name, is := strings.CutPrefix(ov.field, specPrefix); is {
			params[name] = ov.value.text
		}
	}
	if protocols == nil || len(params) == 0 {
		return protocols
	}
	out := &value{kind: list, where: protocols.where}
	for _, entry := range entries(protocols) {
		out.items = append(out.items, vary(entry, params))
	}
	return out
}

// entries splits protocols into one value for each: a text may hold several SPECs.
func entries(protocols *value) []*value {
	switch protocols.kind {
	case list:
		return protocols.items
	case mapping:
		return []*value{protocols}
	}
	specs, err := scenario.ParseSpecs(protocols.text)
	if err != nil {
		return []*value{protocols}
	}
	all := make([]*value, len(specs))
	for i, s := range specs {
		all[i] = &value{text: s.String(), where: protocols.where}
	}
	return all
}

// vary lays parameters over the SPEC of an entry. Its label stays, so that a protocol is called the
// same at every point.
func vary(entry *value, params map[string]string) *value {
	text := entry
	if entry.kind == mapping {
		text = entry.child("protocol")
	}
	if text == nil || text.kind != scalar {
		return entry
	}
	spec, err := scenario.ParseSpec(text.text)
	if err != nil {
		return entry
	}
	for name, param := range params {
		spec.Given[name] = param
	}
	out := &value{kind: mapping, where: entry.where}
	out.put("label", text)
	if entry.kind == mapping {
		for i, key := range entry.keys {
			out.put(key, entry.items[i])
		}
	}
	out.put("protocol", &value{text: spec.String(), where: text.where})
	return out
}

// put sets the value of a key.
func (v *value) put(key string, item *value) {
	for i, k := range v.keys {
		if k == key {
			v.items[i] = item
			return
		}
	}
	v.keys, v.items = append(v.keys, key), append(v.items, item)
}
