// Package transport is Ultra Ethernet Transport for applications: remote memory, messages and streams between
// endpoints, over UDP sockets, or in virtual time over the emulated fabric (package emulator/virtual).
//
//	ep, err := transport.Listen(ctx, "10.0.0.1:4793", transport.Config{})
//	peer, err := ep.Dial(ctx, "10.0.0.2:4793")
//	err = peer.Write(ctx, data, transport.Remote{Key: key})        // into the peer's memory
//	err = peer.Send(ctx, data)                                      // to a Receive of the peer
//	n, from, err := ep.Receive(ctx, buf)
//
// # Two forms
//
// The blocking form takes slices of bytes and returns when the operation is done. It copies through memory of the
// endpoint that is registered once, so a slice is the caller's again as soon as the call returns, whatever became of
// the operation. The form with a completion queue (Queue) takes registered Memory, copies nothing, keeps many
// operations under way, and reports each by a Completion.
//
// # Memory
//
// Peers reach only memory that was registered, by its Key and with the rights that were given (Access). What peers
// write appears in it at any time; who wrote what is known from a Write with data, which leaves an Arrival.
//
// # Order
//
// Packets take many paths at once, and messages overtake each other, unless they are sent Ordered: then they
// use one path and are carried out in order. A Stream is ordered whatever the paths do.
//
// # Errors
//
// All errors wrap one of the Err values, to be asked for with errors.Is; Retryable says whether the same call may
// succeed later. Whether a failed operation was carried out at the peer is not known after ErrUnreachable, ErrClosed,
// or the end of a context.
//
// # Goroutines
//
// The data path has one goroutine, that of the carrier. No operation, peer or stream has one. Methods are safe
// for concurrent use; on one Stream, one reader and one writer.
package transport
