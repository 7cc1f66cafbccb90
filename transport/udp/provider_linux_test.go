package udp

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// TestPacketsOfTheReferenceProvider sends what the reference provider sent, frame by frame as it was captured, into a
// namespace with the address of the one who got it: over IP protocol 253 the carrier takes all of it, checksums
// included, and hands over the same bytes.
func TestPacketsOfTheReferenceProvider(t *testing.T) {
	b := newTestbed(t, 1500)
	address := [2]string{"10.9.0.1", "10.9.0.2"}
	for i, ns := range b.names {
		b.ip("-n %s addr add %s/24 dev v0", ns, address[i])
	}
	files, err := filepath.Glob("../wire/testdata/[0-4]*.pcap")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for to := range b.names {
		var e *rawEnd
		var mac net.HardwareAddr
		b.in(to, func() {
			e = openRaw(t, address[to], func(c *Config) { c.Native = true })
			link, err := net.InterfaceByName("v0")
			require.NoError(t, err)
			mac = link.HardwareAddr
		})
		send := b.injector(1-to, mac)
		count := 0
		for _, file := range files {
			if strings.Contains(file, "-tss-") {
				continue
			}
			eachFrame(t, file, func(frame []byte) {
				h, why := encap.Parse(frame, &encap.Default)
				if why != encap.OK || h.Dst.String() != address[to] {
					return
				}
				send(frame)
				p := e.next(t)
				require.Zero(t, p.Flags, "%s: checksum", file)
				require.Equal(t, h.Entropy, p.EV)
				require.Equal(t, int64(h.End-h.Payload-4), p.Bytes(), file)
				require.Equal(t, frame[h.Payload:h.Payload+int(p.HeaderLen)], p.Header[:p.HeaderLen], file)
				require.Equal(t, h.Class.DSCP() == 46, p.Class != 0)
				require.Equal(t, core.Addr(0x0A090002-to), p.From)
				count++
			})
		}
		require.Greater(t, count, 80)
		s := e.stats(t)
		require.Zero(t, s.Drops)
		require.EqualValues(t, count, s.Received)
	}
}

// injector returns a function that puts IP packets on v0 of a namespace.
func (b *testbed) injector(i int, to net.HardwareAddr) func([]byte) {
	dest := unix.SockaddrLinklayer{Protocol: 0x0008, Halen: 6} // ETH_P_IP in network byte order
	copy(dest.Addr[:], to)
	fd := -1
	b.in(i, func() {
		var err error
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(b.t, err)
		b.t.Cleanup(func() { unix.Close(fd) })
		dest.Ifindex, err = indexOf("v0")
		require.NoError(b.t, err)
	})
	return func(packet []byte) { require.NoError(b.t, unix.Sendto(fd, packet, 0, &dest)) }
}

// eachFrame calls do with every frame of a capture, from the IP header on.
func eachFrame(t *testing.T, file string, do func([]byte)) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := capture.NewReader(f)
	require.NoError(t, err)
	var frame capture.Frame
	for {
		err := r.Next(&frame)
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		do(frame.Data[14:])
	}
}
