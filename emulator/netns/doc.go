// Package netns plays a network of the emulator with the kernel's own parts: a network namespace for each host and
// switch, veth pairs for cables, routes over all shortest paths hashed by ports, and tc for rates, queues, marks and
// impairments. Programs on it use the kernel's sockets, TCP included, and know nothing of it.
//
//	Network ──NewPlan──► Plan: commands of ip, tc, sysctl and ethtool, as text
//	                       │ Up    carries them out, one after the other; on an error, undoes all
//	                       │ Exec  runs a program on a host
//	                       ▼ Down  ends the programs and takes everything away, also after a crash
//
// A Plan is text and nothing else: what Up does is what "weft emulate plan" prints. All names of namespaces begin with
// that of the plan, so that Down needs to remember nothing.
//
// What kernels lack is found by Probe before anything is done. Offloads that would let one decision hit a whole burst
// are switched off.
package netns
