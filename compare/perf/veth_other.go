//go:build !linux

package perf

import (
	"context"
	"errors"
)

// A Veth is two network namespaces with a cable between them.
type Veth struct{}

// NewVeth fails: there are none on this system.
func NewVeth(context.Context, int, Cable) (*Veth, error) {
	return nil, errors.New("--network veth: only on Linux; expected loopback")
}

// Processes is never called.
func (*Veth) Processes(string) *Processes { return nil }

// Close does nothing.
func (*Veth) Close() error { return nil }
