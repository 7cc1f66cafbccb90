package core

import (
	"fmt"

	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/wire"
)

// An Endpoint is one fabric endpoint (FEP) that speaks Ultra Ethernet Transport. It implements
// Host and Memory. Its files, in the order of a packet's life:
//
//	message.go   Send: a message enters the queue of a PDC
//	ccc.go       the congestion control context: window, rate, entropy values
//	credit.go    receiver credits at the source;  grant.go at the destination
//	send.go      Transmit: control before retransmissions before new data
//	recv.go      a request arrives: context, window, duplicates, placement
//	ack.go       when a target acknowledges, and what an ACK does to its source
//	nack.go      refusals, sent and received
//	loss.go      what is held lost, and the fast inference from order
//	rto.go       the timer
//	probe.go     the tail probe
//	clear.go     responses that must not be lost
//	close.go     the end of a context;  release.go of what is kept of a peer
//	pdc.go       source contexts and their states;  target.go the target's half
//	window.go    room for PSNs;  control.go the queue of control packets
//	perform.go   requests that are more than a write (doc.go has the list)
//
// The state of an endpoint is in slabs, and the first entries of all of them lie behind each other in
// the Endpoint itself (nest): an endpoint with one peer is one piece of memory. In a run of thousands of
// endpoints every call finds its own cold, and scattered over twenty pages it cost four times as much as
// the work (docs/PERFORMANCE.md). The fields are in the order of heat.
type Endpoint struct {
	cfg          *Config // shared by a Family
	self         Addr
	mpr          uint32
	nominalMTU   int64  // bytes of a full packet as congestion control counts it
	fullUnits    int64  // and in units
	requestSize  int    // of the PDS header of our requests
	penalty      uint8  // that acknowledgements tell sources (SetPenalty)
	restore      bool   // and that it is over
	plainUnits   bool   // a unit of nominal size is 256 bytes
	readAhead    uint32 // answers with data that a PDC asks for before they come
	initiator    uint32 // id that requests carry
	loosePending uint32 // what loose has to send: 0 costs Transmit one comparison
	timers       timers
	control      controlQueue
	counters     Counters

	// As source: contexts, PDCs, messages, records of sent packets. Index 0 of a slab is unused.
	rtxReady                     chain // contexts that may have something to send again
	dataReady                    chain // and something new
	probing                      chain // PDCs that want to send a probe
	freed                        int32 // units that the ACK in hand released by PSN; for ACKs without a byte count
	heard                        heard // what it names; for rules that infer losses
	rtxReadyLink, dataReadyLink  []uint32
	rtxLink, dataLink, probeLink []uint32
	contexts                     []ccc
	algorithms                   []algorithms
	pdcs                         []sendPDC
	messages                     []sendMessage
	sent                         []sentPacket
	got, lostMap                 []uint64

	// As target.
	targets   []recvPDC
	inbound   []recvMessage
	arrived   []uint64
	responses []response
	bySyn     lookup // {peer, its PDCID} to target
	byMessage lookup // {target, message id} to inbound

	events eventQueue
	memory bufferTable

	credits []creditLine // by context, where the controller needs credit; else nil
	sharing int          // contexts with credit and something to send
	grants  *granting    // what we grant to others; nil until somebody asks

	// Touched when something begins or ends.
	byPeer        lookup // peer to context
	random        random
	drift         int64 // units by which peers' byte counts did not match what was booked; 0 with an honest peer
	pdcsFree      []uint32
	contextsFree  []uint32
	lifeUsed      uint8 // last ccc_id of a context that was forgotten, which its peer may still know
	messagesFree  uint32
	targetsFree   []uint32
	liveTargets   int    // those not at rest
	askedAt       Time   // when it last asked
	hand          uint32 // where askToClose goes on
	inboundFree   uint32
	responsesFree uint32
	responsesUsed int
	sendRoom      blocks
	recvRoom      blocks

	// Operations other than plain writes, at both ends.
	operations       []operation
	operationsFree   uint32
	byRead           lookup // {PDC, message id} to message
	byToken          lookup // restart token or rendezvous key to message
	tokens           uint32 // last one given
	receiving        receiving
	looseData        controlQueue // answers with data to RUDI requests
	loose            looseQueue   // requests without context: RUDI and UUD
	looseAnswers     []looseAnswer
	looseAnswersFree uint32
	answers          uint32                     // to reads, that wait to be sent or acknowledged
	scratch          [wire.CompareSwapSize]byte // operands and short answers in hand; a local one would escape into Memory

	nest nest
}

// A nest is room for the first entries of an endpoint's slabs; what outgrows it moves out.
type nest struct {
	links      [5][2]uint32
	contexts   [2]ccc
	algorithms [2]algorithms
	pdcs       [2]sendPDC
	messages   [2]sendMessage
	targets    [2]recvPDC
	inbound    [2]recvMessage
	responses  [1]response
	timers     [4]timer
	control    [4]controlEntry
	bySyn      [4]lookupSlot
	byMessage  [4]lookupSlot
	events     [2]Event
}

// settle points the slabs of an endpoint into its nest.
func (e *Endpoint) settle() {
	n := &e.nest
	e.rtxReadyLink, e.dataReadyLink = n.links[0][:1], n.links[1][:1]
	e.rtxLink, e.dataLink, e.probeLink = n.links[2][:1], n.links[3][:1], n.links[4][:1]
	e.contexts, e.algorithms = n.contexts[:1], n.algorithms[:1]
	e.pdcs, e.messages = n.pdcs[:1], n.messages[:1]
	e.targets, e.inbound, e.responses = n.targets[:1], n.inbound[:1], n.responses[:1]
	e.timers, e.control.ring, e.events.ring = n.timers[:0], n.control[:], n.events[:]
	e.bySyn.slots, e.byMessage.slots = n.bySyn[:], n.byMessage[:]
}

// New makes an endpoint. The error names the field of c that is wrong.
func New(c Config) (*Endpoint, error) {
	f, err := NewFamily(c)
	if err != nil {
		return nil, err
	}
	return f.New(c.Self)
}

// A Family makes endpoints of one configuration, which share it.
type Family struct{ cfg Config }

// NewFamily checks and completes a configuration; Self is of no account. The error names the field that
// is wrong.
func NewFamily(c Config) (*Family, error) {
	c.Self = 0
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Family{c.withDefaults()}, nil
}

// New makes the endpoint of an address.
func (f *Family) New(self Addr) (*Endpoint, error) {
	c := &f.cfg
	if c.Hosts > 0 && int64(self) >= int64(c.Hosts) {
		return nil, fmt.Errorf("core.Config.Self is %d; expected less than Hosts, %d", self, c.Hosts)
	}
	e := &Endpoint{cfg: c, self: self, mpr: uint32(c.MPR) * wire.MPRUnit, random: random(splitmix.Mix(c.Seed) ^ splitmix.Mix(uint64(self)+1))}
	e.requestSize = c.requestSize
	e.fullUnits = int64(c.units(e.requestSize+wire.StandardSize, c.PayloadMTU))
	e.nominalMTU = c.NominalMTU
	if e.nominalMTU == 0 {
		e.nominalMTU, e.plainUnits = e.fullUnits*wire.BytesUnit, true
	}
	e.readAhead, e.loose.scheduled = c.readAhead(), Never
	if e.initiator = c.InitiatorID; e.initiator == 0 {
		e.initiator = uint32(self)
	}
	e.settle()
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
	if p.To != e.self || p.Proto != ProtoUET || int(p.HeaderLen) > len(p.Header) {
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
	case t == wire.TypeRUDI || t == wire.TypeRUDIResp || t == wire.TypeUUD:
		e.handleLoose(now, p, header, t)
	default:
		e.counters.Malformed++
	}
}

// Transmit fills p with the next packet: control packets first, then answers to RUDI reads, probes and what is sent
// again, then new data, each kind in turn over peers and contexts.
func (e *Endpoint) Transmit(now Time, pull Pull, p *Packet) bool {
	if e.control.count > 0 && pull.Open.Has(e.cfg.ControlClass) && e.sendControl(now, p) {
		return true
	}
	if !pull.Open.Has(e.cfg.DataClass) {
		return false
	}
	return e.looseData.count > 0 && e.sendLooseData(p) ||
		e.probing.tail != 0 && e.sendProbe(now, p) ||
		e.rtxReady.tail != 0 && e.sendAgain(now, p) ||
		e.loosePending != 0 && e.sendLoosePacket(now, p) ||
		e.dataReady.tail != 0 && e.sendData(now, p)
}
