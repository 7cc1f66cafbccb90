// Allreduce sums a vector over several processes and tells how long it took.
//
//	for r in 0 1 2; do
//		go run ./examples/allreduce -rank $r 127.0.0.1:7000 127.0.0.1:7064 127.0.0.1:7128 &
//	done
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/collective"
)

func main() {
	rank, length := flag.Int("rank", 0, "place of this process among the addresses"), flag.Int("length", 1<<20, "numbers in the vector")
	flag.Parse()
	if err := run(context.Background(), *rank, *length, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "allreduce:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rank, length int, names []string) error {
	if rank < 0 || rank >= len(names) {
		return fmt.Errorf("rank %d of %d addresses", rank, len(names))
	}
	e, err := transport.Listen(ctx, names[rank], transport.Config{})
	if err != nil {
		return err
	}
	defer e.Close()
	g, err := collective.Join(ctx, e, rank, names)
	if err != nil {
		return err
	}
	v := make([]float32, length)
	for i := range v {
		v[i] = float32(rank + 1)
	}
	if err := g.Barrier(ctx); err != nil { // all are there
		return err
	}
	begun := time.Now()
	if err := g.AllReduce(ctx, v, collective.Sum); err != nil {
		return err
	}
	took := time.Since(begun)
	want := float32(len(names) * (len(names) + 1) / 2)
	for i, x := range v {
		if x != want {
			return fmt.Errorf("element %d is %g; expected %g", i, x, want)
		}
	}
	fmt.Printf("rank %d: %d numbers among %d in %v\n", rank, length, len(names), took)
	return g.Barrier(ctx) // nobody leaves before all have what they need
}
