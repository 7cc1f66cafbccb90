package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/cli"
)

// programKey is in the environment of the programs that weft emulate run runs in these tests: what they do.
const programKey = "WEFT_EMULATED_PROGRAM"

// TestEmulatedProgram is no test, but those programs: one answers datagrams, one asks a host by its name.
func TestEmulatedProgram(t *testing.T) {
	role, host, _ := strings.Cut(os.Getenv(programKey), ":")
	switch role {
	case "answer":
		c, err := net.ListenPacket("udp4", ":7")
		require.NoError(t, err)
		buf := make([]byte, 100)
		for {
			n, from, err := c.ReadFrom(buf)
			require.NoError(t, err)
			_, _ = c.WriteTo(buf[:n], from) // it may be gone
		}
	case "ask":
		c, err := net.Dial("udp4", host+":7")
		require.NoError(t, err)
		buf := make([]byte, 100)
		least := time.Hour
		for got, tries := 0, 0; got < 10; tries++ {
			require.Less(t, tries, 200)
			asked := time.Now()
			_, _ = c.Write([]byte{byte(tries)}) // refused until the other one listens
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if n, err := c.Read(buf); err != nil || n != 1 || buf[0] != byte(tries) {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			got, least = got+1, min(least, time.Since(asked))
		}
		fmt.Println("least", least.Microseconds())
	default:
		t.Skip("it is run by other tests")
	}
}

// namespaces skips where a network cannot be brought up.
func namespaces(t *testing.T) (name string) {
	_, err := os.Stat("/dev/net/tun")
	if os.Getuid() != 0 || err != nil || exec.Command("ip", "netns", "list").Run() != nil {
		t.Skip("networks in namespaces take root, iproute2 and /dev/net/tun")
	}
	return fmt.Sprintf("t%d", os.Getpid())
}

// Programs that know nothing of the network meet its delays, losses and names; results say how well it was played; nothing is
// left.
func TestEmulateRunLive(t *testing.T) {
	name := namespaces(t)
	out := t.TempDir()
	pcap := filepath.Join(out, "links.pcapng")
	self := func(role string) string {
		return "cd . && " + programKey + "=" + role + " " + os.Args[0] + " -test.run=^TestEmulatedProgram$" // by the shell
	}
	status, stdout, stderr := weft("emulate", "run", emulated(t), "--set", "fabric.rate=100Mbps", "--carrier", "live", "--name", name, "--out", out, "--pcap", pcap,
		"--netem", "leaf0-h0=delay 4ms loss 20% seed 2", "--on", "h3", self("answer"), "--on", "h0", self("ask:h3"))
	require.Equal(t, cli.Done, status, stderr)
	var least int
	_, err := fmt.Sscanf(stdout, "least %d", &least)
	require.NoError(t, err, stdout)
	require.GreaterOrEqual(t, least, 8000, "there and back")
	require.Contains(t, stderr, "validity: ")
	require.NotContains(t, stdout+stderr, "because", "it was asked for")

	rows := strings.Split(readFile(t, filepath.Join(out, "links.jsonl")), "\n")
	var head struct {
		Kind, Carrier string
		Validity      struct {
			Datagrams uint64
			Shaped    []struct {
				Link    string
				Packets uint64
				Delay   float64 `json:"delay_us"`
			} `json:"shaped_links"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(rows[0]), &head))
	require.Equal(t, "emulation", head.Kind)
	require.Equal(t, "live", head.Carrier)
	require.Greater(t, head.Validity.Datagrams, uint64(19))
	require.Len(t, head.Validity.Shaped, 2)
	require.InDelta(t, 4000, head.Validity.Shaped[0].Delay, 1)
	var link struct {
		Kind, Link string
		Packets    uint64
	}
	require.NoError(t, json.Unmarshal([]byte(rows[1]), &link))
	require.Equal(t, "link", link.Kind)
	require.NotZero(t, link.Packets)

	in, err := capture.NewReader(strings.NewReader(readFile(t, pcap)))
	require.NoError(t, err)
	var frames, lost int
	for f := new(capture.Frame); ; frames++ {
		if err := in.Next(f); err == io.EOF {
			break
		}
		for _, c := range f.Comments {
			if strings.Contains(c, "dropped on ") {
				lost++
			}
		}
	}
	require.Greater(t, frames, 4*20)
	require.NotZero(t, lost, "comments say where")
	left, err := filepath.Glob("/run/netns/" + name + ".*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// Namespaces say how well they were played too.
func TestEmulateRunInNamespaces(t *testing.T) {
	name := namespaces(t)
	out := t.TempDir()
	status, _, stderr := weft("emulate", "run", emulated(t), "--set", "fabric.rate=100Mbps", "--carrier", "netns", "--name", name, "--out", out, "--on", "h0", "true")
	if strings.Contains(stderr, "this kernel has no") || strings.Contains(stderr, "is missing") {
		t.Skip(stderr)
	}
	require.Equal(t, cli.Done, status, stderr)
	require.Contains(t, stderr, "validity: idle round trip from h0 to h3 ")
	head, _, _ := strings.Cut(readFile(t, filepath.Join(out, "links.jsonl")), "\n")
	var row struct {
		Validity struct {
			Valid *bool
			RTT   float64 `json:"idle_rtt_us"`
			Links []struct {
				Asked int64 `json:"asked_rate_bps"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(head), &row))
	require.NotNil(t, row.Validity.Valid)
	require.Positive(t, row.Validity.RTT)
	require.NotEmpty(t, row.Validity.Links)
	require.EqualValues(t, 100e6, row.Validity.Links[0].Asked)
}

func TestEmulateRunChoosesTheCarrier(t *testing.T) {
	name := namespaces(t)
	faulty := emulated(t)
	text := readFile(t, faulty) + "faults: [{at: 1ms, link: leaf0-spine0, kind: down}]\n"
	require.NoError(t, os.WriteFile(faulty, []byte(text), 0o600))
	status, _, stderr := weft("emulate", "run", faulty, "--name", name, "--carrier", "netns", "--on", "h0", "true", "--out", t.TempDir())
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "namespaces do not play faults on schedule; --carrier live does")
	status, _, stderr = weft("emulate", "run", faulty, "--set", "fabric.rate=10Mbps", "--name", name, "--on", "h0", "true", "--out", t.TempDir())
	require.Equal(t, cli.Done, status, stderr)
	require.Contains(t, stderr, "carrier live, because namespaces do not play faults on schedule")
	status, _, stderr = weft("emulate", "run", faulty, "--set", "fabric.rate=100Tbps", "--name", name, "--on", "h0", "true", "--out", t.TempDir())
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "expected lower rates")
}

func TestEmulateRelay(t *testing.T) {
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	out := succeed(t, "emulate", "relay", "--listen", "127.0.0.1:0", "--to", server.LocalAddr().String(), "--rate", "10Mbps",
		"--netem", "delay 5ms", "--netem-back", "delay 7ms", "--for", "20ms", "--json")
	var row struct {
		Kind     string
		Validity struct {
			Valid  *bool
			Shaped []struct {
				Asked float64 `json:"asked_delay_us"`
			} `json:"shaped_links"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &row))
	require.Equal(t, "relay", row.Kind)
	require.NotNil(t, row.Validity.Valid)
	require.Len(t, row.Validity.Shaped, 2)
	require.Equal(t, 12_000., row.Validity.Shaped[0].Asked+row.Validity.Shaped[1].Asked)
	for _, c := range []struct{ args, why string }{
		{"--rate slow", "expected a rate above 0"},
		{"--netem dealy", "--netem: "},
		{"--delay x", "expected a time"},
		{"--queue 1", "expected 1600"},
		{"--rate 400Tbps", "expected lower rates"},
		{"--dilation 0.0001", "expected 0.001"},
	} {
		status, _, stderr := weft(append([]string{"emulate", "relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"}, strings.Fields(c.args)...)...)
		require.Equal(t, cli.Usage, status, c.args)
		require.Contains(t, stderr, c.why)
	}
}
