// Package netem is the network impairment model of Linux's netem queueing discipline, without a kernel, a clock or a
// goroutine: what becomes of a packet is a function of the parameters, the seed and the instants of arrival.
//
//	text of tc ──Parse──> Params ──New──> Model      Enqueue  a packet arrives: lost, marked, twice, hurt, or held
//	  (String writes it back)                        Deadline when the next one leaves
//	                                                 Dequeue  the packets that are due, in order
//
// Parse reads the grammar of "tc qdisc add ... netem" as it is, so that a line that people know works here, and its
// errors point at the word. The virtual-time fabric, the wall-clock carriers and the tests all use the one Model; a
// carrier adds nothing but a clock and the packets themselves.
//
// The rules are those of net/sched/sch_netem.c (Linux 6.18) with its own generator of random numbers, so that
// "seed N" draws what a kernel draws; params.go and model.go say where this package differs and why.
package netem
