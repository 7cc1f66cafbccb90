package main

import (
	"context"
	"encoding/binary"
	"hash/crc32"
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
	bad := make([]byte, slotSize) // lengths beyond the slot, with their checksum
	bad[4], bad[5] = 255, 255
	binary.LittleEndian.PutUint32(bad, crc32.ChecksumIEEE(bad[4:]))
	p, err := client.Dial(t.Context(), to)
	require.NoError(t, err)
	require.NoError(t, p.Send(t.Context(), bad, transport.Complete, transport.Deferrable))
	require.NoError(t, put(t.Context(), client, to, "last", "one"))
	ahead("last", "one")
	require.ErrorContains(t, put(t.Context(), client, to, "long", strings.Repeat("x", 300)), "expected 250 at most")
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, transport.ErrClosed)
}

// TestParse: a slot that is being written to is not mistaken for another key.
func TestParse(t *testing.T) {
	slot := make([]byte, slotSize)
	_, _, ok := parse(slot)
	require.True(t, ok, "an empty one")
	slot[4], slot[head] = 1, 'k'
	_, _, ok = parse(slot)
	require.False(t, ok, "its checksum is still to come")
	binary.LittleEndian.PutUint32(slot, crc32.ChecksumIEEE(slot[4:]))
	key, value, ok := parse(slot)
	require.True(t, ok)
	require.Equal(t, "k", key)
	require.Empty(t, value)
}
