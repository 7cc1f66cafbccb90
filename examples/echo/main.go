// Echo is a stream server that returns what it gets, and a client that sends it a line.
//
//	go run ./examples/echo -listen 127.0.0.1:4793
//	go run ./examples/echo -from 127.0.0.2:4793 -to 127.0.0.1:4793 hello
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/weft-transport/weft/transport"
)

func main() {
	listen := flag.String("listen", "", "serve at this address")
	from, to := flag.String("from", "", "address of the client"), flag.String("to", "", "address of the server")
	flag.Parse()
	ctx := context.Background()
	local := *listen
	if local == "" {
		local = *from
	}
	e, err := transport.Listen(ctx, local, transport.Config{})
	if err == nil {
		defer e.Close()
		if *listen != "" {
			err = serve(e)
		} else {
			err = ask(ctx, e, *to, strings.Join(flag.Args(), " "), os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

// serve returns what comes, each stream in a goroutine of its own, until the endpoint is closed.
func serve(e *transport.Endpoint) error {
	l, err := e.ListenStream("echo")
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}

// ask sends a line and copies the answer.
func ask(ctx context.Context, e *transport.Endpoint, to, line string, answer io.Writer) error {
	p, err := e.Dial(ctx, to)
	if err != nil {
		return err
	}
	s, err := p.DialStream(ctx, "echo")
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintln(s, line); err != nil {
		return err
	}
	if err := s.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(answer, s)
	return err
}
