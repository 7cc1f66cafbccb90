// Package scenarios holds files that come with the program: plans of sweeps, which `weft sweep NAME` runs, and the set-ups
// of others with what they found, which `weft compare published` does.
package scenarios

import "embed"

// Plans are the YAML files of this folder; package sweep reads them.
//
//go:embed *.yaml
var Plans embed.FS

// Published are scenarios and the files they depend on, in the folder published; package published reads them.
//
//go:embed published/*.yaml published/*.cm published/*.txt
var Published embed.FS
