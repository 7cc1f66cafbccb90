package transport_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/weft-transport/weft/transport"
)

// Streams carry what connections do: a Listener is a net.Listener, and DialStream is what http.Transport dials with. The name in a
// URL is the peer's address.
func ExampleListener() {
	ctx := context.Background()
	server, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := server.ListenStream("http")
	if err != nil {
		log.Fatal(err)
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s over %s", r.URL.Path, l.Addr().Network())
	}
	go http.Serve(l, http.HandlerFunc(answer)) // until the endpoint is closed
	defer server.Close()                       // its client has gone before

	client, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Shutdown(ctx)
	t := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		p, err := client.Dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return p.DialStream(ctx, "http")
	}}
	defer t.CloseIdleConnections()
	response, err := (&http.Client{Transport: t}).Get("http://" + server.Name() + "/hello")
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	response.Body.Close()
	fmt.Printf("%s\n", body)
	// Output: /hello over uet
}
