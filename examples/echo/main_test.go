package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
)

func TestEcho(t *testing.T) {
	server, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- serve(server) }()
	client, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, err)
	defer client.Close()
	var answer bytes.Buffer
	for {
		if err = ask(t.Context(), client, server.Name(), "hello", &answer); !transport.Retryable(err) && err != transport.ErrRefusedStream {
			break
		}
	}
	require.NoError(t, err)
	require.Equal(t, "hello\n", answer.String())
	require.NoError(t, server.Close())
	require.NoError(t, <-served)
}
