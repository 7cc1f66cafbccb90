package perf_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/perf"
)

// endless is a Test that ends only when somebody ends it.
func endless(protocol, operation string) perf.Test {
	t := few(protocol, operation, perf.Bandwidth, 0)
	t.Duration, t.Interval = time.Hour, 10*time.Millisecond
	return t
}

func TestInterruptsKeepWhatWasMeasured(t *testing.T) {
	address, _ := serve(t, nil)
	c := dial(t, address)
	for _, p := range []struct{ name, operation string }{{"uet,lanes=4,spin=0", perf.Write}, {"rocev2,lanes=4,spin=0", perf.Send}, {"tcp", perf.Stream}, {"quic", perf.Stream}, {"uet,lanes=4,spin=0", perf.Stream}} {
		for _, direction := range []string{perf.Forward, perf.Reverse, perf.Both} {
			t.Run(p.name+" "+p.operation+" "+direction, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(bounded(t))
				test := endless(p.name, p.operation)
				test.Direction = direction
				r, err := c.Run(ctx, test, func(v perf.Interval) {
					if v.Operations > 0 {
						interrupt()
					}
				})
				require.ErrorIs(t, err, context.Canceled)
				total := r.Total()
				require.Positive(t, total.Operations)
				require.True(t, total.Cut)
			})
		}
	}
	r, err := c.Run(bounded(t), few("uet,lanes=4", perf.Write, perf.Bandwidth, 10), nil)
	require.NoError(t, err, "the server is there for more")
	require.EqualValues(t, 10, r.ToServer.Operations)
}

func TestServerGoesAway(t *testing.T) {
	for _, p := range []struct{ name, operation string }{{"uet,lanes=4,spin=0", perf.Write}, {"tcp", perf.Stream}} {
		for _, direction := range []string{perf.Forward, perf.Reverse} {
			t.Run(p.name+" "+direction, func(t *testing.T) {
				address, stop := serve(t, nil)
				c := dial(t, address)
				test := endless(p.name, p.operation)
				test.Direction = direction
				_, err := c.Run(bounded(t), test, func(v perf.Interval) { go stop() })
				require.ErrorContains(t, err, "the other end")
			})
		}
	}
}

func TestClientGoesAway(t *testing.T) {
	var log logbook
	address, _ := serve(t, func(s *perf.Server) { s.Log = &log })
	c, err := perf.Dial(t.Context(), address)
	require.NoError(t, err)
	_, err = c.Run(bounded(t), endless("uet,lanes=4,spin=0", perf.Write), func(perf.Interval) { go c.Close() })
	require.Error(t, err)
	for ctx := bounded(t); ; { // until the server has noticed
		again, err := perf.Dial(ctx, address)
		require.NoError(t, err)
		_, err = again.Run(ctx, few("uet,lanes=4", perf.Write, perf.Bandwidth, 10), nil)
		again.Close()
		if err == nil {
			return
		}
		require.ErrorContains(t, err, "busy")
	}
}

func TestOneClientAtATime(t *testing.T) {
	address, _ := serve(t, nil)
	dial(t, address)
	c := dial(t, address)
	_, err := c.Run(bounded(t), few("tcp", perf.Stream, perf.Bandwidth, 1), nil)
	require.EqualError(t, err, "the other end: the server is busy with another client")
}

func TestStrangers(t *testing.T) {
	address, _ := serve(t, nil)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "does not speak the language of weft perf")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := http.Server{Handler: http.NotFoundHandler()}
	go web.Serve(l)
	defer web.Close()
	_, err = dial(t, l.Addr().String()).Run(bounded(t), few("tcp", perf.Stream, perf.Bandwidth, 1), nil)
	require.ErrorContains(t, err, "does not speak the language of weft perf; is the port right?")
}

// TestLogKeepsControlCharactersToItself has a client send what a terminal would obey.
func TestLogKeepsControlCharactersToItself(t *testing.T) {
	var log logbook
	address, stop := serve(t, func(s *perf.Server) { s.Log = &log })
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintln(conn, `{"kind":"error","text":"\u001b[2Jgone\nfor good"}`)
	conn.SetReadDeadline(time.Now().Add(patience))
	io.Copy(io.Discard, conn)
	stop()
	require.Contains(t, log.String(), "[2Jgone for good\n")
	require.NotContains(t, log.String(), "\x1b")
}

func TestNobodyThere(t *testing.T) {
	address, stop := serve(t, nil)
	_, err := perf.ListenServer(t.Context(), address)
	require.EqualError(t, err, "listen on "+address+": bind: address already in use")
	stop()
	_, err = perf.Dial(t.Context(), address)
	require.EqualError(t, err, "no weft perf server at "+address+": connect: connection refused")
}

func TestDataPortInUse(t *testing.T) {
	address, _ := serve(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	test := few("tcp", perf.Stream, perf.Bandwidth, 1)
	test.DataPort = uint16(l.Addr().(*net.TCPAddr).Port)
	_, err = dial(t, address).Run(bounded(t), test, nil)
	require.EqualError(t, err, "the other end: tcp: bind: address already in use")
}

func TestBadWeather(t *testing.T) {
	address, _ := serve(t, nil)
	c := dial(t, address)
	for _, p := range []struct{ name, operation string }{{"uet,lanes=4,spin=0", perf.Send}, {"rocev2,lanes=4,spin=0,timeout=5ms", perf.Write}, {"quic", perf.Stream}} {
		t.Run(p.name, func(t *testing.T) {
			test := few(p.name, p.operation, perf.Bandwidth, 300)
			test.Impairment = perf.Impairment{Loss: 0.05, Duplicate: 0.05, Reorder: 0.05, ReorderBy: time.Millisecond, Delay: 100 * time.Microsecond, Seed: 3}
			r, err := c.Run(bounded(t), test, nil)
			require.NoError(t, err)
			require.EqualValues(t, 300, r.ToServer.Operations)
			require.Positive(t, r.Server.InjectedDrops)
			require.Positive(t, r.Client.Retransmitted)
		})
	}
}

func TestValidation(t *testing.T) {
	good := few("uet", perf.Write, perf.Bandwidth, 10)
	require.NoError(t, good.Validate())
	for want, change := range map[string]func(*perf.Test){
		`--protocol: unknown protocol over sockets "utp"`:                   func(t *perf.Test) { t.Protocol = "utp" },
		`--protocol: protocol over sockets uet: unknown parameter "colour"`: func(t *perf.Test) { t.Protocol = "uet,colour=1" },
		`--test write: tcp has only stream`:                                 func(t *perf.Test) { t.Protocol = "tcp" },
		`--loss, --delay, --reorder, --duplicate: not with tcp, whose packets the kernel sends; expected uet, rocev2 or quic`: func(t *perf.Test) {
			t.Protocol, t.Operation, t.Impairment.Loss = "tcp", perf.Stream, 0.1
		},
		`--test "shout": expected one of write, read, send, tagged, atomic, stream`: func(t *perf.Test) { t.Operation = "shout" },
		`--metric "taste": expected one of bandwidth, latency, rate`:                func(t *perf.Test) { t.Metric = "taste" },
		`--size 0: expected 1 to 1073741824`:                                        func(t *perf.Test) { t.Size = 0 },
		`--flows 0: expected 1 to 1024`:                                             func(t *perf.Test) { t.Flows = 0 },
		`--depth 5000: expected 1 to 4096`:                                          func(t *perf.Test) { t.Depth = 5000 },
		`--flows 1000, --size 1073741824: expected at most 4294967296 bytes`:        func(t *perf.Test) { t.Flows, t.Depth, t.Size, t.Iterations = 1000, 1, 1<<30, 1000 },
		`--flows 1000, --depth 100: expected at most 65536`:                         func(t *perf.Test) { t.Flows, t.Depth = 1000, 100 },
		`--iterations 10: expected at least one for each of 11 flows`:               func(t *perf.Test) { t.Flows = 11 },
		`--duration 0s: expected more than 0`:                                       func(t *perf.Test) { t.Iterations = 0 },
		`--loss 2: expected 0 to 1`:                                                 func(t *perf.Test) { t.Impairment.Loss = 2 },
		`--delay 1m0s: expected 0 to 10s`:                                           func(t *perf.Test) { t.Impairment.Delay = time.Minute },
		`--reorder 0.1: expected a time`:                                            func(t *perf.Test) { t.Impairment.Reorder = 0.1 },
		`--both: latency has one direction`:                                         func(t *perf.Test) { t.Direction, t.Metric = perf.Both, perf.Latency },
		`--interval 1ms: expected 0 or at least 10ms`:                               func(t *perf.Test) { t.Interval = time.Millisecond },
	} {
		test := good
		change(&test)
		require.ErrorContains(t, test.Validate(), want)
	}
	test := few("uet", perf.Atomic, perf.Bandwidth, 10)
	require.NoError(t, test.Validate())
	require.Equal(t, 8, test.Size)
}

// A local launches in this process.
type local struct{ c *perf.Client }

func (l local) Launch(ctx context.Context, t perf.Test) (perf.Result, error) {
	return l.c.Run(ctx, t, nil)
}

func TestCompareAlternates(t *testing.T) {
	address, _ := serve(t, nil)
	plan := perf.Plan{Tests: []perf.Test{few("", perf.Write, perf.Bandwidth, 20)}, Protocols: []string{"uet,lanes=4", "tcp"}, Rounds: 3}
	var order []string
	all, err := perf.Compare(bounded(t), plan, local{dial(t, address)}, func(_ int, r *perf.Result) { order = append(order, r.Test.Protocol+" "+r.Test.Operation) })
	require.NoError(t, err)
	require.Equal(t, []string{"uet,lanes=4 write", "tcp stream", "tcp stream", "uet,lanes=4 write", "uet,lanes=4 write", "tcp stream"}, order)
	require.Len(t, all, 1)
	require.Len(t, all[0].Rows, 2)
	require.Len(t, all[0].Rows[1].Results, 3)
	require.Equal(t, perf.Spread{Median: 1, Least: 1, Most: 1}, all[0].Ratio(0, 0))
	require.Positive(t, all[0].Ratio(1, 0).Least)
}
