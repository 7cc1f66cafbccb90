package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
)

func TestKV(t *testing.T) {
	server, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- serve(context.Background(), server) }()
	client, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	defer client.Close()
	to := server.Name()
	require.NoError(t, put(t.Context(), client, to, "colour", "blue"))
	require.NoError(t, put(t.Context(), client, to, "shape", "round"))
	require.NoError(t, put(t.Context(), client, to, "colour", "green"))
	ahead := func(key, want string) { // a send is answered before the server has carried it out
		require.Eventually(t, func() bool {
			got, err := get(t.Context(), client, to, key)
			return err == nil && got == want
		}, time.Minute, time.Millisecond)
	}
	ahead("colour", "green")
	ahead("shape", "round")
	_, err = get(t.Context(), client, to, "weight")
	require.EqualError(t, err, `no key "weight"`)
	require.ErrorContains(t, put(t.Context(), client, to, "long", strings.Repeat("x", 300)), "expected 250 at most")
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, transport.ErrClosed)
}
