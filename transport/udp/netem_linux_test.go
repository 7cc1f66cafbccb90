package udp

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// TestUnderNetem moves bytes between two namespaces where the kernel delays, loses, copies, hurts, reorders and marks them. Where
// the kernel cannot, it skips, unless WEFT_UNDER_NETEM requires it: .ci/netem runs it in a guest that can.
func TestUnderNetem(t *testing.T) {
	for _, v := range []struct {
		name  string
		tc    []string // given to both ends of the cable
		count int      // of messages of 100 packets
		check func(t *testing.T, sent, got core.Counters, marked uint64)
	}{
		{"delay", []string{"root netem delay 2ms limit 10000"}, 20, func(t *testing.T, _, got core.Counters, _ uint64) {
			require.EqualValues(t, 2000, got.Delivered)
		}},
		{"loss", []string{"root netem delay 2ms loss 3% limit 10000"}, 20, func(t *testing.T, sent, _ core.Counters, _ uint64) {
			require.Greater(t, sent.Retransmits, uint64(20))
		}},
		{"bursts of losses", []string{"root netem delay 1ms loss gemodel 1% 25% limit 10000"}, 20, func(t *testing.T, sent, _ core.Counters, _ uint64) {
			require.Greater(t, sent.Retransmits, uint64(20))
		}},
		{"reorder", []string{"root netem delay 5ms reorder 25% limit 10000"}, 20, func(t *testing.T, _, got core.Counters, _ uint64) {
			require.Greater(t, got.OutOfOrder, uint64(200))
		}},
		{"jitter", []string{"root netem delay 3ms 2ms distribution normal limit 10000"}, 20, func(t *testing.T, _, got core.Counters, _ uint64) {
			require.Greater(t, got.OutOfOrder, uint64(200))
		}},
		{"all", []string{"root netem delay 2ms 1ms loss 2% duplicate 2% corrupt 2% reorder 5% limit 10000"}, 20, func(t *testing.T, sent, got core.Counters, _ uint64) {
			require.Positive(t, got.Duplicates)
			require.Positive(t, sent.Retransmits)
		}},
		{"RED", []string{"root handle 1: htb default 1", "parent 1: classid 1:1 htb rate 20mbit burst 16k",
			"parent 1:1 handle 2: red limit 400000 min 15000 max 45000 avpkt 1000 burst 25 ecn bandwidth 20mbit probability 0.2"}, 40,
			func(t *testing.T, _, _ core.Counters, marked uint64) { require.Greater(t, marked, uint64(20)) }},
	} {
		t.Run(v.name, func(t *testing.T) {
			b := newTestbed(t, 1500)
			for _, ns := range b.names {
				for _, line := range v.tc {
					kind := "qdisc"
					if strings.Contains(line, "classid") {
						kind = "class"
					}
					b.tc(ns, kind, line)
				}
			}
			var marked atomic.Uint64
			ends := b.ends([2][]string{{"10.77.0.1"}, {"10.77.0.2"}}, func(c *Config, u *core.Config) {
				c.NoGSO, c.NoGRO, c.Spin = true, true, -1 // a decision of the kernel is about one packet
				c.Fate = func(p *core.Packet) Fate {
					if p.ECN == core.CE {
						marked.Add(1)
					}
					return Fate{}
				}
				u.BaseRTT = 4 * instant.Millisecond
				u.RTO.Init, u.RTO.Max = 200*instant.Millisecond, instant.Second // the guest is slow
				if v.name == "RED" {                                            // a controller that marks move, on a link that it holds to be five times as fast
					u.NewController, _, _ = congestion.Registry.Make("dctcp", nil)
					u.LineRateBps = 100e6
				}
			})
			move(t, ends[0], ends[1], v.count, 100*1024)
			var sent, got core.Counters
			ends[0].Do(func(core.Time) { sent = ends[0].host.Counters() })
			ends[1].Do(func(core.Time) { got = ends[1].host.Counters() })
			t.Logf("tc: %s: %d data packets, %d of them again, %d twice, %d out of order, %d hurt, %d marked; kernel: %s", v.name, sent.SentData, sent.Retransmits,
				got.Duplicates, got.OutOfOrder, got.CorruptDropped, marked.Load(), b.seen())
			require.EqualValues(t, v.count, got.MessagesGot, "exactly once")
			if v.name == "RED" {
				require.GreaterOrEqual(t, b.marks(), marked.Load(), "nobody but RED marks")
			} else {
				require.Zero(t, marked.Load())
			}
			v.check(t, sent, got, marked.Load())
		})
	}
}

// tc runs a command on the first cable of a namespace.
func (b *testbed) tc(ns, kind, line string) {
	b.t.Helper()
	if out, err := exec.Command("tc", strings.Fields("-n "+ns+" "+kind+" add dev v0 "+line)...).CombinedOutput(); err != nil {
		complain := b.t.Skipf
		if os.Getenv("WEFT_UNDER_NETEM") != "" {
			complain = b.t.Fatalf
		}
		complain("tc %s: %s", line, out)
	}
}

// seen returns what the kernel counted on the way from the first namespace to the second.
func (b *testbed) seen() string {
	out, _ := exec.Command("tc", "-n", b.names[0], "-s", "qdisc", "show", "dev", "v0").CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " ")
}

// marks returns how many packets the kernel has marked there.
func (b *testbed) marks() uint64 {
	m := regexp.MustCompile(`marked (\d+)`).FindStringSubmatch(b.seen())
	require.NotNil(b.t, m, b.seen())
	n, err := strconv.ParseUint(m[1], 10, 64)
	require.NoError(b.t, err)
	return n
}
