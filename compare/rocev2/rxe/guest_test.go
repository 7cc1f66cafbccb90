//go:build linux

package rxe

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/wire"
)

// patience is how long anybody is waited for. Emulation on a busy machine is slow; nothing is judged by how long it took.
const patience = 100 * time.Second

var (
	hostMAC  = net.HardwareAddr{2, 0, 0, 0, 0, 0xaa}
	guestMAC = net.HardwareAddr{2, 0, 0, 0, 0, 0xbb}
)

// A guest is the kernel's end, as its control line shows it.
type guest struct {
	t     testing.TB
	line  net.Conn
	lines *bufio.Reader
	key   uint32 // of its memory
	base  uint64
	there place // of the other end
}

// A place is memory of an end, as the other addresses it.
type place struct {
	key  uint32
	base uint64
}

// boot starts the guest that .ci/rxe has built in dir, and returns when rxe is ready. The guest ends with the test: it
// powers itself off when its control line ends, and is killed with the thread that started it.
func boot(t testing.TB, dir string, socket string, own, peer netip.Addr) *guest {
	control, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer control.Close()
	console := filepath.Join(t.TempDir(), "console")
	qemu := exec.Command("qemu-system-x86_64", "-accel", "tcg,tb-size=256", "-cpu", "qemu64", "-m", "256", "-smp", "1", "-nodefaults", "-no-user-config",
		"-display", "none", "-serial", "file:"+console, "-no-reboot", "-kernel", filepath.Join(dir, "vmlinux"), "-initrd", filepath.Join(dir, "initrd"),
		"-append", fmt.Sprintf("console=ttyS0 quiet panic=-1 mitigations=off nokaslr OWN=%v PEER=%v PEER_MAC=%v CONTROL_PORT=%d",
			own, peer, hostMAC, control.Addr().(*net.TCPAddr).Port),
		"-netdev", fmt.Sprintf("dgram,id=frames,local.type=unix,local.path=%s.qemu,remote.type=unix,remote.path=%s", socket, socket),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=frames,mac=%v,host_mtu=9000,romfile=", guestMAC),
		"-netdev", "user,id=control", "-device", "virtio-net-pci,netdev=control,romfile=")
	qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	complaints := &strings.Builder{}
	qemu.Stderr = complaints
	require.NoError(t, qemu.Start())
	ended := make(chan struct{})
	go func() {
		qemu.Wait()
		close(ended)
		control.Close()
	}()
	t.Cleanup(func() {
		qemu.Process.Kill()
		<-ended
		if text, _ := os.ReadFile(console); t.Failed() {
			t.Logf("QEMU: %s\nconsole of the guest: %s", complaints, text)
		}
	})
	require.NoError(t, control.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	line, err := control.Accept()
	require.NoError(t, err, "the guest does not call")
	t.Cleanup(func() { line.Close() })
	g := &guest{t: t, line: line, lines: bufio.NewReader(line)}
	require.Equal(t, "ready", g.hear())
	return g
}

func (g *guest) hear() string {
	g.t.Helper()
	require.NoError(g.t, g.line.SetReadDeadline(time.Now().Add(patience+30*time.Second))) // it waits for completions itself
	text, err := g.lines.ReadString('\n')
	require.NoError(g.t, err, "control line")
	return strings.TrimSpace(text)
}

// ask sends a line of numbers and returns the answer behind the word "ok".
func (g *guest) ask(verb string, numbers ...uint64) string {
	g.t.Helper()
	text := verb
	for _, n := range numbers {
		text += fmt.Sprintf(" %x", n)
	}
	_, err := fmt.Fprintln(g.line, text)
	require.NoError(g.t, err)
	answer := g.hear()
	rest, ok := strings.CutPrefix(answer, "ok")
	require.True(g.t, ok || verb == "wait", "%s: the guest says %q", text, answer)
	if !ok {
		return answer
	}
	return rest
}

// number asks for one number.
func (g *guest) number(verb string, numbers ...uint64) (n uint64) {
	g.t.Helper()
	_, err := fmt.Sscanf(g.ask(verb, numbers...), "%x", &n)
	require.NoError(g.t, err)
	return n
}

// connect makes a queue pair in the guest and returns its number.
func (g *guest) connect(c conditions, qpn uint32) (own uint32) {
	g.t.Helper()
	mtuCode := map[int64]uint64{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[c.mtu]
	_, err := fmt.Sscanf(g.ask("qp", uint64(qpn), uint64(c.ourPSN), uint64(c.guestPSN), mtuCode, rnrCode, uint64(c.retries), uint64(c.rnrRetries), uint64(c.timeout)), "%x %x %x", &own, &g.key, &g.base)
	require.NoError(g.t, err)
	return own
}

func (g *guest) place() place   { return place{g.key, g.base} }
func (g *guest) meet(p place)   { g.there = p }
func (g *guest) String() string { return "the kernel" }

var guestVerbs = map[rocev2.Verb]string{rocev2.Send: "send", rocev2.SendImmediate: "sendimm", rocev2.Write: "write",
	rocev2.WriteImmediate: "writeimm", rocev2.Read: "read", rocev2.FetchAdd: "fadd", rocev2.CompareSwap: "cswap"}

func (g *guest) post(r request) {
	g.t.Helper()
	g.ask(guestVerbs[r.verb], r.id, r.at, r.length, g.there.base+r.there, uint64(g.there.key+r.keyOff), r.add, r.compare)
}

func (g *guest) receive(id, at, length uint64) { g.t.Helper(); g.ask("recv", id, at, length) }

// localOperation is IBV_WC_LOC_QP_OP_ERR, for which we have no use.
const localOperation rocev2.Status = 255

// guestStatus translates ibv_wc_status.
var guestStatus = map[int]rocev2.Status{0: rocev2.Success, 1: rocev2.LocalLength, 2: localOperation, 5: rocev2.Flushed, 9: rocev2.RemoteInvalidRequest,
	10: rocev2.RemoteAccessError, 11: rocev2.RemoteOperationalError, 12: rocev2.RetryExceeded, 13: rocev2.RNRRetryExceeded}

func (g *guest) next() (e ending) {
	g.t.Helper()
	var status int
	answer := g.ask("wait")
	_, err := fmt.Sscanf(answer, "wc %x %x %x %x", &e.id, &status, &e.length, &e.immediate)
	require.NoError(g.t, err, "completion in the guest: %q", answer)
	var known bool
	e.status, known = guestStatus[status]
	require.True(g.t, known, "status %d of the kernel", status)
	return e
}

func (g *guest) fill(at, length, seed uint64)    { g.t.Helper(); g.ask("fill", at, length, seed) }
func (g *guest) digest(at, length uint64) uint64 { g.t.Helper(); return g.number("digest", at, length) }
func (g *guest) set(at, value uint64)            { g.t.Helper(); g.ask("set", at, value) }
func (g *guest) get(at uint64) uint64            { g.t.Helper(); return g.number("get", at) }

// rnrCode is the wait that RNR NAKs of both ends ask for: 0.64 ms.
const rnrCode = 12

// forever is a retry count that never ends, as rxe and verbs for RNR have it.
const forever = 7

// Codes of the kernel's ACK timeout: 4.3 s where timers are not what is tested, 268 ms where packets are lost, for many of which
// only its timer helps. That runs on over answers, and what is sent when it hits a message under way is not always right:
// docs/ROCE.md, section 15.
const (
	patient = 20
	brisk   = 16
)

// conditions are what a connection is made under.
type conditions struct {
	mtu        int64
	retries    int     // of requests that are not answered, at both ends
	rnrRetries int     // of those that find no receive
	timeout    uint8   // code of the kernel's; ours is 14, 67 ms
	loss       float64 // in each direction
	marked     bool    // everything from the kernel arrives marked CE
	ourPSN     wire.PSN
	guestPSN   wire.PSN
}
