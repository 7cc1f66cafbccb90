// Kv is a key-value store whose clients read without the server's help: a value lies in a slot of memory that they
// look at by RDMA read. Only changes go through the server.
//
//	go run ./examples/kv -listen 127.0.0.1:4793
//	go run ./examples/kv -from 127.0.0.2:4793 -to 127.0.0.1:4793 put colour blue      or: get colour
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/weft-transport/weft/transport"
)

// A slot is the checksum of what follows, the lengths of key and value, and these. A read that meets a change has a wrong
// checksum and is made again.
const slots, slotSize, head = 1 << 12, 256, 6

func main() {
	listen := flag.String("listen", "", "serve at this address")
	from, to := flag.String("from", "", "address of the client"), flag.String("to", "", "address of the server")
	flag.Parse()
	ctx, word := context.Background(), append(flag.Args(), "", "", "")
	e, err := transport.Listen(ctx, *listen+*from, transport.Config{})
	if err == nil {
		defer e.Close()
		switch {
		case *listen != "":
			err = serve(ctx, e)
		case word[0] == "put":
			err = put(ctx, e, *to, word[1], word[2])
		default:
			var value string
			value, err = get(ctx, e, *to, word[1])
			fmt.Println(value)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kv:", err)
		os.Exit(1)
	}
}

func slotOf(key string) uint64 {
	return uint64(crc32.ChecksumIEEE([]byte(key))) % slots * slotSize
}

// serve carries out changes. The table has a key that clients know.
func serve(ctx context.Context, e *transport.Endpoint) error {
	table, err := e.RegisterKey(make([]byte, slots*slotSize), transport.RemoteRead, 4711)
	if err != nil {
		return err
	}
	slot := make([]byte, slotSize)
	for {
		m, err := e.Receive(ctx, slot)
		if err != nil {
			return err
		}
		if key, _, ok := parse(slot); ok && m.Length == slotSize { // what lies in the same slot makes room
			copy(table.Bytes()[slotOf(key):], slot)
		}
	}
}

func put(ctx context.Context, e *transport.Endpoint, to, key, value string) error {
	p, err := e.Dial(ctx, to)
	if err != nil {
		return err
	}
	if head+len(key)+len(value) > slotSize {
		return fmt.Errorf("key and value have %d bytes; expected %d at most", len(key)+len(value), slotSize-head)
	}
	slot := make([]byte, slotSize)
	slot[4], slot[5] = byte(len(key)), byte(len(value))
	copy(slot[head:], key+value)
	binary.LittleEndian.PutUint32(slot, crc32.ChecksumIEEE(slot[4:]))
	return p.Send(ctx, slot, transport.Complete, transport.Deferrable)
}

func get(ctx context.Context, e *transport.Endpoint, to, key string) (string, error) {
	p, err := e.Dial(ctx, to)
	slot := make([]byte, slotSize)
	for err == nil {
		if err = p.Read(ctx, slot, transport.Remote{Key: 4711, Offset: slotOf(key)}); err != nil {
			break
		}
		switch k, value, ok := parse(slot); {
		case !ok: // it was being changed
		case k != key || key == "":
			return "", fmt.Errorf("no key %q", key)
		default:
			return value, nil
		}
	}
	return "", err
}

// parse returns what is in a slot; one that nobody has written to is empty.
func parse(slot []byte) (key, value string, ok bool) {
	k, v := int(slot[4]), int(slot[5])
	sum := binary.LittleEndian.Uint32(slot)
	if sum == 0 && k == 0 {
		return "", "", true
	}
	if sum != crc32.ChecksumIEEE(slot[4:]) || head+k+v > slotSize {
		return "", "", false
	}
	return string(slot[head:][:k]), string(slot[head+k:][:v]), true
}
