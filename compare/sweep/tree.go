package sweep

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
)

// A value is one value of a YAML file with the place it came from, as scenarios have it.
type value = scenario.Node

// wrong is an error about a value, in the form that scenarios use.
func wrong(v *value, field, format string, args ...any) error {
	return &scenario.Error{Where: v.Where, Field: field, Text: fmt.Sprintf(format, args...)}
}

// brief writes a value for people: a scalar as it is, {ecnMin:100KB,ecnMax:400KB}.
func brief(v *value) string {
	if v.Kind == scenario.Scalar {
		return v.Text
	}
	parts := make([]string, len(v.Items))
	for i, item := range v.Items {
		parts[i] = brief(item)
		if v.Kind == scenario.Mapping {
			parts[i] = v.Keys[i] + ":" + parts[i]
		}
	}
	if v.Kind == scenario.Mapping {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// parse reads the one document of a file.
func parse(name string, data []byte) (*value, error) {
	docs, err := scenario.ParseYAML(name, data)
	if err == nil && len(docs) != 1 {
		err = &scenario.Error{Where: name, Text: fmt.Sprintf("the file has %d documents; expected one", len(docs))}
	}
	if err != nil {
		return nil, err
	}
	return docs[0], nil
}
