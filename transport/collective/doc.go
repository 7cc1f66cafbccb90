// Package collective has the collective operations of parallel programs over package transport: all-reduce by a ring
// or a tree, reduce-scatter, all-gather, all-to-all, broadcast and barrier, of []float32 and of bytes.
//
//	g, err := collective.Join(ctx, ep, rank, names)   // names of all endpoints, by rank
//	err = g.AllReduce(ctx, gradients, collective.Sum)
//
// All members of a group call the same operations in the same order with the same sizes. One goroutine a member calls
// them; none is started, so a group runs in virtual time as well (package emulator/virtual).
//
// Blocks travel as tagged, deferrable sends: a member that is ahead is put off by one that has not posted its receives
// yet, and nothing is sent twice. A member that is gone shows as the error of an operation with it, one that brings another
// size as ErrSize or transport.ErrTooLong. After an error, the end of a context among them, a group is of no use, since its
// members have done different things: every further call returns that error. A new group needs new endpoints.
package collective
