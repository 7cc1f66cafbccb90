// Package transport is Ultra Ethernet Transport for applications: remote memory, messages and streams between
// endpoints, over UDP sockets, or in virtual time over the emulated fabric (package emulator/virtual).
//
//	ep, err := transport.Listen(ctx, "10.0.0.1:4793", transport.Config{})
//	peer, err := ep.Dial(ctx, "10.0.0.2:4793")
//	err = peer.Write(ctx, data, transport.Remote{Key: key})        // into the peer's memory
//	err = peer.Send(ctx, data)                                      // to a Receive of the peer
//	m, err := ep.Receive(ctx, buf)                                  // m.Length bytes from m.From
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
// write appears in it at any time and in any order; who wrote what is known from a Write with data, which leaves an Arrival.
// An Arrival, a Completion, and the return of a blocking call happen after the bytes that they speak of were written (in
// the sense of the Go memory model); a look at memory that a peer may be writing to is a race, unless it is checked like
// a checksum. Memory that a Queue's operation uses belongs to the endpoint until its Completion, and registered memory
// until Deregister has returned nil.
//
// # Order
//
// Packets take many paths at once, and messages overtake each other, unless they are sent Ordered: then they
// use one path and are carried out in order. A Stream is ordered whatever the paths do. Completions are in the order in
// which operations end. Every operation is carried out once, whatever the network does, but those that are Idempotent, which
// may be carried out again as long as their Completion is out, and datagrams, which may be lost or doubled.
//
// # Errors
//
// All errors wrap one of the Err values, to be asked for with errors.Is; Retryable says whether the same call may
// succeed later. Whether a failed operation was carried out at the peer is not known after ErrUnreachable, ErrClosed,
// or the end of a context: then nothing more of it is sent, and its place (Config.MaxPending) is free when what is under way
// has been answered.
//
// # Round trips
//
// Nobody need say how long a round trip takes: the least that was measured to a peer, 100 us over sockets at least, is what
// congestion control, loss detection and timers go by (Config.Core.LearnRTT). Until the first answer, the timer repeats
// only the oldest packet, so that a long path does not see everything several times. A path whose rate is far below 100 Gbit/s should
// be told (Config.Core.LineRateBps).
//
// # Peers that go and come back
//
// An operation with a peer that does not answer fails with ErrUnreachable once its retries are spent: after about 5
// seconds over sockets (Config.Core.RTO: 20 ms, doubled up to 500 ms, 12 times), half a second elsewhere, virtual time included (1 ms, 8 times). A Stream that waits without a word from its
// peer asks after 20 seconds; one that nobody uses notices nothing. A peer that has come back knows nothing of what was
// before: contexts, keys and streams of its predecessor end with ErrReset or ErrKey as soon as they are used. Keys that the
// endpoint chooses are not repeated by its successor. Who comes back within two seconds may find the first operations
// with a peer refused with ErrReset, by the contexts of its predecessor; they were not carried out. A context that is idle
// is closed after 30 seconds (Config.Core.IdleClose), and one whose peer is gone without a word is forgotten after 90
// (TargetIdle).
//
// # Many peers
//
// Config.UDP.MaxPeers peers are known at once. Peer.Close gives one back when nothing is under way with it at either
// side; whoever deals with many
// for a short time calls it. A dialled peer that is not closed makes room for another Dial when no context is open with
// it, and is resolved again when it is used; a peer that only sent something makes room after 30 seconds of silence, after
// one if no context is open (Config.UDP.PeerIdle). When all places are taken, Dial fails with ErrBusy, and packets of strangers are dropped.
//
// # Bad weather
//
// Config.UDP.Fate decides what becomes of each packet that arrives: it is dropped, doubled, or late. So an application meets losses and
// reordering over the loopback interface, without privilege. Failing links, full queues and many hosts are in package emulator/virtual.
//
// # The end
//
// Shutdown ends with grace: what was asked for is finished, peers are told, and nothing new begins. Close ends at once.
//
// # What can be seen
//
// Stats has totals, Driver those of the sockets (udp.Carrier.Stats). Config.Logger gets a line when an endpoint opens and one when
// it closes.
//
// # Goroutines
//
// The data path has one goroutine, that of the carrier. No operation, peer or stream has one. Methods are safe
// for concurrent use; on one Stream, one reader and one writer.
package transport
