package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
)

func TestFilecopy(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	b := make([]byte, 3_000_001)
	rand.NewChaCha8([32]byte{1}).Read(b)
	require.NoError(t, os.WriteFile(filepath.Join(from, "b.bin"), b, 0o666))
	server, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	defer server.Close()
	client, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	defer client.Close()
	taken := make(chan error, 1)
	go func() { taken <- take(t.Context(), server, to) }()
	require.NoError(t, give(t.Context(), client, server.Name(), filepath.Join(from, "b.bin")))
	require.NoError(t, <-taken)
	got, err := os.ReadFile(filepath.Join(to, "b.bin"))
	require.NoError(t, err)
	require.True(t, string(b) == string(got))
}
