// Package scenarios holds plans of sweeps that come with the program: `weft sweep NAME` runs them.
package scenarios

import "embed"

// Plans are the YAML files of this folder; package sweep reads them.
//
//go:embed *.yaml
var Plans embed.FS
