// Filecopy puts a file on another host: the server offers memory of the file's size, the client writes into it.
//
//	go run ./examples/filecopy -listen 127.0.0.1:4793 -dir /tmp/in
//	go run ./examples/filecopy -from 127.0.0.2:4793 -to 127.0.0.1:4793 picture.png
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-transport/weft/transport"
)

const mostBytes = 1 << 30 // of one file: the server keeps it in memory

func main() {
	listen, dir := flag.String("listen", "", "receive files at this address"), flag.String("dir", ".", "where to put them")
	from, to := flag.String("from", "", "address of the client"), flag.String("to", "", "address of the server")
	flag.Parse()
	ctx := context.Background()
	local := *listen + *from
	e, err := transport.Listen(ctx, local, transport.Config{})
	if err == nil {
		defer e.Close()
		for *listen != "" && err == nil {
			err = take(ctx, e, *dir)
		}
		for _, name := range flag.Args() {
			if err == nil {
				err = give(ctx, e, *to, name)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "filecopy:", err)
		os.Exit(1)
	}
}

// take receives one file: its name, with the size as data, is answered with a memory key; a digest ends it.
func take(ctx context.Context, e *transport.Endpoint, dir string) error {
	name := make([]byte, 255)
	offer, err := e.Receive(ctx, name)
	if err != nil {
		return err
	}
	if offer.Data > mostBytes {
		return fmt.Errorf("%s offers %d bytes; expected %d at most", offer.From.Name(), offer.Data, mostBytes)
	}
	file, err := e.Register(make([]byte, offer.Data), transport.RemoteWrite)
	if err != nil {
		return err
	}
	defer file.Deregister()
	if err := offer.From.SendTagged(ctx, nil, 1, transport.WithData(file.Key()), transport.Deferrable); err != nil {
		return err
	}
	var digest [sha256.Size]byte
	if _, err := e.ReceiveMatch(ctx, digest[:], transport.Match{From: offer.From}); err != nil {
		return err
	}
	if sha256.Sum256(file.Bytes()) != digest {
		return errors.New("the file is not what was sent")
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(string(name[:offer.Length]))), file.Bytes(), 0o666)
}

// give sends one file.
func give(ctx context.Context, e *transport.Endpoint, to, name string) error {
	p, err := e.Dial(ctx, to)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := p.Send(ctx, []byte(filepath.Base(name)), transport.WithData(uint64(len(b))), transport.Deferrable); err != nil {
		return err
	}
	room, err := e.ReceiveMatch(ctx, nil, transport.Match{Tagged: true, Tag: 1, From: p})
	if err != nil {
		return err
	}
	if err := p.Write(ctx, b, transport.Remote{Key: room.Data}); err != nil {
		return err
	}
	digest := sha256.Sum256(b)
	return p.Send(ctx, digest[:], transport.Deferrable, transport.Complete)
}
