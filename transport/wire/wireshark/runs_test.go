package wireshark_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/cli"
	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// eventful is a scenario in which packets are trimmed, marked, damaged, lost, and dropped in front of queues.
const eventful = `
name: eventful
fabric: {topology: leafspine, hosts: 16, leaves: 4, spines: 2, rate: 100Gbps, loss: {random: 0.3%, corrupt: 1%}}
workload: {kind: incast, degree: 9, size: 64KiB, receiver: 0}
protocols:
  - {protocol: "uet,class.queue=60KB,class.ecnMin=10KB,class.ecnMax=60KB", label: uet}
  - {protocol: "rocev2,class.flowControl=none,class.queue=60KB,class.ecnMin=10KB,class.ecnMax=60KB", label: rocev2}
seeds: 1
`

// captured plays the scenario and returns the capture of a protocol.
func captured(t *testing.T, protocol string, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	scenario := filepath.Join(dir, "eventful.yaml")
	require.NoError(t, os.WriteFile(scenario, []byte(eventful), 0o600))
	var out, complaints bytes.Buffer
	args := append([]string{"compare", scenario, "--quiet", "--out", "", "--pcap", filepath.Join(dir, "run.pcapng")}, more...)
	require.Equal(t, cli.Done, cli.Run(t.Context(), args, &out, &complaints), "%v: %s", args, complaints.String())
	files, err := filepath.Glob(filepath.Join(dir, "run-eventful-"+protocol+"*.pcapng"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// TestVirtualRun reads the capture of a run on a fabric: every frame as package wire does, and everything that the
// comments of the recorder tell of its fate where the dissector can see it.
func TestVirtualRun(t *testing.T) {
	requireTshark(t)
	for _, place := range []string{"hosts", "links"} {
		t.Run(place, func(t *testing.T) { virtualRun(t, captured(t, "uet", "--pcap-at", place)) })
	}
}

func virtualRun(t *testing.T, file string) {
	all := frames(t, file)
	config := encap.Default
	config.DSCP = capture.Rules
	n, rows := alike(t, file, all, &config, "frame.comment", "frame.interface_name", "uet.trimmed", "uet.analysis.retransmission_of", "uet.expert.retransmission", "uet.analysis.missing")
	require.Equal(t, len(all), n, "every frame is UET")

	fates := map[string]int{}
	for i, row := range rows {
		comment, trimmed, status := row["frame.comment"], row["uet.trimmed"] == "1", row["uet.crc.status"]
		require.Equal(t, strings.Contains(comment, "trimmed in front"), trimmed, "frame %d: %s", i+1, comment)
		require.Equal(t, strings.Contains(comment, "damaged on") && !trimmed, status == "0", "frame %d: CRC status %s; %s", i+1, status, comment)
		again := row["uet.expert.retransmission"] != ""
		isRequest := slices.Contains([]string{"2", "3", "11"}, row["uet.pds.type"])
		require.Equal(t, isRequest && row["uet.pds.flags.retx"] == "1", again, "frame %d is sent again: %q", i+1, row)
		require.Equal(t, again, row["uet.analysis.retransmission_of"] != "", "frame %d: which one", i+1)
		if at := row["frame.interface_name"]; at == capture.DropsPort || strings.Contains(at, "leaf") && strings.Contains(at, "spine") {
			require.Empty(t, row["uet.analysis.missing"], "frame %d: what is missing says nothing there", i+1)
		}
		for _, fate := range []string{"trimmed in", "damaged on", "marked CE", "dropped"} {
			if strings.Contains(comment, fate) {
				fates[fate]++
			}
		}
		if again {
			fates["again"]++
		}
	}
	t.Logf("%d frames: %v", len(all), fates)
	for _, fate := range []string{"trimmed in", "damaged on", "marked CE", "dropped", "again"} {
		require.NotZero(t, fates[fate], fate)
	}
}

// TestSnappedRun reads a capture that keeps the headers only: nothing is malformed, nothing is known of the CRC.
func TestSnappedRun(t *testing.T) {
	requireTshark(t)
	for _, snap := range []string{"64", "128"} {
		file := captured(t, "uet", "--pcap-snap", snap, "--pcap-packets", "300")
		whole := 0
		for i, row := range columns(t, file, "frame", []string{"uet.expert.malformed", "_ws.malformed", "uet.crc.status", "frame.len", "frame.cap_len", "uet.pds.psn", "uet.pds.cack_psn", "uet.trimmed", "uet.pds.nack.psn"}) {
			require.Empty(t, row[0], "frame %d", i+1)
			require.Equal(t, row[7] == "1", row[1] != "", "frame %d: only UDP complains, of its length in trimmed packets", i+1)
			require.NotEmpty(t, row[5]+row[6]+row[8], "frame %d: %q", i+1, row)
			if row[3] == row[4] {
				whole++
				continue
			}
			require.Equal(t, "2", row[2], "frame %d: CRC status", i+1)
		}
		require.NotZero(t, whole, "short packets are whole")
	}
}

// TestRoCE lets Wireshark's own dissector read the capture of a RoCE v2 run: the opcodes, PSNs and queue pairs that were meant.
func TestRoCE(t *testing.T) {
	requireTshark(t)
	file := captured(t, "rocev2")
	opcodes := map[roce.Opcode]int{}
	out := plainTshark(t, "-r", file, "-T", "fields", "-E", "separator=/t", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn", "-e", "infiniband.bth.destqp",
		"-e", "_ws.malformed")
	rows := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	all := frames(t, file)
	require.Len(t, rows, len(all))
	for i, line := range rows {
		row := strings.Split(line, "\t")
		d := datagram(all[i])
		ip, why := encap.Parse(d, &encap.Default)
		require.Equal(t, encap.OK, why)
		require.Equal(t, encap.RoCE, ip.Kind)
		var h roce.Header
		_, refused := roce.Parse(d[ip.Payload:ip.End], roce.Standard, &h)
		require.Equal(t, roce.Accepted, refused, "frame %d", i+1)
		require.Equal(t, strconv.Itoa(int(h.Opcode)), plain(row[0]), "frame %d from port %d: opcode", i+1, ip.Entropy)
		require.Equal(t, strconv.Itoa(int(h.PSN)), plain(row[1]), "frame %d: PSN", i+1)
		require.Equal(t, strconv.Itoa(int(h.DestQP)), plain(row[2]), "frame %d: queue pair", i+1)
		require.Empty(t, row[3], "frame %d is malformed", i+1)
		opcodes[h.Opcode]++
	}
	t.Logf("%d frames: %v", len(all), opcodes)
	require.Greater(t, len(opcodes), 3)
}
