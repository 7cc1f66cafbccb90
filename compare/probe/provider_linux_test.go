package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/dissect"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// Sizes of messages: parts of a packet, edges of it, many, and more than a window of 128. None ends in a packet that the provider
// drops for its length (its bug 1).
var sizes = []int{1, 16, 17, 64, 1000, 1024, 1025, 2048, 2600, 5000, 8191, 16384, 160_000, 500_001}

const regionSize = 1 << 20

// weathers are what happens to packets on the way.
var weathers = []struct {
	name        string
	loss        int // percent of the packets of each side that are lost
	environment []string
}{
	{name: "clean"},
	{name: "ACK_CC", environment: []string{"UET_PDS_ACK_TYPE=ack_cc"}},
	{name: "loss of 2 % each way", loss: 2, environment: []string{"UET_PDS_TX_TIMEOUT=30", "UET_PDS_MAX_TX_RETRIES=50", "UET_PKT_DROP_THRESH=200"}},
}

// lossy loses packets that arrive, evenly and always the same ones.
func lossy(percent int) func(*transport.Config) {
	return func(c *transport.Config) {
		if percent == 0 {
			return
		}
		count := 0
		c.UDP.Fate = func(*core.Packet) udp.Fate {
			count += percent
			lost := count >= 100
			count %= 100
			return udp.Fate{Drop: lost}
		}
		c.Core.RTO.Init = 30 * instant.Millisecond
		c.Core.RTO.MaxRetries = 50
		c.Core.NACK.SilentROD = true
	}
}

// TestToProvider has this endpoint ask the provider for everything that both can.
func TestToProvider(t *testing.T) {
	for _, w := range weathers {
		for _, mode := range []string{"rud", "rod"} {
			t.Run(w.name+" "+mode, func(t *testing.T) {
				b := newBench(t, w.environment...)
				p := b.provider
				p.must("mode %s", mode)
				p.must("region 0x11 %d 3", regionSize)
				e := b.endpoint(lossy(w.loss))
				peer, err := e.Dial(t.Context(), there.String())
				require.NoError(t, err)
				var opts []transport.Option
				if mode == "rod" {
					opts = append(opts, transport.Ordered)
				}
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
				defer stop()
				began, total := time.Now(), 0
				for i, n := range sizes {
					data := pattern(n, i)
					p.must("recv 1 %d", n)
					require.NoError(t, peer.Send(ctx, data, opts...), "send of %d", n)
					p.received(0, data)
					p.must("trecv %d %d", 100+i, n)
					require.NoError(t, peer.SendTagged(ctx, data, uint64(100+i), opts...), "tagged send of %d", n)
					p.received(uint64(100+i), data)
					require.NoError(t, peer.Write(ctx, data, transport.Remote{Key: 0x11, Offset: uint64(i)}, opts...), "write of %d", n)
					require.Equal(t, sum(data), p.must("sum 0x11 %d %d", i, n))
					read := make([]byte, n)
					require.NoError(t, peer.Read(ctx, read, transport.Remote{Key: 0x11, Offset: uint64(i)}, opts...), "read of %d", n)
					require.True(t, bytes.Equal(data, read), "read of %d", n)
					total += 4 * n
				}
				atomics(t, ctx, peer, p, opts)
				stats, err := e.Stats()
				require.NoError(t, err)
				t.Logf("%d bytes in %v, %d packets sent, %d of them again", total, time.Since(began).Round(time.Millisecond), stats.Sent, stats.Retransmits)
				b.decodes()
			})
		}
	}
}

func atomics(t *testing.T, ctx context.Context, peer *transport.Peer, p *provider, opts []transport.Option) {
	at := transport.Remote{Key: 0x11, Offset: 4096}
	var word [8]byte
	read := func() uint64 {
		require.NoError(t, peer.Read(ctx, word[:], at, opts...))
		return binary.LittleEndian.Uint64(word[:])
	}
	before := read()
	require.NoError(t, peer.Atomic(ctx, wire.AtomicSum, wire.TypeUint64, at, 5, opts...))
	require.Equal(t, before+5, read())
	was, err := peer.FetchAdd(ctx, at, 7, opts...)
	require.NoError(t, err)
	require.Equal(t, before+5, was)
	was, err = peer.CompareSwap(ctx, at, before+12, 99, opts...)
	require.NoError(t, err)
	require.Equal(t, before+12, was)
	require.EqualValues(t, 99, read())
}

// TestFromProvider has the provider ask this endpoint.
func TestFromProvider(t *testing.T) {
	for _, w := range weathers {
		for _, mode := range []string{"rud", "rod"} {
			t.Run(w.name+" "+mode, func(t *testing.T) {
				b := newBench(t, w.environment...)
				p := b.provider
				p.must("mode %s", mode)
				e := b.endpoint(lossy(w.loss))
				memory := pattern(regionSize, 3)
				_, err := e.RegisterKey(memory, transport.RemoteRead|transport.RemoteWrite|transport.RemoteAtomic, 0x11)
				require.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
				defer stop()
				began, total := time.Now(), 0
				for i, n := range sizes {
					data := pattern(n, i)
					receive(t, ctx, e, transport.Match{}, data, func() { p.must("send %d %d", n, i) })
					receive(t, ctx, e, transport.Match{Tagged: true, Tag: uint64(100 + i)}, data, func() { p.must("tsend %d %d %d", 100+i, n, i) })
					p.must("write 0x11 %d %d %d", i, n, i)
					require.True(t, bytes.Equal(data, memory[i:i+n]), "write of %d", n)
					if (60+n%1024)%256 >= 36 || n%1024 == 0 { // the data of this answer comes in packets that it does not drop
						require.Equal(t, sum(data), p.must("read 0x11 %d %d", i, n), "read of %d", n)
					}
					total += 4 * n
				}
				before := binary.LittleEndian.Uint64(memory[4096:])
				p.must("add 0x11 4096 5")
				require.Equal(t, before+5, p.number("fetch 0x11 4096 7"))
				require.Equal(t, before+12, p.number("cswap 0x11 4096 %d 99", before+12))
				require.EqualValues(t, 99, binary.LittleEndian.Uint64(memory[4096:]))
				p.must("close")
				stats, err := e.Stats()
				require.NoError(t, err)
				require.Zero(t, stats.Targets, "the provider has closed its contexts")
				t.Logf("%d bytes in %v, %d packets received, %d of them twice", total, time.Since(began).Round(time.Millisecond), stats.Received, stats.Duplicates)
				b.decodes()
			})
		}
	}
}

// receive takes one message, and has it sent when it is waited for.
func receive(t *testing.T, ctx context.Context, e *transport.Endpoint, match transport.Match, want []byte, send func()) {
	t.Helper()
	got := make([]byte, len(want))
	type end struct {
		m   transport.Message
		err error
	}
	ended := make(chan end, 1)
	go func() {
		m, err := e.ReceiveMatch(ctx, got, match)
		ended <- end{m, err}
	}()
	send()
	v := <-ended
	require.NoError(t, v.err, "receive of %d", len(want))
	require.Equal(t, len(want), v.m.Length)
	require.True(t, bytes.Equal(want, got), "receive of %d", len(want))
}

// decodes holds that what weft dump does reads the whole capture.
func (b *bench) decodes() {
	b.t.Helper()
	b.stop()
	file, err := os.Open(b.pcap)
	require.NoError(b.t, err)
	defer file.Close()
	in, err := capture.NewReader(file)
	require.NoError(b.t, err)
	d := dissect.Dump{Tracker: dissect.NewTracker(), Printer: &dissect.Lines{Time: "relative"}}
	d.Decoder.Config = encap.Default
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	require.NoError(b.t, d.Run(b.t.Context(), in, out))
	require.Zero(b.t, d.Totals.Malformed+d.Totals.BadCheck, "every packet is read, and every CRC right")
	require.Greater(b.t, d.Totals.UET, int64(100))
	require.NoError(b.t, out.Flush())
	text.Reset()
	dissect.Summary(out, &d, 0)
	require.NoError(b.t, out.Flush())
	b.t.Log("\n" + text.String())
}

// TestProviderProbes plays the tables of this package against the provider that they were taken from.
func TestProviderProbes(t *testing.T) {
	b := newBench(t)
	p := b.provider
	p.must("region 0x11 4096 0")
	p.must("recv 200 4096")
	var l *Line
	b.in(0, func() {
		var err error
		l, err = NewLine(here, there, true, patience)
		require.NoError(t, err)
	})
	defer l.Close()
	results, err := Target(l)
	require.NoError(t, err)
	more, err := Initiator(l, func() error {
		fmt.Fprintln(p.in, "send 64 1")
		switch answer := p.answer(3 * time.Second); answer {
		case "done":
			return nil
		case "nothing":
			return context.DeadlineExceeded
		default:
			return fmt.Errorf("%s", answer)
		}
	})
	require.NoError(t, err)
	counts := map[bool]int{}
	for _, r := range append(results, more...) {
		if strings.HasPrefix(r.What, "RUDI") && strings.Contains(p.lacks, "rudi") || strings.HasPrefix(r.What, "UUD") && strings.Contains(p.lacks, "uud") {
			continue
		}
		counts[r.Got == r.Want]++
		t.Log(r.String())
		if r.Got != r.Want {
			t.Errorf("the provider does not do what the table says: %s", r.String())
		}
	}
	t.Log(counts)
}
