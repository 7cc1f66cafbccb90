package core

import "github.com/weft-transport/weft/transport/wire"

// An Endpoint is one fabric endpoint (FEP) that speaks Ultra Ethernet Transport. It implements
// Host and Memory. Its files, in the order of a packet's life:
//
//	message.go   Send: a message enters the queue of a PDC
//	ccc.go       the congestion control context: window, rate, entropy values
//	send.go      Transmit: control before retransmissions before new data
//	recv.go      a request arrives: context, window, duplicates, placement
//	ack.go       when a target acknowledges, and what an ACK does to its source
//	nack.go      refusals, sent and received
//	loss.go      what is held lost, and the fast inference from order
//	rto.go       the timer
//	probe.go     the tail probe
//	clear.go     responses that must not be lost
//	close.go     the end of a context
//	pdc.go       source contexts and their states;  target.go the target's half
//	window.go    room for PSNs;  control.go the queue of control packets
type Endpoint struct {
	cfg        Config
	plainUnits bool  // a unit of nominal size is 256 bytes
	nominalMTU int64 // bytes of a full packet as congestion control counts it
	fullUnits  int64 // and in units
	mpr        uint32
	random     random
	counters   Counters
	timers     timers
	events     eventQueue
	control    controlQueue

	// As source: contexts, PDCs, messages, records of sent packets. Index 0 of a slab is unused.
	contexts                    []ccc
	algorithms                  []algorithms
	byPeer                      lookup
	rtxReady                    chain // contexts that may have something to send again
	dataReady                   chain // and something new
	rtxReadyLink, dataReadyLink []uint32

	pdcs                         []sendPDC
	pdcsFree                     []uint32
	probing                      chain // PDCs that want to send a probe
	rtxLink, dataLink, probeLink []uint32

	messages     []sendMessage
	messagesFree uint32
	sent         []sentPacket
	got, lostMap []uint64
	freed        int32 // units that the ACK in hand released by PSN; for ACKs without a byte count
	drift        int64 // units by which peers' byte counts did not match what was booked; 0 with an honest peer
	sendRoom     blocks

	// As target.
	targets       []recvPDC
	targetsFree   []uint32
	liveTargets   int    // those not at rest
	askedAt       Time   // when it last asked
	hand          uint32 // where askToClose goes on
	bySyn         lookup // {peer, its PDCID} to target
	inbound       []recvMessage
	inboundFree   uint32
	byMessage     lookup // {target, message id} to inbound
	arrived       []uint64
	recvRoom      blocks
	responses     []response
	responsesFree uint32
	responsesUsed int

	memory bufferTable
}

// New makes an endpoint. The error names the field of c that is wrong.
func New(c Config) (*Endpoint, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	e := &Endpoint{cfg: c, mpr: uint32(c.MPR) * wire.MPRUnit, random: random(mix(c.Seed) ^ mix(uint64(c.Self)+1))}
	e.fullUnits = int64(c.units(requestHeader, c.PayloadMTU))
	e.nominalMTU = c.NominalMTU
	if e.nominalMTU == 0 {
		e.nominalMTU, e.plainUnits = e.fullUnits*wire.BytesUnit, true
	}
	e.contexts, e.algorithms = make([]ccc, 1, 2), make([]algorithms, 1, 2)
	e.rtxReadyLink, e.dataReadyLink = make([]uint32, 1, 2), make([]uint32, 1, 2)
	e.pdcs = make([]sendPDC, 1, 2)
	e.rtxLink, e.dataLink, e.probeLink = make([]uint32, 1, 2), make([]uint32, 1, 2), make([]uint32, 1, 2)
	e.messages = make([]sendMessage, 1, 2)
	e.targets = make([]recvPDC, 1, 2)
	e.inbound = make([]recvMessage, 1, 2)
	e.responses = make([]response, 1)
	return e, nil
}

// Counters returns totals since the start.
func (e *Endpoint) Counters() Counters { return e.counters }

// HandlePacket takes a packet that arrived. Whatever the bytes are, nothing worse happens than
// that they are counted as malformed.
func (e *Endpoint) HandlePacket(now Time, p *Packet) {
	e.counters.Received++
	if p.Flags&Corrupt != 0 {
		e.counters.CorruptDropped++
		return
	}
	if p.To != e.cfg.Self || p.Proto != ProtoUET || int(p.HeaderLen) > len(p.Header) {
		e.counters.Malformed++
		return
	}
	header := p.Header[:p.HeaderLen]
	prologue, why := wire.ParsePrologue(header)
	if why != wire.OK {
		e.counters.Malformed++
		return
	}
	switch t := prologue.Type(); {
	case t.IsRequest():
		e.handleRequest(now, p, header)
	case t == wire.TypeAckCC || t == wire.TypeAck:
		e.handleAck(now, p, header, t)
	case t == wire.TypeNack:
		e.handleNack(now, p, header)
	case t == wire.TypeControl:
		e.handleControl(now, p, header)
	default:
		e.counters.Malformed++
	}
}

// Transmit fills p with the next packet: control packets first, then probes and what is sent
// again, then new data, each kind in turn over peers and contexts.
func (e *Endpoint) Transmit(now Time, pull Pull, p *Packet) bool {
	if e.control.count > 0 && pull.Open.Has(e.cfg.ControlClass) && e.sendControl(now, p) {
		return true
	}
	if !pull.Open.Has(e.cfg.DataClass) {
		return false
	}
	return e.probing.tail != 0 && e.sendProbe(now, p) ||
		e.rtxReady.tail != 0 && e.sendAgain(now, p) ||
		e.dataReady.tail != 0 && e.sendData(now, p)
}
