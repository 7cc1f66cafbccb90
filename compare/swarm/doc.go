// Package swarm draws small random runs and holds them to everything that must be true of any run.
//
// A Case follows from a seed and a number: fabric, protocol, class, workload, losses and faults. It is a
// scenario file, so that it can be looked at and shrunk by hand. Playing it runs with every checker on: the
// fabric and the hosts audit themselves at irregular instants, messages carry real bytes that are compared
// where they arrive and overwritten afterwards, and a referee at every host sees each packet that crosses the
// seam and knows the rules of the protocol from its packets alone. At the end a judge looks at the results:
// everything has ended, nothing failed without a cause, nothing was sent again in clean weather.
package swarm
