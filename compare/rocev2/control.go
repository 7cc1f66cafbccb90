package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// An answerKind says what kind of packet an answer becomes.
type answerKind uint8

const (
	noAnswer     answerKind = iota
	ackAnswer               // cumulative acknowledgement: a later one replaces one that still waits
	holeAnswer              // the same in the form of a selective NAK, since there are holes behind it (IRN)
	nakAnswer               // anything that must go out as it is
	atomicAnswer            // likewise
	cnpAnswer
)

// An answer is a control packet that waits for its port.
type answer struct {
	qp        uint32
	psn       psn
	msn       uint32
	kind      answerKind
	syndrome  wire.Syndrome
	selective wire.Selective // of an atomicAnswer, the bitmap is the original value
}

// A controlQueue holds answers in order. There are at most as many as packets arrived that were not answered
// yet, and of acknowledgements one for each queue pair between two NAKs. The zero controlQueue is empty.
type controlQueue struct {
	slots      []answer // a power of two
	head, tail uint64   // absolute
}

func (c *controlQueue) push(a answer) (index uint64) {
	if int(c.tail-c.head) == len(c.slots) {
		c.grow()
	}
	*c.at(c.tail) = a
	c.tail++
	return c.tail - 1
}

func (c *controlQueue) at(index uint64) *answer { return &c.slots[index&uint64(len(c.slots)-1)] }

func (c *controlQueue) grow() {
	bigger := controlQueue{slots: make([]answer, max(4, 2*len(c.slots))), head: c.head, tail: c.tail}
	for k := c.head; k != c.tail; k++ {
		*bigger.at(k) = *c.at(k)
	}
	*c = bigger
}

// answer queues a for queue pair i. An acknowledgement takes the place of one of its kind that is the queue
// pair's latest answer and still waits: this is where acknowledgements coalesce under load.
func (h *Host) answer(i uint32, a answer) {
	q := &h.qps[i]
	a.qp, a.msn = i, q.msn
	if q.verbs != 0 && a.kind != cnpAnswer && h.verbs[q.verbs].replyHead != 0 {
		h.queueBehindReplies(q, &a)
		return
	}
	h.pushAnswer(q, &a)
}

func (h *Host) pushAnswer(q *qp, a *answer) {
	c := &h.ports[q.port].answers
	cumulative := a.kind == ackAnswer || a.kind == holeAnswer
	if cumulative && q.answerKind == a.kind && q.answer > c.head {
		*c.at(q.answer - 1) = *a
		return
	}
	index := c.push(*a)
	if a.kind != cnpAnswer {
		q.answer, q.answerKind = index+1, a.kind
	}
}

// transmitAnswer sends the oldest waiting answer.
func (h *Host) transmitAnswer(port uint8, p *core.Packet) bool {
	c := &h.ports[port].answers
	if c.head == c.tail {
		return false
	}
	a := c.at(c.head)
	c.head++
	q := &h.qps[a.qp]
	h.writeAnswer(q, a)
	h.address(q, h.cfg.Control, core.NotECT, p)
	h.count.Sent++
	h.count.SentControl++
	switch {
	case a.kind == cnpAnswer:
		h.count.CNPsSent++
	case a.syndrome.IsNAK():
		h.count.NacksSent++
	}
	return true
}

func (h *Host) writeAnswer(q *qp, a *answer) {
	if a.kind == cnpAnswer {
		h.out = wire.CNP(q.destQPN)
		return
	}
	h.out.BTH = wire.BTH{Opcode: wire.Acknowledge, Migrated: true, PKey: wire.DefaultPKey, DestQP: q.destQPN, PSN: a.psn}
	h.out.AETH = wire.AETH{Syndrome: a.syndrome, MSN: a.msn}
	if a.kind == atomicAnswer {
		h.out.Opcode, h.out.Original = wire.AtomicAcknowledge, a.selective.Bitmap
	}
	h.out.Selective = a.selective
}
