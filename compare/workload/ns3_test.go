package workload

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func TestReadNS3(t *testing.T) {
	p, err := ReadNS3(strings.NewReader("3\n0 1 3 100 5000 2.000000001\n1 2 3 7000 2.5\n2 0 3 100 3000000000 2\n"), "flow.txt", 4)
	require.NoError(t, err)
	require.Equal(t, []Flow{
		{Src: 0, Dst: 1, Bytes: 5000, Start: 2*instant.Second + instant.Nanosecond, Measured: true},
		{Src: 1, Dst: 2, Bytes: 7000, Start: 2500 * instant.Millisecond, Measured: true},
		{Src: 2, Dst: 0, Bytes: 3_000_000_000, Start: 2 * instant.Second, Measured: true},
	}, p.Flows)
}

func TestNS3Workload(t *testing.T) {
	e := env()
	e.Open = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("3\n0 1 3 100 5000 2.003\n1 2 3 100 7000 2.001\n2 3 3 100 1 2.009")), nil
	}
	p := plan(t, e, "ns3", params{"file": "flow.txt"})
	require.Equal(t, []instant.Time{2 * instant.Millisecond, 0, 8 * instant.Millisecond}, []instant.Time{p.Flows[0].Start, p.Flows[1].Start, p.Flows[2].Start})
	require.Equal(t, []string{"start times of flow.txt are counted from 2.001s"}, p.Notes)
	p = plan(t, e, "ns3", params{"file": "flow.txt", "from": "2s", "warmup": "2ms", "duration": "5ms"})
	require.Equal(t, []bool{true, false, false}, []bool{p.Flows[0].Measured, p.Flows[1].Measured, p.Flows[2].Measured})
	_, err := tryPlan(e, "ns3", params{"file": "flow.txt", "from": "3s"})
	require.EqualError(t, err, "from: 3s is after the first flow of flow.txt, which starts at 2.001s")
}

func TestReadNS3SaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "x: the file is empty; expected the number of flows",
		"many\n":                        `x:1: number of flows: "many" is not a whole number`,
		"0\n":                           "x:1: number of flows: 0 is outside 1 to 16777216",
		"0 1 3 100 5 2\n":               "x:1: 6 columns; expected the number of flows alone on the first line",
		"2\n0 1 3 100 5 2\n":            "x:2: the first line announces 2 flows but there are 1",
		"1\n0 1 3 100 5 2\n0 1 3 9 5 2": "x:3: the first line announces 1 flows but there are more",
		"1\n0 1 3 100\n":                "x:2: 4 columns; expected src dst priority [port] bytes start_seconds",
		"1\n0 4 3 100 5 2\n":            "x:2: dst: 4 is outside 0 to 3",
		"1\n1 1 3 100 5 2\n":            "x:2: host 1 sends to itself",
		"1\n0 1 9 100 5 2\n":            "x:2: priority: 9 is outside 0 to 7",
		"1\n0 1 3 100 -5 2\n":           "x:2: bytes: -5 is outside 0 to 1125899906842624",
		"1\n0 1 3 100 5 soon\n":         `x:2: start_seconds: "soon" is not a number`,
		"1\n0 1 3 100 5 1e9\n":          "x:2: start_seconds: 1e9 is outside 0 to 1000",
	} {
		_, err := ReadNS3(strings.NewReader(text), "x", 4)
		require.EqualError(t, err, want, "%s", text)
	}
}

func TestWriteNS3(t *testing.T) {
	p := plan(t, env(), "poisson", params{"maxFlows": "50"})
	var text bytes.Buffer
	require.NoError(t, WriteNS3(&text, p, 2*instant.Second))
	back, err := ReadNS3(&text, "x", 128)
	require.NoError(t, err)
	for i, f := range back.Flows {
		require.Equal(t, p.Flows[i].Start+2*instant.Second, f.Start)
		require.Equal(t, p.Flows[i].Bytes, f.Bytes)
	}
	require.EqualError(t, WriteNS3(io.Discard, plan(t, env(), "pair", params{"messages": "2"}), 0),
		"flow 1 (0->127): waits for a trigger, which this format cannot say")
}

func TestWriteFCT(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, WriteFCT(&text, []FCTRow{
		{Src: 0, Dst: 300, Sport: 10000, Dport: 100, Bytes: 5000, Start: 2 * instant.Second, FCT: 12_345_678, Ideal: 9_000_499},
	}))
	require.Equal(t, "0b000001 0b012c01 10000 100 5000 2000000000 12346 9000\n", text.String())
}

func FuzzReadNS3(f *testing.F) {
	f.Add("2\n0 1 3 100 5000 2.000000001\n1 2 3 7000 2.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadNS3(strings.NewReader(text), "x", 4)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		var again bytes.Buffer
		require.NoError(t, WriteNS3(&again, p, 0))
		back, err := ReadNS3(&again, "x", 4)
		require.NoError(t, err)
		require.Equal(t, p.TotalBytes(), back.TotalBytes())
	})
}
