package perf

// A Cable says what a veth pair does with bursts and long TCP segments.
type Cable uint8

// Cables. With Whole they cross as they are; with Wire they are cut into packets before they enter, as by a network card; with
// NIC also joined again where they arrive (generic receive offload), as by the driver of one.
const (
	Whole Cable = iota
	Wire
	NIC
)
