// Package workload says which host sends what to whom, and when.
//
// A generator turns its parameters, the shape of the fabric and a seed into a Plan: static
// data, the same for every protocol, that a runner executes. Dependencies between flows (a
// collective, bounded parallelism) are triggers in the plan. Every generator is one file that
// registers itself in Registry; another module can register its own. The readers and writers of
// the htsim, ns-3 and HPCC file formats live here too.
package workload

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// An Env is what a generator may know of the fabric. It must not depend on the protocol under
// test, so that all protocols of a comparison meet the same plan.
type Env struct {
	Hosts       int
	LineRateBps int64        // of a host's link
	BaseRTT     instant.Time // idle round trip of the longest path
	BDP         int64        // LineRateBps times BaseRTT, in bytes: what "bdp" in a size stands for
	PayloadMTU  int64        // payload bytes of a full packet
	// Leaf names the switch that each host hangs on, by any numbers; nil: all hosts share one.
	Leaf []int32

	Matrix uint64 // seed of who sends to whom, how much and when
	Jitter uint64 // seed of start jitter

	// Open opens an input file that a parameter names; nil: files cannot be read.
	Open func(path string) (io.ReadCloser, error)
}

// leaf returns the switch that a host hangs on.
func (e Env) leaf(host int32) int32 {
	if e.Leaf == nil {
		return 0
	}
	return e.Leaf[host]
}

// A Generator makes the plan for a fabric and a seed. Errors are mistakes of the scenario: a
// host out of range, more senders than hosts, a file that cannot be read.
type Generator func(Env) (*Plan, error)

// Registry holds every known workload.
var Registry = param.Registry[Generator]{Noun: "workload"}

// jitterParam is declared by all workloads whose flows start together.
var jitterParam = param.Param{Name: "startJitter", Kind: param.Duration, Default: "0",
	Doc: "each flow that waits for no other starts at an instant drawn evenly from 0 to this (seed: jitter); not scaled", Max: float64(instant.Second)}

// sizeParam declares the size of one message.
func sizeParam(def, doc string) param.Param {
	return param.Param{Name: "size", Kind: param.Bytes, Default: def, Doc: doc + "; in bdp it scales, in bytes not", Max: 1 << 50}
}

// open opens an input file.
func (e Env) open(path string) (io.ReadCloser, error) {
	if e.Open == nil {
		return nil, fmt.Errorf("cannot read %s: no files are read here", path)
	}
	return e.Open(path)
}

// IsPath tells whether the value of a parameter names a file: the parameter "file", and "cdf"
// unless it names a built-in table.
func IsPath(param, value string) bool {
	return value != "" && (param == "file" || param == "cdf" && looksLikePath(value))
}

// looksLikePath tells a file from a misspelt name: it has a folder or an extension.
func looksLikePath(value string) bool {
	return !isTable(value) && strings.ContainsAny(value, "./\\")
}
