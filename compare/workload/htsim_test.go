package workload

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func readMatrix(text string) (*Plan, error) {
	return ReadHtsim(strings.NewReader(text), "x.cm", instant.Microsecond)
}

func TestReadHtsim(t *testing.T) {
	p, err := readMatrix("\ufeff# made by hand\r\n" +
		"Connections 5\r\nNodes 16\nTriggers 3\n" +
		"0->13 id 1 start 0 size 3000000000 send_done_trigger 7\n" +
		"13->7\tid 2  trigger 7 size 1000 recv_done_trigger 9\n" +
		"# a comment in the body\n" +
		"1->2 start 2.5 size 10 recv_done_trigger 9 prio 3\n" +
		"2->3 id 4 msg 4 trigger 9 size 20 send_done_trigger 8\n" +
		"2->3 id 4 msg trigger 8 size 30\n" +
		"trigger id 7 oneshot\ntrigger id 9 barrier count 2\ntrigger id 8 multishot\n")
	require.NoError(t, err)
	require.Equal(t, 16, p.Nodes)
	require.Equal(t, []Trigger{{Kind: Oneshot}, {Kind: Barrier, Count: 2}, {Kind: Multishot}}, p.Triggers)
	require.Equal(t, []Flow{
		{Src: 0, Dst: 13, Bytes: 3_000_000_000, SendDone: 1, Measured: true},
		{Src: 13, Dst: 7, Bytes: 1000, Start: instant.Never, StartTrigger: 1, RecvDone: 2, Measured: true},
		{Src: 1, Dst: 2, Bytes: 10, Start: 2500 * instant.Nanosecond, RecvDone: 2, Measured: true},
		{Src: 2, Dst: 3, Bytes: 20, Start: instant.Never, StartTrigger: 2, SendDone: 3, Measured: true},
		{Src: 2, Dst: 3, Bytes: 30, Start: instant.Never, StartTrigger: 3, Measured: true},
	}, p.Flows)
}

func TestStartUnit(t *testing.T) {
	p, err := ReadHtsim(strings.NewReader("Nodes 2\nConnections 1\n0->1 start 40 size 1"), "x.cm", instant.Picosecond)
	require.NoError(t, err)
	require.Equal(t, 40*instant.Picosecond, p.Flows[0].Start)

	files := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("Nodes 128\nConnections 1\n0->1 start 40 size 1")), nil
	}
	e := env()
	e.Open = files
	p = plan(t, e, "htsim", params{"file": "dir/x.cm"})
	require.Equal(t, 40*instant.Microsecond, p.Flows[0].Start)
	require.Equal(t, []string{"start times of x.cm are read as us"}, p.Notes)
	e.Hosts = 64
	_, err = tryPlan(e, "htsim", params{"file": "dir/x.cm"})
	require.EqualError(t, err, "dir/x.cm is for 128 hosts, the fabric has 64")
	_, err = tryPlan(e, "htsim", nil)
	require.EqualError(t, err, "workload htsim: file is missing; expected the name of a connection matrix")
}

func TestReadHtsimSaysWhatIsWrong(t *testing.T) {
	const head = "Nodes 4\nConnections 1\n"
	for text, want := range map[string]string{
		"":                              "x.cm: the line Nodes N is missing",
		"Nodes 4\n":                     "x.cm:1: the line Connections N is missing",
		"Nodes 4\nConnections 0\n":      "x.cm: there are no connections",
		"Nodes four\n":                  `x.cm:1: Nodes: "four" is not a whole number`,
		"Nodes 4 5\n":                   "x.cm:1: Nodes takes one number, not 2",
		"Nodes 4\nNodes 4\n":            "x.cm:2: Nodes is given twice",
		"Hosts 4\n":                     `x.cm:1: "Hosts" is no header word; expected Nodes, Connections, Triggers, or a connection such as 0->13 start 0 size 2000000`,
		"0->1 start 0 size 1\n":         "x.cm:1: a connection before the line Nodes N, which says how many hosts there are",
		head + "0->4 start 0 size 1\n":  "x.cm:3: host: 4 is outside 0 to 3",
		head + "-1->2 start 0 size 1\n": "x.cm:3: host: -1 is outside 0 to 3",
		head + "0->x start 0 size 1\n":  `x.cm:3: host: "x" is not a whole number`,
		head + "0->0 start 0 size 1\n":  "x.cm:3: host 0 sends to itself",
		head + "0->1 start 0\n":         "x.cm:3: size is missing; expected size and the bytes of the flow",
		head + "0->1 start 0 size 0\n":  "x.cm:3: size 0 means an endless flow in this format; expected the bytes of the flow",
		head + "0->1 start 0 size 99999999999999999999\n":                              "x.cm:3: size: 99999999999999999999 is outside 0 to 1125899906842624",
		head + "0->1 start -1 size 1\n":                                                "x.cm:3: start: -1 is outside 0 to 1e+09",
		head + "0->1 start NaN size 1\n":                                               `x.cm:3: start: "NaN" is not a number`,
		head + "0->1 size 1\n":                                                         "x.cm:3: expected either start and a time, or trigger and a number",
		head + "0->1 start 0 trigger 1 size 1\n":                                       "x.cm:3: expected either start and a time, or trigger and a number",
		head + "0->1 start 0 size 1 size 2\n":                                          "x.cm:3: size is given twice",
		head + "0->1 start 0 size\n":                                                   "x.cm:3: size has no value",
		head + "0->1 start 0 bytes 1\n":                                                `x.cm:3: unknown word "bytes"; expected one of id, start, trigger, size, send_done_trigger, recv_done_trigger, prio, msg`,
		head + "0->1 id 0 start 0 size 1\n":                                            "x.cm:3: id: 0 is outside 1 to 4611686018427387904",
		"Nodes 4\nConnections 2\n0->1 id 5 start 0 size 1\n1->2 id 5 start 0 size 1\n": "x.cm:4: id 5 is that of line 3, too",
		head + "0->1 trigger 3 size 1\n":                                               "x.cm:3: trigger 3 is not defined; expected a line trigger id 3 oneshot, multishot or barrier",
		head + "Triggers 1\n0->1 trigger 3 size 1\ntrigger id 3 oneshot\n":             "x.cm:4: never starts: nothing activates trigger 3",
		head + "Triggers 1\n0->1 start 0 size 1 send_done_trigger 3 recv_done_trigger 3\ntrigger id 3 barrier count 1\n": "trigger 3: the barrier counts to 1 but is activated 2 times",
		head + "0->1 start 0 size 1\ntrigger id 3 oneshot\n":                                                             "x.cm:4: the header announces 0 triggers but there are 1",
		head + "Triggers 2\n0->1 start 0 size 1\n":                                                                       "x.cm:4: the header announces 2 triggers but there are 0",
		"Nodes 4\nConnections 3\n0->1 start 0 size 1\n":                                                                  "x.cm:3: the header announces 3 connections but there are 1",
		head + "Failures 1\n0->1 start 0 size 1\n":                                                                       "x.cm:4: the header announces 1 failures but there are 0",
		head + "0->1 start 0 size 1\nNodes 5\n":                                                                          `x.cm:4: "Nodes" starts neither a connection (0->13 ...) nor a trigger`,
		head + "trigger 3 oneshot\n":                                                                                     "x.cm:3: expected trigger id N oneshot, trigger id N multishot or trigger id N barrier count N",
		head + "trigger id 3 twice\n":                                                                                    `x.cm:3: "twice" is no kind of trigger; expected oneshot, multishot or barrier count N`,
		head + "trigger id 3 barrier\n":                                                                                  `x.cm:3: "barrier" is no kind of trigger; expected oneshot, multishot or barrier count N`,
		head + "trigger id 3 barrier count 0\n":                                                                          "x.cm:3: count: 0 is outside 1 to 1073741824",
		head + "trigger id 3 oneshot\ntrigger id 3 oneshot\n":                                                            "x.cm:4: trigger 3 is that of line 3, too",
		head + "failure switch_type AGG switch_id 0 link_id 0\n":                                                         "x.cm:3: failure lines are not read (the tools of this format stop at them); put the link under faults: in the scenario, such as {at: 0, link: agg0-core0, kind: down}",
	} {
		_, err := readMatrix(text)
		require.EqualError(t, err, want, "%s", text)
	}
}

// What is written reads back as the same plan.
func TestWriteHtsim(t *testing.T) {
	p := plan(t, env(), "ringallreduce", params{"group": "8", "groups": "1", "placement": "random"})
	var text bytes.Buffer
	require.NoError(t, WriteHtsim(&text, p, instant.Picosecond))
	back, err := ReadHtsim(&text, "x.cm", instant.Picosecond)
	require.NoError(t, err)
	require.Equal(t, p.Triggers, back.Triggers)
	require.Equal(t, starts(p), starts(back), "triggers may be numbered anew; what they do may not change")

	require.EqualError(t, WriteHtsim(io.Discard, &Plan{Flows: []Flow{{Dst: 1}}}, 1),
		"flow 0 (0->1): an empty message cannot be written: size 0 is an endless flow in this format")
	require.EqualError(t, WriteHtsim(io.Discard, &Plan{Flows: []Flow{{Dst: 1, Bytes: 1, Start: 1500}}}, instant.Nanosecond),
		"flow 0 (0->1): starts at 1.5ns, which is no whole number of 1ns")
}

// starts lists what starts in which step.
func starts(p *Plan) []string {
	var list []string
	run(p, func(at int, i int32) {
		f := p.Flows[i]
		list = append(list, fmt.Sprint(at, f.Src, f.Dst, f.Bytes, f.Start))
	})
	return list
}

// Matrices of the kind that the tools' own generators write.
func TestReadSamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cm")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		p, err := ReadHtsim(file, name, instant.Microsecond)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, 128, p.Nodes)
		started := 0
		run(p, func(int, int32) { started++ })
		require.Equal(t, len(p.Flows), started, name)
	}
}

func FuzzReadHtsim(f *testing.F) {
	f.Add("Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 5 send_done_trigger 1\n1->2 id 2 trigger 1 size 6\ntrigger id 1 barrier count 1\n")
	f.Add("Nodes 3\nConnections 1\n0->1 msg start 1.5 size 7 prio 2\nfailure x\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readMatrix(text)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		var again bytes.Buffer
		require.NoError(t, WriteHtsim(&again, p, instant.Picosecond))
		back, err := ReadHtsim(&again, "x.cm", instant.Picosecond)
		require.NoError(t, err)
		require.Equal(t, len(p.Flows), len(back.Flows))
		require.Equal(t, p.TotalBytes(), back.TotalBytes())
	})
}

func FuzzReadCDF(f *testing.F) {
	f.Add("0 0\n1000 50\n2000 100\n")
	f.Add("0 100\n1 100\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadCDF(strings.NewReader(text), "x.txt")
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Greater(t, c.Mean(), 0.0)
		require.LessOrEqual(t, c.Quantile(0.3), c.Quantile(0.7))
	})
}
