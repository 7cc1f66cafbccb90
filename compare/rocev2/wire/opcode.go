package wire

// An Opcode is the first byte of the BTH: three bits of transport, five of operation.
type Opcode uint8

// Opcodes of the reliable connected transport (RC).
const (
	SendFirst              Opcode = 0x00
	SendMiddle             Opcode = 0x01
	SendLast               Opcode = 0x02
	SendLastImmediate      Opcode = 0x03
	SendOnly               Opcode = 0x04
	SendOnlyImmediate      Opcode = 0x05
	WriteFirst             Opcode = 0x06
	WriteMiddle            Opcode = 0x07
	WriteLast              Opcode = 0x08
	WriteLastImmediate     Opcode = 0x09
	WriteOnly              Opcode = 0x0A
	WriteOnlyImmediate     Opcode = 0x0B
	ReadRequest            Opcode = 0x0C
	ReadResponseFirst      Opcode = 0x0D
	ReadResponseMiddle     Opcode = 0x0E
	ReadResponseLast       Opcode = 0x0F
	ReadResponseOnly       Opcode = 0x10
	Acknowledge            Opcode = 0x11
	AtomicAcknowledge      Opcode = 0x12
	CompareSwap            Opcode = 0x13
	FetchAdd               Opcode = 0x14
	SendLastInvalidate     Opcode = 0x16
	SendOnlyInvalidate     Opcode = 0x17
	Flush                  Opcode = 0x1C
	AtomicWrite            Opcode = 0x1D
	DatagramSend           Opcode = 0x64 // UD SEND Only
	DatagramSendImmediate  Opcode = 0x65 // UD SEND Only with immediate
	CongestionNotification Opcode = 0x81 // CNP, RoCE v2 annex A17.9.2
)

// What follows the BTH, as bits.
const (
	known = 1 << iota
	hasDETH
	hasFETH
	hasRETH
	hasAtomic
	hasAETH
	hasAtomicAck
	hasImm
	hasInvalidate
	hasPayload
	wholeMTU  // First and Middle packets: the payload is exactly one path MTU
	mayRETH   // carries a RETH in the dialect EveryRETH only
	starts    // begins a message
	ends      // ends a message
	isRequest // consumes a PSN of the requester
	isCNP

	// rare is what the packets of a plain WRITE and their answers never have.
	rare = hasDETH | hasFETH | hasAtomic | hasAtomicAck | hasImm | hasInvalidate | isCNP
)

var layouts = [256]uint16{
	SendFirst:              known | hasPayload | wholeMTU | starts | isRequest,
	SendMiddle:             known | hasPayload | wholeMTU | isRequest,
	SendLast:               known | hasPayload | ends | isRequest,
	SendLastImmediate:      known | hasPayload | hasImm | ends | isRequest,
	SendOnly:               known | hasPayload | starts | ends | isRequest,
	SendOnlyImmediate:      known | hasPayload | hasImm | starts | ends | isRequest,
	WriteFirst:             known | hasPayload | hasRETH | wholeMTU | starts | isRequest,
	WriteMiddle:            known | hasPayload | mayRETH | wholeMTU | isRequest,
	WriteLast:              known | hasPayload | mayRETH | ends | isRequest,
	WriteLastImmediate:     known | hasPayload | mayRETH | hasImm | ends | isRequest,
	WriteOnly:              known | hasPayload | hasRETH | starts | ends | isRequest,
	WriteOnlyImmediate:     known | hasPayload | hasRETH | hasImm | starts | ends | isRequest,
	ReadRequest:            known | hasRETH | starts | ends | isRequest,
	ReadResponseFirst:      known | hasPayload | hasAETH | wholeMTU,
	ReadResponseMiddle:     known | hasPayload | wholeMTU,
	ReadResponseLast:       known | hasPayload | hasAETH,
	ReadResponseOnly:       known | hasPayload | hasAETH,
	Acknowledge:            known | hasAETH,
	AtomicAcknowledge:      known | hasAETH | hasAtomicAck,
	CompareSwap:            known | hasAtomic | starts | ends | isRequest,
	FetchAdd:               known | hasAtomic | starts | ends | isRequest,
	SendLastInvalidate:     known | hasPayload | hasInvalidate | ends | isRequest,
	SendOnlyInvalidate:     known | hasPayload | hasInvalidate | starts | ends | isRequest,
	Flush:                  known | hasFETH | hasRETH | starts | ends | isRequest,
	AtomicWrite:            known | hasRETH | hasPayload | starts | ends | isRequest,
	DatagramSend:           known | hasDETH | hasPayload | starts | ends | isRequest,
	DatagramSendImmediate:  known | hasDETH | hasImm | hasPayload | starts | ends | isRequest,
	CongestionNotification: known | isCNP,
}

var opcodeNames = [256]string{
	SendFirst: "SEND First", SendMiddle: "SEND Middle", SendLast: "SEND Last", SendLastImmediate: "SEND Last with immediate",
	SendOnly: "SEND Only", SendOnlyImmediate: "SEND Only with immediate",
	WriteFirst: "WRITE First", WriteMiddle: "WRITE Middle", WriteLast: "WRITE Last", WriteLastImmediate: "WRITE Last with immediate",
	WriteOnly: "WRITE Only", WriteOnlyImmediate: "WRITE Only with immediate",
	ReadRequest: "READ request", ReadResponseFirst: "READ response First", ReadResponseMiddle: "READ response Middle",
	ReadResponseLast: "READ response Last", ReadResponseOnly: "READ response Only",
	Acknowledge: "Acknowledge", AtomicAcknowledge: "Atomic acknowledge", CompareSwap: "CmpSwap", FetchAdd: "FetchAdd",
	SendLastInvalidate: "SEND Last with invalidate", SendOnlyInvalidate: "SEND Only with invalidate",
	Flush: "FLUSH", AtomicWrite: "ATOMIC WRITE", DatagramSend: "UD SEND Only", DatagramSendImmediate: "UD SEND Only with immediate",
	CongestionNotification: "CNP",
}

func (o Opcode) has(bits uint16) bool { return layouts[o]&bits != 0 }

// Known tells whether this package can read packets of opcode o.
func (o Opcode) Known() bool { return o.has(known) }

// Starts tells whether o is the first packet of a message.
func (o Opcode) Starts() bool { return o.has(starts) }

// Ends tells whether o is the last packet of a message.
func (o Opcode) Ends() bool { return o.has(ends) }

// IsRequest tells whether o travels from requester to responder and consumes a PSN.
func (o Opcode) IsRequest() bool { return o.has(isRequest) }

// IsWrite tells whether o belongs to an RDMA WRITE.
func (o Opcode) IsWrite() bool { return o >= WriteFirst && o <= WriteOnlyImmediate }

// HasDETH tells whether a DETH follows: a datagram of UD.
func (o Opcode) HasDETH() bool { return o.has(hasDETH) }

// HasRETH tells whether a RETH follows in the dialect Standard.
func (o Opcode) HasRETH() bool { return o.has(hasRETH) }

// HasAETH tells whether an AETH follows.
func (o Opcode) HasAETH() bool { return o.has(hasAETH) }

// IsSend tells whether o belongs to a SEND.
func (o Opcode) IsSend() bool {
	return o <= SendOnlyImmediate || o == SendLastInvalidate || o == SendOnlyInvalidate
}

// IsDatagram tells whether o is a SEND of UD.
func (o Opcode) IsDatagram() bool { return o.has(hasDETH) }

// IsReadResponse tells whether o answers a READ.
func (o Opcode) IsReadResponse() bool { return o >= ReadResponseFirst && o <= ReadResponseOnly }

// HasImmediate tells whether an ImmDt follows.
func (o Opcode) HasImmediate() bool { return o.has(hasImm) }

// HasInvalidate tells whether an IETH follows.
func (o Opcode) HasInvalidate() bool { return o.has(hasInvalidate) }

// HasPayload tells whether payload may follow the headers.
func (o Opcode) HasPayload() bool { return o.has(hasPayload) }

// WholeMTU tells whether the payload is exactly one path MTU: First and Middle packets.
func (o Opcode) WholeMTU() bool { return o.has(wholeMTU) }

func (o Opcode) String() string {
	if name := opcodeNames[o]; name != "" {
		return name
	}
	return "unknown opcode"
}

// SendOpcode returns the opcode of one packet of a SEND by its place in the message. What the last one carries besides
// is immediate data, an R_Key to invalidate, or neither.
func SendOpcode(first, last, immediate, invalidate bool) Opcode {
	switch {
	case first && last && immediate:
		return SendOnlyImmediate
	case first && last && invalidate:
		return SendOnlyInvalidate
	case first && last:
		return SendOnly
	case first:
		return SendFirst
	case last && immediate:
		return SendLastImmediate
	case last && invalidate:
		return SendLastInvalidate
	case last:
		return SendLast
	}
	return SendMiddle
}

// ReadResponseOpcode returns the opcode of one response to a READ by its place among them.
func ReadResponseOpcode(first, last bool) Opcode {
	switch {
	case first && last:
		return ReadResponseOnly
	case first:
		return ReadResponseFirst
	case last:
		return ReadResponseLast
	}
	return ReadResponseMiddle
}

// WriteOpcode returns the opcode of one packet of an RDMA WRITE by its place in the message.
func WriteOpcode(first, last, immediate bool) Opcode {
	switch {
	case first && last && immediate:
		return WriteOnlyImmediate
	case first && last:
		return WriteOnly
	case first:
		return WriteFirst
	case last && immediate:
		return WriteLastImmediate
	case last:
		return WriteLast
	}
	return WriteMiddle
}
