package emulator

// FlowControl says what keeps the queues of a class from overflowing.
type FlowControl uint8

// Kinds of flow control.
const (
	NoFlowControl FlowControl = iota // tail drop, or trimming
	PFC                              // IEEE 802.1Qbb priority pause, hop by hop: no queue drops
	Credit                           // link credits (UE link layer CBFC): a link sends what the next buffer has room for
)

func (f FlowControl) String() string {
	return [...]string{"none", "pfc", "credit"}[f]
}

// A Class is one traffic class of the fabric: its own queue in every port, its own flow control
// and marking. Classes are served by strict Priority, and by Weight among equals. All sizes are in
// bytes; buffers count whole frames as switches store them (wire size less preamble and gap is
// not distinguished: the wire size is counted).
type Class struct {
	Name     string
	Priority int // the highest non-empty priority is served first
	Weight   int // share within the same priority (deficit round robin); 0 counts as 1
	// MaxShare caps the class while others wait, as a fraction of the link: 0.25 for trimmed
	// headers (UE Specification section 3.6.17). 0: no cap. A capped class is served ahead of
	// all lower priorities until its share is used up.
	MaxShare float64

	QueueBytes   int64   // static limit of one egress queue; 0: limited by the shared buffer alone
	Alpha        float64 // dynamic threshold: a queue may hold Alpha times the free shared buffer; 0: no dynamic limit
	ReserveBytes int64   // a queue up to this length is not held to the threshold: it takes what fits into the buffer

	// ECN marks at dequeue, on the bytes queued including the packet that leaves: never below
	// ECNMin, with probability ECNP rising linearly up to ECNMax, always above. Equal bounds make
	// a step. ECNMax 0: no marking.
	ECNMin, ECNMax int64
	ECNP           float64
	NoLastHopECN   bool // queues that face hosts do not mark

	Trim      bool  // overflowing packets that are trimmable are cut to TrimBytes instead of dropped
	TrimBytes int64 // wire size of a trimmed packet, at least the IP and UDP headers and 24 bytes
	TrimInto  uint8 // class that carries trimmed packets
	TrimTail  bool  // with probability 1/2 trims the queue's last packet instead of the arriving one (NDP; avoids phase effects)
	LastHopQ  int64 // trim or drop limit of the queues that face hosts; 0: QueueBytes

	Routing     Routing // how switches spread this class over equal ways
	FlowControl FlowControl
	// XOFF and XON are thresholds of the bytes that one ingress port holds of this class (PFC). XOFF
	// 0: dynamic, Alpha times the free shared buffer; XON 0: XOFF less two full packets.
	XOFF, XON   int64
	Headroom    int64 // per ingress port, beyond XOFF, for what is under way when a pause takes effect; 0: computed from the link
	Telemetry   bool  // every switch port reports rate, stamp, bytes sent and queue in the packet (telemetry.go)
	CreditBytes int64 // for Credit: buffer promised to each upstream link; 0: two link BDPs
}

// MaxClasses bounds the number of classes of one fabric.
const MaxClasses = 8
