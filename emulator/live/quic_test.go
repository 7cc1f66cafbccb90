package live_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/transport/instant"
)

// uplinks are the links from the first leaf to the spines.
func uplinks(n *emulator.Network) (all []int) {
	for i, l := range n.Links {
		if l.Tier == 1 && l.Up && n.NodeNames[l.From] == "leaf0" {
			all = append(all, i)
		}
	}
	return all
}

// A cutLink is what cutBusiest did.
type cutLink struct {
	link   int
	others uint64 // packets that the other uplinks had carried
}

// cutBusiest cuts the uplink of the first leaf that is the first to carry so many packets, for good, and at once. Its
// switches know of it 5 ms later. What it returns is guarded by the fabric's Network.
func cutBusiest(t *testing.T, f *live.Fabric, n *emulator.Network, packets uint64) *cutLink {
	cut := &cutLink{link: -1}
	ups := uplinks(n)
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		e.Tap(func(now instant.Time, s *emulator.Sighting) {
			l := int(s.Link)
			if cut.link >= 0 || s.What != emulator.Crossed || !slices.Contains(ups, l) || e.Port(l).Packets < packets {
				return
			}
			cut.link = l
			for _, other := range ups {
				if other != l {
					cut.others += e.Port(other).Packets
				}
			}
			_ = e.Schedule(emulator.Fault{Kind: emulator.LinkDown, Links: []int{l, int(n.Links[l].Reverse)}, At: now}) // both are there
		})
	}))
	return cut
}

// failing is a fabric with delay and losses, whose switches learn late of dead links.
func failing(t *testing.T) (*live.Fabric, *emulator.Network) {
	n := leafSpine(t, 4, 1e9, 200*instant.Microsecond)
	shape(t, n, 1, "delay 500us loss 0.5% seed 9")
	f, err := live.New(live.Config{Network: n, Fabric: emulator.Config{RerouteLocal: 5 * instant.Millisecond, RerouteAll: 5 * instant.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, n
}

func certificate(t *testing.T) *tls.Config {
	public, private, err := ed25519.GenerateKey(crand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(crand.Reader, template, template, public, private)
	require.NoError(t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}, NextProtos: []string{"live"}, InsecureSkipVerify: true}
}

// quicTransfer sends bytes by quic-go from one socket to another, by the address that it has for the sender, and checks what
// arrives.
func quicTransfer(t *testing.T, from, to net.PacketConn, at net.Addr, size int) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	config := &quic.Config{MaxIdleTimeout: time.Minute}
	secret := certificate(t)
	client, server := &quic.Transport{Conn: from}, &quic.Transport{Conn: to}
	defer func() { _, _, _, _ = client.Close(), server.Close(), from.Close(), to.Close() }()
	l, err := server.Listen(secret, config)
	require.NoError(t, err)
	data := make([]byte, size)
	source := rand.New(rand.NewPCG(5, 6))
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	sent := make(chan error, 1)
	go func() {
		sent <- func() error {
			c, err := client.Dial(ctx, at, secret, config)
			if err != nil {
				return err
			}
			s, err := c.OpenUniStreamSync(ctx)
			if err != nil {
				return err
			}
			if _, err := s.Write(data); err != nil {
				return err
			}
			return s.Close()
		}()
	}()
	c, err := l.Accept(ctx)
	require.NoError(t, err)
	s, err := c.AcceptUniStream(ctx)
	require.NoError(t, err)
	got, err := io.ReadAll(s)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, <-sent)
	require.NoError(t, c.CloseWithError(0, ""))
}

// socket opens a conn of a host.
func socket(t *testing.T, f *live.Fabric, host int) net.PacketConn {
	c, err := f.ListenPacket(host, 443)
	require.NoError(t, err)
	return c
}

// movedOn checks that what the cut link does not carry any more went another way, and that packets were lost.
func movedOn(t *testing.T, f *live.Fabric, n *emulator.Network, cut *cutLink) {
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		require.GreaterOrEqual(t, cut.link, 0)
		after := uint64(0)
		for _, l := range uplinks(n) {
			if l != cut.link {
				after += e.Port(l).Packets
			}
		}
		require.Greater(t, after, cut.others+100)
		require.NotZero(t, e.Totals().Dropped[emulator.DropRandom])
	}))
}
