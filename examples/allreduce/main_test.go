package main

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
)

func TestAllreduce(t *testing.T) {
	names := make([]string, 3)
	var held []*transport.Endpoint
	for i := range names { // blocks of ports that are free
		e, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
		require.NoError(t, err)
		names[i], held = e.Name(), append(held, e)
	}
	for _, e := range held {
		require.NoError(t, e.Close())
	}
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for r := range names {
		all.Go(func() { errs[r] = run(t.Context(), r, 200_000, names) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Error(t, run(t.Context(), 3, 1, names))
}
