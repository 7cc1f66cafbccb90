package cli_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// urgentKey is in the environment of the program below: whom it shouts at.
const urgentKey = "WEFT_EMULATED_URGENT"

// TestUrgentProgram is no test, but that program: 20 datagrams with EF, and 20 without.
func TestUrgentProgram(t *testing.T) {
	to := os.Getenv(urgentKey)
	if to == "" {
		t.Skip("it is run by another test")
	}
	c, err := net.Dial("udp4", to+":9")
	require.NoError(t, err)
	raw, err := c.(*net.UDPConn).SyscallConn()
	require.NoError(t, err)
	for _, dscp := range []int{46, 0} {
		require.NoError(t, raw.Control(func(fd uintptr) {
			require.NoError(t, syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TOS, dscp<<2))
		}))
		for range 20 {
			_, _ = c.Write(make([]byte, 1000)) // refused: nobody listens
		}
	}
}

// A scenario's classes are played, by the carrier that has them, and shown.
func TestEmulateRunInClasses(t *testing.T) {
	name := namespaces(t)
	file := emulated(t)
	text := strings.Replace(readFile(t, file), "rate: 1Gbps", "rate: 10Mbps, buffer: {perSwitch: 1MB}, classes: [{name: bulk, flowControl: pfc, xoff: 20KB, xon: 10KB}, {name: urgent, dscp: EF, priority: 1, queue: 5000}]", 1)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	status, _, stderr := weft("emulate", "run", file, "--name", name, "--carrier", "netns", "--on", "h0", "true", "--out", t.TempDir())
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "namespaces do not play traffic classes; --carrier live does")

	out := t.TempDir()
	self := "cd . && " + urgentKey + "=h3 " + os.Args[0] + " -test.run=^TestUrgentProgram$"
	status, _, stderr = weft("emulate", "run", file, "--name", name, "--out", out, "--on", "h1", self, "--on", "h0", self+" && sleep 0.5")
	require.Equal(t, cli.Done, status, stderr)
	require.Contains(t, stderr, "class urgent")
	for _, row := range strings.Split(strings.TrimSpace(readFile(t, filepath.Join(out, "links.jsonl"))), "\n")[1:] {
		var link struct {
			Link    string
			Classes []struct {
				Class    string
				MaxQueue int64 `json:"max_queue_bytes"`
				Dropped  uint64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(row), &link))
		if link.Link == "leaf1-h3" || strings.HasSuffix(link.Link, "-h3") {
			require.Len(t, link.Classes, 2)
			require.Equal(t, "bulk", link.Classes[0].Class)
			require.Positive(t, link.Classes[0].MaxQueue)
			require.Positive(t, link.Classes[1].MaxQueue)
			require.LessOrEqual(t, link.Classes[1].MaxQueue, int64(5000))
			return
		}
	}
	t.Fatal("no link to h3")
}

// What a network cannot have is refused in one line, before anything is brought up.
func TestEmulateRefusesClasses(t *testing.T) {
	for classes, why := range map[string]string{
		"[{name: bulk, flowControl: pfc}, {name: urgent}]":               "and its lossless classes need",
		"[{name: bulk, ecnMin: 100KB, ecnMax: 1bdp}, {name: urgent}]":    "fabric.classes.0: class.ecnMin: 100000 is above class.ecnMax: ",
		"[{name: bulk}, {name: urgent, dscp: EF}, {name: b, dscp: 46}]":  "fabric.classes: DSCP 46 is of both urgent and b; expected one class for each",
		"[{name: bulk, telemetry: true}, {name: urgent, dscp: expired}]": `fabric.classes.0: unknown field "telemetry"`,
	} {
		file := emulated(t)
		text := strings.Replace(readFile(t, file), "rate: 1Gbps", "rate: 1Gbps, classes: "+classes, 1)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		status, _, stderr := weft("emulate", "run", file, "--carrier", "live", "--on", "h0", "true", "--out", t.TempDir())
		require.Equal(t, cli.Usage, status, classes)
		require.Contains(t, stderr, why)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
