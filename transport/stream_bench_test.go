package transport_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
)

// BenchmarkStream compares what a Stream is made of, a ring of remote writes, with the other way to bytes in order: ordered
// sends of the same 64 KiB, four under way as in the ring, into sixteen receives that are posted again. Over loopback, without loss and with
// one packet in a hundred lost.
func BenchmarkStream(b *testing.B) {
	const piece, sends, receives = 64 << 10, 4, 16
	for _, loss := range []struct {
		name string
		in   int // one packet in so many is lost; 0: none
	}{{"clean", 0}, {"loss1%", 100}} {
		open := func(b *testing.B) (a, z *transport.Endpoint, toA, toZ *transport.Peer) {
			var ends [2]*transport.Endpoint
			var peers [2]*transport.Peer
			for i := range ends {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				c := transport.Config{UDP: udp.Config{Lanes: 8, Spin: -1}}
				if loss.in > 0 {
					c.UDP.Fate = func(*core.Packet) udp.Fate { return udp.Fate{Drop: r.IntN(loss.in) == 0} }
				}
				e, err := transport.Listen(b.Context(), "127.0.0.1:0", c)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { e.Close() })
				ends[i] = e
			}
			for i, e := range ends {
				p, err := e.Dial(b.Context(), ends[1-i].Name())
				if err != nil {
					b.Fatal(err)
				}
				peers[i] = p
			}
			return ends[0], ends[1], peers[1], peers[0]
		}
		b.Run("ring/"+loss.name, func(b *testing.B) {
			a, _, toA, _ := open(b)
			l, err := a.ListenStream("")
			if err != nil {
				b.Fatal(err)
			}
			s, err := toA.DialStream(b.Context(), "")
			if err != nil {
				b.Fatal(err)
			}
			c, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan error, 1)
			b.SetBytes(piece)
			b.ResetTimer()
			go func() {
				_, err := io.CopyN(io.Discard, c, int64(b.N)*piece)
				done <- err
			}()
			buf := make([]byte, piece)
			for range b.N {
				if _, err := s.Write(buf); err != nil {
					b.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
		b.Run("messages/"+loss.name, func(b *testing.B) {
			a, z, toA, _ := open(b)
			run := func(e *transport.Endpoint, r transport.Request, depth int) error {
				m, err := e.Register(make([]byte, depth*piece), transport.Local)
				if err != nil {
					return err
				}
				q, buf, out := e.NewQueue(depth), make([]byte, piece), make([]transport.Completion, depth)
				for posted, ended := 0, 0; ended < b.N; {
					for ; posted < b.N && posted < ended+depth; posted++ {
						r.Local = m.Slice(posted%depth*piece, piece)
						if r.Op == transport.OpSend {
							copy(r.Local.Bytes(), buf) // the stream copies into its ring, too
						}
						if _, err := q.Post(r); err != nil {
							return err
						}
					}
					n, err := q.Wait(context.Background(), out)
					for _, c := range out[:n] {
						if c.Err != nil {
							return c.Err
						}
						if r.Op == transport.OpReceive {
							copy(buf, m.Bytes()[:c.Message.Length])
						}
					}
					if ended += n; err != nil {
						return err
					}
				}
				return nil
			}
			done := make(chan error, 1)
			b.SetBytes(piece)
			b.ResetTimer()
			go func() { done <- run(a, transport.Request{Op: transport.OpReceive}, receives) }()
			if err := run(z, transport.Request{Op: transport.OpSend, Peer: toA, Options: []transport.Option{transport.Ordered}}, sends); err != nil {
				b.Fatal(err)
			}
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
