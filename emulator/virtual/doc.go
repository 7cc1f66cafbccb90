// Package virtual runs applications on the emulated fabric, in virtual time, as net/http/httptest runs them
// against a server that is not there: seconds of a data centre with its faults pass in milliseconds.
//
//	w, err := virtual.New(virtual.Config{Network: network, Fabric: fabric})
//	for h := range 8 {
//		w.Go(h, func(ctx context.Context, d core.Driver) error {
//			ep, err := transport.New(d, transport.Config{})
//			...
//		})
//	}
//	err = w.Run(ctx)
//
// A World owns the fabric and the clock. Every host has a core.Driver, which is all that package transport needs,
// so that the same application runs over sockets. While a goroutine of the application runs, the fabric stands
// still and no time passes; when all of them wait, it goes on to the next instant at which one has something to do.
//
//	Run ──► fabric until somebody is woken ──► resume them, by (time, host), one after the other ─┐
//	 ▲                                                                                            │
//	 └────────────────────────── all of them wait again ◄─────────────────────────────────────────┘
//
// So a run with the same inputs repeats to the byte, if every host has one goroutine, the function given to
// Go, and that waits for nothing but its endpoint.
//
// An application with further goroutines, which wait for each other by channels or sleep, needs a bubble of
// testing/synctest. There time.Now, timers and deadlines of contexts follow virtual time. What goroutines of one host do
// at the same instant is in the order of Go's scheduler, so such a run does not repeat exactly.
//
//	synctest.Test(t, func(t *testing.T) {
//		w, err := virtual.New(virtual.Config{..., Settle: synctest.Wait, Sleep: time.Sleep})
//		...
//	})
package virtual
