package wiretest_test

import (
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	. "github.com/weft-transport/weft/compare/rocev2/wiretest"
)

// What was captured is the same in any kind of file, packed or not; what is no RoCE v2, and what was not captured as a
// whole, is passed over.
func TestKindsOfFiles(t *testing.T) {
	const name = "../wire/testdata/rc-atomic.pcap"
	plain, err := os.ReadFile(name)
	require.NoError(t, err)
	alone, err := Read(fstest.MapFS{"a.pcap": {Data: plain}})
	require.NoError(t, err)
	require.Len(t, alone[0].Frames, 14)

	var other bytes.Buffer
	w, err := capture.NewWriter(&other, "", "", []capture.Port{{Name: "tagged"}}, capture.Limits{Snap: 120})
	require.NoError(t, err)
	tagged := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x81\x00\x60\x05\x08\x00")
	for _, f := range alone[0].Frames {
		w.Write(0, f.At, capture.Unknown, 0, append(tagged[:len(tagged):len(tagged)], f.Datagram...))
	}
	w.Write(0, 0, capture.Unknown, 0, append(tagged[:len(tagged):len(tagged)], make([]byte, 200)...))
	w.Write(0, 0, capture.Unknown, 0, append(tagged[:16:16], 8, 6))
	require.NoError(t, w.Flush())
	all, err := Read(fstest.MapFS{"a.pcapng": {Data: other.Bytes()}, "b.pcap": {Data: plain}, "b.pcapng": {Data: other.Bytes()}, "c.pcap.bak": {}})
	require.NoError(t, err)
	require.Len(t, all, 2, "one of each name")
	require.Equal(t, "a", all[0].Name)
	require.Equal(t, alone[0].Frames, all[0].Frames)
	require.Equal(t, alone[0].Frames, all[1].Frames)

	_, err = Read(fstest.MapFS{"a.pcap": {Data: plain[:100]}})
	require.ErrorContains(t, err, "a.pcap: broken at byte ")
}
