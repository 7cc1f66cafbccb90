// Package prefetch asks the processor for memory that will be needed soon.
//
// A large run visits its hosts and links in an order that no cache can guess, and waits for memory most of
// its time. The calendar knows what comes next, and so can ask early. A load would do that too, but holds up
// everything behind it until the line is there; a prefetch does not, and never faults, whatever the address.
// It changes no result: on processors without an implementation here it does nothing.
package prefetch
