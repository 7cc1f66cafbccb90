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
			params[name] = ov.value.Text
		}
	}
	if protocols == nil || len(params) == 0 {
		return protocols
	}
	out := &value{Kind: scenario.List, Where: protocols.Where}
	for _, entry := range entries(protocols) {
		out.Items = append(out.Items, vary(entry, params))
	}
	return out
}

// entries splits protocols into one value for each: a text may hold several SPECs.
func entries(protocols *value) []*value {
	switch protocols.Kind {
	case scenario.List:
		return protocols.Items
	case scenario.Mapping:
		return []*value{protocols}
	}
	specs, err := scenario.ParseSpecs(protocols.Text)
	if err != nil {
		return []*value{protocols}
	}
	all := make([]*value, len(specs))
	for i, s := range specs {
		all[i] = &value{Text: s.String(), Where: protocols.Where}
	}
	return all
}

// vary lays parameters over the SPEC of an entry. Its label stays, so that a protocol is called the
// same at every point.
func vary(entry *value, params map[string]string) *value {
	text := entry
	if entry.Kind == scenario.Mapping {
		text = entry.Child("protocol")
	}
	if text == nil || text.Kind != scenario.Scalar {
		return entry
	}
	spec, err := scenario.ParseSpec(text.Text)
	if err != nil {
		return entry
	}
	for name, param := range params {
		spec.Given[name] = param
	}
	out := &value{Kind: scenario.Mapping, Where: entry.Where}
	out.Put("label", text)
	if entry.Kind == scenario.Mapping {
		for i, key := range entry.Keys {
			out.Put(key, entry.Items[i])
		}
	}
	out.Put("protocol", &value{Text: spec.String(), Where: text.Where})
	return out
}
