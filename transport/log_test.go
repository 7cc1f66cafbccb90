package transport_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
)

// TestLogger: a line when an endpoint opens, one when it closes, whatever happens in between.
func TestLogger(t *testing.T) {
	var text bytes.Buffer
	a, b := listen(t, transport.Config{Logger: slog.New(slog.NewJSONHandler(&text, nil))}), listen(t, transport.Config{})
	p, err := a.Dial(t.Context(), b.Name())
	require.NoError(t, err)
	require.Error(t, p.Write(t.Context(), []byte{1}, transport.Remote{Key: 1}))
	require.NoError(t, p.Send(t.Context(), []byte{1}))
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	var lines []map[string]any
	for d := json.NewDecoder(&text); d.More(); {
		var line map[string]any
		require.NoError(t, d.Decode(&line))
		require.Equal(t, a.Name(), line["endpoint"])
		require.NotZero(t, line["lanes"])
		lines = append(lines, line)
	}
	require.Len(t, lines, 2)
	require.Equal(t, "transport: open", lines[0]["msg"])
	require.Equal(t, "transport: closing", lines[1]["msg"])
	require.NotContains(t, lines[0], "sent")
	require.EqualValues(t, 1, lines[1]["messages_failed"])
	require.GreaterOrEqual(t, lines[1]["sent"], 2.0)
}
