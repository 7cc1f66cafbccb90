package transport_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/weft-transport/weft/transport"
)

// One endpoint registers memory and says its key; the other writes into it. They may as well be two processes on two hosts, each
// with its own address.
func Example() {
	ctx := context.Background()
	server, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{})
	if err != nil {
		log.Fatal(err)
	}

	var both sync.WaitGroup
	both.Go(func() {
		defer server.Shutdown(ctx) // what the peer is still owed is sent
		memory, err := server.Register(make([]byte, 4096), transport.RemoteWrite)
		if err != nil {
			log.Fatal(err)
		}
		question, err := server.Receive(ctx, nil) // From is who asks
		if err != nil {
			log.Fatal(err)
		}
		if err := question.From.Send(ctx, nil, transport.WithData(memory.Key())); err != nil {
			log.Fatal(err)
		}
		written, err := memory.Arrival(ctx) // of a Write with data: its bytes are there
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, and %d\n", memory.Bytes()[100:100+written.Length], written.Data)
	})
	both.Go(func() {
		defer client.Shutdown(ctx)
		peer, err := client.Dial(ctx, server.Name())
		if err != nil {
			log.Fatal(err)
		}
		if err := peer.Send(ctx, nil); err != nil {
			log.Fatal(err)
		}
		key, err := client.Receive(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := peer.Write(ctx, []byte("hello"), transport.Remote{Key: key.Data, Offset: 100}, transport.WithData(42)); err != nil {
			log.Fatal(err)
		}
	})
	both.Wait()
	// Output: hello, and 42
}
