package transport_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// What every net.Conn must do, in virtual time: the same cases as those of nettest.TestConn, which needs sockets, since it
// runs subtests, and those cannot be inside a bubble. Each case has a bubble of its own.

// rough is a fabric of paths of very different length, which lose a hundredth of the packets on every link.
func rough(f *emulator.Fabric) {
	for l := range f.Network().Links {
		f.SetLoss(l, emulator.Loss{Random: 0.01, Corrupt: 0.01})
	}
}

// inBubble runs a case on both ends of a stream, on a fabric and on a rough one.
func inBubble(t *testing.T, play func(t *testing.T, c1, c2 net.Conn)) {
	for name, weather := range map[string]func(*emulator.Fabric){"clean": func(*emulator.Fabric) {}, "rough": rough} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends, over := make(chan net.Conn, 2), make(chan struct{})
				w := newWorld(t, name == "rough", weather)
				host := func(h int, open func(ctx context.Context, e *transport.Endpoint) (net.Conn, error)) {
					w.Go(h, func(ctx context.Context, d core.Driver) error {
						e, err := transport.New(d, transport.Config{StreamBuffer: 16 << 10})
						if err != nil {
							return err
						}
						c, err := open(ctx, e)
						if err != nil {
							close(over)
							return err
						}
						ends <- c
						<-over
						return e.Close()
					})
				}
				host(0, func(ctx context.Context, e *transport.Endpoint) (net.Conn, error) {
					l, err := e.ListenStream("")
					if err != nil {
						return nil, err
					}
					return l.Accept()
				})
				host(3, func(ctx context.Context, e *transport.Endpoint) (net.Conn, error) {
					p, err := e.Dial(ctx, "h0")
					if err != nil {
						return nil, err
					}
					return p.DialStream(ctx, "")
				})
				ran := make(chan error, 1)
				go func() { ran <- w.Run(t.Context()) }()
				c1, c2 := <-ends, <-ends
				play(t, c1, c2)
				close(over)
				require.NoError(t, <-ran)
			})
		})
	}
}

func TestConnInVirtualTime(t *testing.T) {
	for name, play := range map[string]func(t *testing.T, c1, c2 net.Conn){
		"basic": basicIO, "ping-pong": pingPong, "racy read": racyRead, "racy write": racyWrite, "read timeout": readTimeout,
		"write timeout": writeTimeout, "past": pastTimeout, "present": presentTimeout, "future": futureTimeout,
		"close": closeTimeout, "concurrent": concurrentMethods,
	} {
		t.Run(name, func(t *testing.T) { inBubble(t, play) })
	}
}

// basicIO sends megabytes there and back, by writes of many sizes.
func basicIO(t *testing.T, c1, c2 net.Conn) {
	want := random(1 << 20)
	var all sync.WaitGroup
	all.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		for rest := want; len(rest) > 0; {
			n := min(1+r.IntN(20_000), len(rest))
			if _, err := c1.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
		if err := c1.Close(); err != nil {
			t.Error(err)
		}
	})
	got, err := io.ReadAll(c2)
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "other bytes")
	all.Wait()
	for err == nil {
		_, err = c2.Write([]byte{1})
	}
	require.ErrorIs(t, err, io.ErrClosedPipe, "the other end is closed")
	require.NoError(t, c2.Close())
}

// pingPong counts to and fro.
func pingPong(t *testing.T, c1, c2 net.Conn) {
	var all sync.WaitGroup
	for i, c := range []net.Conn{c1, c2} {
		all.Go(func() {
			b := make([]byte, 8)
			for k := range 100 {
				if k%2 == i {
					b[0] = byte(k)
					if _, err := c.Write(b); err != nil {
						t.Error(err)
						return
					}
				} else if _, err := io.ReadFull(c, b); err != nil || b[0] != byte(k) {
					t.Error("ball", k, "is", b[0], err)
					return
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, c1.Close())
	require.NoError(t, c2.Close())
}

func timedOut(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout() && errors.Is(err, os.ErrDeadlineExceeded)
}

// racyRead has several goroutines read with deadlines that keep passing.
func racyRead(t *testing.T, c1, c2 net.Conn) {
	go io.Copy(c2, rand.NewChaCha8([32]byte{}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			b1, b2 := make([]byte, 1024), make([]byte, 1024)
			for range 10 {
				c1.SetReadDeadline(time.Now().Add(time.Millisecond))
				n, err := c1.Read(b1)
				if err == nil || n > 0 {
					copy(b1, b2)
				} else if !timedOut(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c1.Close()
	c2.Close()
}

func racyWrite(t *testing.T, c1, c2 net.Conn) {
	go io.Copy(io.Discard, c2)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			b := make([]byte, 1024)
			for range 10 {
				c1.SetWriteDeadline(time.Now().Add(time.Millisecond))
				if _, err := c1.Write(b); err != nil && !timedOut(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c1.Close()
	c2.Close()
}

// works tells that both ends still do, once deadlines are gone.
func works(t *testing.T, c1, c2 net.Conn) {
	require.NoError(t, c1.SetDeadline(time.Time{}))
	require.NoError(t, c2.SetDeadline(time.Time{}))
	go c1.Write([]byte("weft"))
	b := make([]byte, 4)
	_, err := io.ReadFull(c2, b)
	require.NoError(t, err)
	require.Equal(t, "weft", string(b))
	require.NoError(t, c1.Close())
	require.NoError(t, c2.Close())
}

func readTimeout(t *testing.T, c1, c2 net.Conn) {
	begun := time.Now()
	require.NoError(t, c1.SetReadDeadline(begun.Add(50*time.Millisecond)))
	_, err := c1.Read(make([]byte, 1))
	require.True(t, timedOut(err), err)
	require.InDelta(t, 50, time.Since(begun).Milliseconds(), 2)
	works(t, c2, c1)
}

// writeTimeout fills both rings of a peer that does not read.
func writeTimeout(t *testing.T, c1, c2 net.Conn) {
	require.NoError(t, c1.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	written, err := 0, error(nil)
	for n := 0; err == nil; written += n {
		n, err = c1.Write(make([]byte, 1024))
	}
	require.True(t, timedOut(err), err)
	require.LessOrEqual(t, written, 32<<10)
	_, err = io.CopyN(io.Discard, c2, int64(written))
	require.NoError(t, err)
	works(t, c1, c2)
}

func pastTimeout(t *testing.T, c1, c2 net.Conn) {
	go io.Copy(c2, c2)
	require.NoError(t, c1.SetDeadline(time.Unix(1, 0)))
	for range 3 {
		n, err := c1.Write(make([]byte, 1024))
		require.Zero(t, n)
		require.True(t, timedOut(err), err)
		n, err = c1.Read(make([]byte, 1024))
		require.Zero(t, n)
		require.True(t, timedOut(err), err)
	}
	require.NoError(t, c1.SetDeadline(time.Time{}))
	_, err := c1.Write([]byte("weft"))
	require.NoError(t, err)
	_, err = io.ReadFull(c1, make([]byte, 4))
	require.NoError(t, err)
	c1.Close()
	c2.Close()
}

// waitTimeout has a reader and a writer wait, and then sets their deadline.
func waitTimeout(t *testing.T, c1, c2 net.Conn, in time.Duration) {
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := c1.Read(make([]byte, 1024)); !timedOut(err) {
			t.Error("read:", err)
		}
	})
	all.Go(func() {
		var err error
		for err == nil {
			_, err = c1.Write(make([]byte, 1024))
		}
		if !timedOut(err) {
			t.Error("write:", err)
		}
	})
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, c1.SetDeadline(time.Now().Add(in)))
	all.Wait()
	go io.Copy(io.Discard, c1)
	go io.Copy(io.Discard, c2)
	time.Sleep(time.Second)
	require.NoError(t, c1.Close())
	require.NoError(t, c2.Close())
}

func presentTimeout(t *testing.T, c1, c2 net.Conn) { waitTimeout(t, c1, c2, 0) }
func futureTimeout(t *testing.T, c1, c2 net.Conn)  { waitTimeout(t, c1, c2, 100*time.Millisecond) }

// closeTimeout closes a stream under a reader and a writer.
func closeTimeout(t *testing.T, c1, c2 net.Conn) {
	var all sync.WaitGroup
	all.Go(func() {
		var err error
		for err == nil {
			_, err = c1.Read(make([]byte, 1024))
		}
		if !errors.Is(err, net.ErrClosed) {
			t.Error("read:", err)
		}
	})
	all.Go(func() {
		var err error
		for err == nil {
			_, err = c1.Write(make([]byte, 1024))
		}
		if !errors.Is(err, net.ErrClosed) {
			t.Error("write:", err)
		}
	})
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, c1.Close())
	all.Wait()
	require.ErrorIs(t, c1.Close(), net.ErrClosed)
	require.NoError(t, c2.Close())
}

func concurrentMethods(t *testing.T, c1, c2 net.Conn) {
	go io.Copy(c2, c2)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { c1.Read(make([]byte, 1024)) })
		all.Go(func() { c1.Write(make([]byte, 1024)) })
		all.Go(func() { c1.SetDeadline(time.Now().Add(10 * time.Millisecond)) })
		all.Go(func() { c1.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) })
		all.Go(func() { c1.SetWriteDeadline(time.Now().Add(5 * time.Millisecond)) })
		all.Go(func() { _ = c1.LocalAddr().String() + c1.RemoteAddr().Network() })
	}
	all.Wait()
	require.NoError(t, c1.Close())
	require.NoError(t, c2.Close())
}

// uneven makes the paths of a network differ by more than many packets.
func uneven(n *emulator.Network) {
	for l := range n.Links {
		n.Links[l].Delay += instant.Time(l%7) * 3 * instant.Microsecond
	}
}
