// Paramserver trains a model of one line on an emulated fabric in virtual time: workers fetch weights by RDMA read, add
// their gradients by remote atomics, and a spine fails meanwhile. It prints what became of the weights, and when.
//
//	go run ./examples/paramserver
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

const workers, steps = 7, 50

func main() {
	text, err := train(context.Background(), true)
	if fmt.Print(text); err != nil {
		fmt.Fprintln(os.Stderr, "paramserver:", err)
		os.Exit(1)
	}
}

// train runs server and workers, and returns the server's report.
func train(ctx context.Context, failure bool) (report string, err error) {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "2", "spines": "2"})
	if err != nil {
		return "", err
	}
	network, err := build(emulator.Spec{Hosts: workers + 1, RateBps: 100e9, LinkDelay: instant.Microsecond})
	if err != nil {
		return "", err
	}
	w, err := virtual.New(virtual.Config{Network: network, Fabric: emulator.Config{LinkOverhead: 64, MaxWireBytes: 4400,
		Classes: []emulator.Class{{Name: "all", QueueBytes: 1 << 20}}, RerouteLocal: 50 * instant.Microsecond, RerouteAll: core.Never}})
	if err != nil {
		return "", err
	}
	for _, name := range []string{"leaf0-spine0", "spine0-leaf0", "leaf1-spine0", "spine0-leaf1"} {
		if failure {
			w.Fabric().Schedule(emulator.Fault{Kind: emulator.LinkDown, Links: []int{network.LinkNamed(name)}, At: 100 * instant.Microsecond})
		}
	}
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, transport.Config{})
		if err != nil {
			return err
		}
		weights, err := e.RegisterKey(make([]byte, 16), transport.RemoteRead|transport.RemoteAtomic, 1)
		for n := 0; n < workers && err == nil; n++ { // each says when it is done
			_, err = e.Receive(ctx, nil)
		}
		if err == nil {
			report = fmt.Sprintf("slope %.3f, intercept %.3f after %v\n", number(weights.Bytes(), 0), number(weights.Bytes(), 8), d.Now())
		}
		return err
	})
	for h := 1; h <= workers; h++ {
		w.Go(h, func(ctx context.Context, d core.Driver) error { return work(ctx, d, float64(h)) })
	}
	err = w.Run(ctx)
	return report, err
}

// work descends the gradient of the squared error of slope*x + intercept against 3x + 1 at one x.
func work(ctx context.Context, d core.Driver, x float64) error {
	e, err := transport.New(d, transport.Config{})
	if err != nil {
		return err
	}
	server, err := e.Dial(ctx, "h0")
	b := make([]byte, 16)
	for n := 0; n < steps && err == nil; n++ {
		err = server.Read(ctx, b, transport.Remote{Key: 1})
		wrong := number(b, 0)*x + number(b, 8) - (3*x + 1)
		for i, slope := range []float64{x, 1} {
			if err == nil {
				err = server.Atomic(ctx, wire.AtomicSum, wire.TypeDouble, transport.Remote{Key: 1, Offset: uint64(8 * i)}, math.Float64bits(-0.004*wrong*slope))
			}
		}
	}
	if err == nil {
		err = server.Send(ctx, nil)
	}
	return err
}

// number reads a weight.
func number(b []byte, at int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))
}
