package probe

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport"
)

// What stands between this endpoint and the reference provider: two network namespaces, a veth pair between them, and the
// provider's process at the other end. WEFT_UET_PROVIDER names a program that drives the provider as docs/INTEROP.md says;
// WEFT_UET_CAPTURES a directory for the captures, which else are taken away.

var here, there = netip.MustParseAddr("10.77.0.1"), netip.MustParseAddr("10.77.0.2")

// A bench is both ends.
type bench struct {
	t        *testing.T
	names    [2]string
	provider *provider
	pcap     string
	stop     func() // ends the capture
}

// newBench starts the provider with some of its environment, and a capture.
func newBench(t *testing.T, environment ...string) *bench {
	program := os.Getenv("WEFT_UET_PROVIDER")
	if program == "" {
		t.Skip("WEFT_UET_PROVIDER does not name a program that drives the reference provider: docs/INTEROP.md")
	}
	if os.Getuid() != 0 {
		t.Skip("namespaces need root")
	}
	b := &bench{t: t}
	for i := range b.names {
		b.names[i] = fmt.Sprintf("weft-probe%d%c", os.Getpid(), 'a'+i)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", b.names[i]).Run() })
		b.ip("netns add %s", b.names[i])
	}
	b.ip("link add v0 netns %s type veth peer name v0 netns %s", b.names[0], b.names[1])
	var mac [2]string
	for i, ns := range b.names {
		b.ip("-n %s link set v0 up", ns)
		b.ip("-n %s addr add %v/24 dev v0", ns, []netip.Addr{here, there}[i])
		mac[i] = strings.Fields(b.ip("-n %s -br link show v0", ns))[2]
	}
	b.ip("-n %s neigh add %v lladdr %s dev v0 nud permanent", b.names[0], there, mac[1])
	b.ip("-n %s neigh add %v lladdr %s dev v0 nud permanent", b.names[1], here, mac[0])
	b.in(1, func() { // so that the kernel of the provider's end does not answer its packets with ICMP
		sink, err := net.ListenIP("ip4:253", &net.IPAddr{IP: there.AsSlice()})
		require.NoError(t, err)
		t.Cleanup(func() { sink.Close() })
		go io.Copy(io.Discard, sink)
	})
	b.capture()
	b.provider = start(t, environment, "ip", "netns", "exec", b.names[1], program, "v0")
	b.provider.must("peer %v", here)
	return b
}

func (b *bench) ip(format string, args ...any) string {
	b.t.Helper()
	command := fmt.Sprintf(format, args...)
	out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput()
	if err != nil {
		b.t.Skipf("ip %s: %s", command, out)
	}
	return string(out)
}

// in runs f in one of the namespaces; sockets that it opens stay there.
func (b *bench) in(i int, f func()) {
	b.t.Helper()
	require.NoError(b.t, netns.Within(b.names[i], func() error {
		f()
		return nil
	}))
}

// endpoint opens this end over IP protocol 253.
func (b *bench) endpoint(change func(*transport.Config)) (e *transport.Endpoint) {
	c := asProvider()
	c.UDP.Native, c.UDP.OnePerAddress = true, false
	c.UDP.SocketBuffer = 16 << 20
	c.Core.TailProbe.On = true // as by default
	if change != nil {
		change(&c)
	}
	b.in(0, func() {
		var err error
		e, err = transport.Listen(b.t.Context(), here.String(), c)
		require.NoError(b.t, err)
	})
	b.t.Cleanup(func() { e.Close() })
	return e
}

// capture writes what v0 of this end sees into a file.
func (b *bench) capture() {
	dir := os.Getenv("WEFT_UET_CAPTURES")
	if dir == "" {
		dir = b.t.TempDir()
	}
	b.pcap = filepath.Join(dir, strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '%' {
			return '-'
		}
		return r
	}, b.t.Name())+".pcap")
	fd := -1
	b.in(0, func() {
		const all = 0x0300 // ETH_P_ALL in network byte order
		var err error
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
		require.NoError(b.t, err)
		link, err := net.InterfaceByName("v0")
		require.NoError(b.t, err)
		require.NoError(b.t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}))
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
		wake := unix.NsecToTimeval(int64(20 * time.Millisecond))
		require.NoError(b.t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wake))
	})
	f, err := os.Create(b.pcap)
	require.NoError(b.t, err)
	var head [24]byte
	binary.LittleEndian.PutUint32(head[:], 0xa1b23c4d) // nanoseconds
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], 1<<16)
	binary.LittleEndian.PutUint32(head[20:], 1) // Ethernet
	_, err = f.Write(head[:])
	require.NoError(b.t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer f.Close()
		defer unix.Close(fd)
		frame := make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(fd, frame, 0)
			if err == nil {
				now := time.Now()
				var h [16]byte
				binary.LittleEndian.PutUint32(h[:], uint32(now.Unix()))
				binary.LittleEndian.PutUint32(h[4:], uint32(now.Nanosecond()))
				binary.LittleEndian.PutUint32(h[8:], uint32(n))
				binary.LittleEndian.PutUint32(h[12:], uint32(n))
				f.Write(append(h[:], frame[:n]...))
				continue
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	end := func() {
		select {
		case <-stop:
		default:
			close(stop)
		}
		<-stopped
	}
	b.t.Cleanup(end)
	b.stop = end
}

// A provider is the process at the other end.
type provider struct {
	t       *testing.T
	in      io.Writer
	answers chan string
	got     chan string
	lacks   string
}

func start(t *testing.T, environment []string, command ...string) *provider {
	p := &provider{t: t, answers: make(chan string, 16), got: make(chan string, 1024)}
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), append([]string{"UET_PDS=pds", "UET_IFNAME=v0", "UET_PDS_TX_TIMEOUT=400"}, environment...)...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { stop(); c.Wait() })
	p.in = in
	go func() {
		defer close(p.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if line := lines.Text(); strings.HasPrefix(line, "got ") || line == "lost" {
				p.got <- line
			} else {
				p.answers <- line
			}
		}
	}()
	ready := p.answer(patience)
	require.True(t, strings.HasPrefix(ready, "ready"), "%q; expected ready", ready)
	p.lacks = ready
	return p
}

func (p *provider) answer(wait time.Duration) string {
	select {
	case line, open := <-p.answers:
		require.True(p.t, open, "the provider has ended")
		return line
	case <-time.After(wait):
		return "nothing"
	}
}

// ask gives a command and returns the answer.
func (p *provider) ask(format string, args ...any) string {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
	return p.answer(patience)
}

// must is ask for what has to succeed; it returns what comes behind the first word.
func (p *provider) must(format string, args ...any) string {
	p.t.Helper()
	answer := p.ask(format, args...)
	word, rest, _ := strings.Cut(answer, " ")
	require.Contains(p.t, []string{"ok", "done", "sum"}, word, "%s: %s", fmt.Sprintf(format, args...), answer)
	return rest
}

// received waits for a message at the provider.
func (p *provider) received(tag uint64, b []byte) {
	p.t.Helper()
	select {
	case line := <-p.got:
		require.Equal(p.t, fmt.Sprintf("got %d %d %s", len(b), tag, sum(b)), line)
	case <-time.After(patience):
		require.Fail(p.t, "a message did not arrive", "%d bytes", len(b))
	}
}

func sum(b []byte) string {
	h := fnv.New64a()
	h.Write(b)
	return fmt.Sprintf("%016x", h.Sum64())
}

// pattern is what the provider's driver fills memory with.
func pattern(n int, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed*131 + i + i/251)
	}
	return b
}

// number is an answer that is one.
func (p *provider) number(format string, args ...any) uint64 {
	p.t.Helper()
	v, err := strconv.ParseUint(p.must(format, args...), 10, 64)
	require.NoError(p.t, err)
	return v
}
