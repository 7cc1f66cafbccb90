package probe

import (
	"strings"

	"github.com/weft-transport/weft/transport/wire"
)

const (
	dataOfRead  = "ACK nh 5 fl=0x2 cack=psn-1 off=1 rspd op=2 rc=0x1 msg=own read=own job=1 plen=8 ml=8 moff=0 0001020304050607"
	unsupported = wire.RCUnsupportedOp
)

// targetProbes are sent one after the other, most of them in one context. Numbers are those of the report on the
// provider (capture 60, and with an x 64); probes that this project's endpoint takes and the provider refuses have a context of their own, so that
// the PSNs of what follows do not depend on it.
var targetProbes = []Probe{
	{Number: "1", What: "SYN SEND 64 B, first packet of a context", Want: done(64), play: func(c *prober) { c.open(0x77, startPSN); c.send(64, syn(0)) }},
	{Number: "2", What: "second SEND, SYN still set, psn_offset 1", Want: done(64), play: func(c *prober) { c.send(64, syn(1)) }},
	{Number: "3", What: "SEND, established form", Want: done(64), play: func(c *prober) { c.send(64, nil) }},
	{Number: "4", What: "SEND, no AR", Want: none, play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Request.Flags = 0 }) }},
	{Number: "5", What: "the same with RETX and AR", Want: again,
		Here: "ACK nh 4 fl=0x10 cack=psn off=0 rsp op=0 list=0 rc=0x0 msg=own job=0 ml=0",
		Why:  "the retx flag of a request is echoed, as described", play: func(c *prober) {
			id := c.id
			c.stray(64, How{}, func(p *wire.Packet) {
				p.Request.Flags |= wire.RequestRetx
				p.Request.PSN--
				p.Standard.MessageID = id
			})
		}},
	{Number: "6", What: "SEND of no bytes", Want: done(0), play: func(c *prober) { c.send(0, func(p *wire.Packet) { p.Standard.RequestLength = 0 }) }},
	{Number: "7", What: "SEND to resource index 99", Want: refused(wire.RCUndeliverable, 1), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Standard.ResourceIndex = 99 }) }},
	{Number: "8", What: "CLEAR up to that PSN", Want: none,
		Here: "ACK nh 0 fl=0x0 cack=psn off=0",
		Why:  "CLEAR is answered, so that the initiator can stop repeating it", play: func(c *prober) {
			c.control(wire.ControlClear, func(p *wire.Control) { p.Payload, p.PSN = c.next-1, 0 })
		}},
	{Number: "9", What: "SEND to PIDonFEP 5", Want: refused(wire.RCUndeliverable, 1), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Standard.PIDOnFEP = 5 }) }},
	{Number: "10", What: "SEND to job 7", Want: refused(wire.RCBadJobID, 7), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Standard.JobID = 7 }) }},
	{Number: "11", What: "SEND with generation 9", Want: refused(wire.RCBadGeneration, 1), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Standard.Generation = 9 }) }},
	{Number: "12", What: "SEND with SES version 1", Want: refused(wire.RCUncor, 1), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Version = 1 }) }},
	{Number: "13", What: "SEND with absolute addressing", Want: done(64), play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Standard.Flags &^= wire.SESRelative }) }},
	{Number: "14", What: "NO_OP", Want: refused(unsupported, 1),
		Here: done(64),
		Why:  "NO_OP is in every profile", play: func(c *prober) { c.send(64, opcode(wire.OpNOP)) }},
	{Number: "15", What: "DATAGRAM_SEND on RUD", Want: refused(unsupported, 1), play: func(c *prober) { c.send(64, opcode(wire.OpDatagramSend)) }},
	{Number: "16", What: "RENDEZVOUS_SEND", Want: refused(unsupported, 1),
		Here: refused(wire.RCOpViolation, 1),
		Why:  "rendezvous is supported; this one lacks its extension", play: func(c *prober) { c.send(64, opcode(wire.OpRendezvousSend)) }},
	{Number: "17", What: "reserved opcode 0x2f", Want: refused(unsupported, 1), play: func(c *prober) { c.send(64, opcode(0x2f)) }},
	{Number: "18", What: "DEFERRABLE_SEND 64 B, token 5", Want: done(64), play: func(c *prober) {
		c.send(64, func(p *wire.Packet) { p.Standard.Opcode, p.Standard.BufferOffset = wire.OpDeferrableSend, 5<<32 })
	}},
	{Number: "19", What: "SEND with header data", Want: done(64), play: func(c *prober) {
		c.send(64, func(p *wire.Packet) {
			p.Standard.Flags |= wire.SESHeaderData
			p.Standard.HeaderData = 0xabcd
		})
	}},
	{Number: "20", What: "WRITE 64 B to key 0x11 at 1024", Want: done(64), play: func(c *prober) {
		c.send(64, func(p *wire.Packet) {
			p.Standard.Opcode, p.Standard.Key, p.Standard.BufferOffset = wire.OpWrite, 0x11, 1024
		})
	}},
	{Number: "21", What: "READ 8 B", Want: dataOfRead, play: func(c *prober) { c.send(0, read) }},
	{Number: "22", What: "the same with RETX and AR, before it is cleared", Want: dataOfRead,
		Here: strings.Replace(dataOfRead, "fl=0x2", "fl=0x12", 1),
		Why:  "the retx flag of a request is echoed, as described", play: func(c *prober) { c.rereads() }},
	{Number: "23", What: "ACK_REQUEST for it", Want: dataOfRead, play: func(c *prober) {
		c.control(wire.ControlAckRequest, func(p *wire.Control) { p.PSN-- })
	}},
	{Number: "24", What: "ACK_REQUEST for a PSN that was not sent", Want: nack(wire.NackPktNotRcvd, "psn", ""), play: func(c *prober) {
		c.control(wire.ControlAckRequest, func(p *wire.Control) { p.PSN += 3 })
	}},
	{Number: "25", What: "PROBE with opaque 0xbeef", Want: nack(wire.NackUnexpEvent, "0", " s=0"),
		Here: "ACK_CC nh 0 fl=0x8 cack=psn-5 opaque=0xbeef",
		Why:  "PROBE is answered", play: func(c *prober) {
			c.control(wire.ControlProbe, func(p *wire.Control) { p.PSN, p.Opaque, p.Payload = 0, 0xbeef, c.next-2 })
		}},
	{Number: "27", What: "CREDIT_REQ", Want: nack(wire.NackUnexpEvent, "0", " s=0"),
		Here: none,
		Why:  "credits are not used here, and a packet of theirs is no error", play: func(c *prober) {
			c.control(wire.ControlCreditReq, func(p *wire.Control) { p.PSN = 0 })
		}},
	{Number: "28", What: "CREDIT", Want: nack(wire.NackUnexpEvent, "0", " s=0"),
		Here: none,
		Why:  "credits are not used here, and a packet of theirs is no error", play: func(c *prober) {
			c.control(wire.ControlCredit, func(p *wire.Control) { p.PSN = 0 })
		}},
	{Number: "30", What: "CP of the reserved type 12", Want: nack(wire.NackUnexpEvent, "psn", " s=0"),
		Here: none,
		Why:  "a control packet of an unknown type is ignored and counted", play: func(c *prober) { c.control(12, nil) }},
	{Number: "31", What: "CLEAR for the READ", Want: none,
		Here: "ACK nh 0 fl=0x0 cack=psn-1 off=0",
		Why:  "CLEAR is answered, so that the initiator can stop repeating it", play: func(c *prober) {
			c.control(wire.ControlClear, func(p *wire.Control) { p.PSN, p.Payload = 0, c.next-1 })
		}},
	{Number: "32", What: "the READ again with RETX and AR, after it is cleared", Want: again,
		Here: "ACK nh 4 fl=0x10 cack=psn off=0 rsp op=0 list=0 rc=0x0 msg=own job=0 ml=0",
		Why:  "the retx flag of a request is echoed, as described", play: func(c *prober) { c.rereads() }},
	{Number: "33", What: "a gap: PSN + 2 first", Want: "ACK nh 4 fl=0x0 cack=psn-3 off=3 rsp op=0 list=0 rc=0x1 msg=own job=1 ml=64", play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.PSN += 2 })
	}},
	{Number: "34", What: "then PSN, no AR", Want: done(64),
		Here: none,
		Why:  "one of two gaps is filled: an ACK is due when the last is", play: func(c *prober) { c.send(64, func(p *wire.Packet) { p.Request.Flags = 0 }) }},
	{Number: "35", What: "then PSN + 1", Want: "ACK nh 4 fl=0x0 cack=psn+1 off=-1 rsp op=0 list=0 rc=0x1 msg=own job=1 ml=64", play: func(c *prober) {
		c.send(64, nil)
		c.next++
	}},
	{Number: "36", What: "PSN + 1000, beyond the window", Want: nack(wire.NackOORWindow, "psn", ""), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.PSN += 1000 })
	}},
	{Number: "37", What: "PSN - 200, below it", Want: nack(wire.NackOORWindow, "psn", ""), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.PSN -= 200 })
	}},
	{Number: "38", What: "SYN with the same SPDCID and another Start_PSN", Want: nack(wire.NackInvalidSyn, "psn", ""), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.Flags |= wire.RequestSyn; p.Request.PSN = 0x05000000 })
	}},
	{Number: "40", What: "DPDCID 40, which is not there", Want: nack(wire.NackInvDPDCID, "psn", " s=0"), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.DPDCID = 40 })
	}},
	{Number: "41", What: "DPDCID 0x0fff", Want: nack(wire.NackInvDPDCID, "psn", " s=0"), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.DPDCID = 0x0fff })
	}},
	{Number: "42", What: "right DPDCID, wrong SPDCID", Want: nack(wire.NackHdrMismatch, "psn", " d=0x78"), play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Request.SPDCID = 0x78 })
	}},
	{Number: "43", What: "wrong CRC", Want: none, play: func(c *prober) { c.stray(64, How{BadCRC: true}, nil) }},
	{Number: "44", What: "no CRC", Want: none, play: func(c *prober) { c.stray(64, How{NoCRC: true}, nil) }},
	{Number: "45", What: "a duplicate with the reserved flags 0x63", Want: again, play: func(c *prober) {
		c.send(64, nil)
		c.answers()
		c.duplicate(0x63)
	}},
	{Number: "46", What: "SEND marked CE", Want: done(64),
		Here: strings.Replace(done(64), "fl=0x0", "fl=0x20", 1),
		Why:  "CE is echoed", play: func(c *prober) {
			c.stray(64, How{CE: true}, nil)
			c.next++
		}},
	{Number: "50", What: "over UDP port 4793 instead of native", Want: none, Native: true, play: func(c *prober) { c.stray(64, How{Port: 4793}, nil) }},
	{Number: "51", What: "over UDP port 49150 instead of native", Want: none, Native: true, play: func(c *prober) { c.stray(64, How{Port: 49150}, nil) }},
	{Number: "52", What: "first packet of two has 512 B, not the MTU", Want: refused(wire.RCOpViolation, 1), play: func(c *prober) {
		c.send(512, func(p *wire.Packet) { p.Standard.Flags &^= wire.SESEnd; p.Standard.RequestLength = 1536 })
	}},
	{Number: "53", What: "ACK_REQUEST for it", Want: refused(wire.RCOpViolation, 1), play: func(c *prober) {
		c.control(wire.ControlAckRequest, func(p *wire.Control) { p.PSN-- })
	}},
	{Number: "54", What: "one packet, 32 B of a request of 64", Want: refused(wire.RCOpViolation, 1), play: func(c *prober) { c.send(32, nil) }},
	{Number: "55", What: "one packet of 1300 B", Want: done(1300), play: func(c *prober) { c.send(1300, func(p *wire.Packet) { p.Standard.RequestLength = 1300 }) }},
	{Number: "56", What: "SEND, which clears those before", Want: done(64), play: func(c *prober) { c.send(64, nil) }},
	{Number: "57", What: "CLOSE", Want: "ACK nh 0 fl=0x0 cack=psn-1 off=1", play: func(c *prober) {
		c.control(wire.ControlClose, func(p *wire.Control) { p.Flags = wire.ControlAR })
	}},
	{Number: "58", What: "CLOSE again", Want: "NACK fl=0x10 code=0xe psn=psn s=0 payload=0x0",
		Here: "ACK nh 0 fl=0x0 cack=psn-1 off=1",
		Why:  "a closed context rests and answers a repeated CLOSE in the same way", play: func(c *prober) {
			c.control(wire.ControlClose, func(p *wire.Control) { p.Flags = wire.ControlAR | wire.ControlRetx })
			c.next++
		}},
	{Number: "59", What: "SEND after CLOSE", Want: nack(wire.NackInvDPDCID, "psn", " s=0"),
		Here: nack(wire.NackClosing, "psn", ""),
		Why:  "a closed context rests and is known", play: func(c *prober) { c.send(64, nil) }},
	{Number: "26", What: "NOOP", Want: nack(wire.NackUnexpEvent, "psn", " s=0"),
		Here: "ACK nh 0 fl=0x0 cack=psn off=0",
		Why:  "NOOP is answered", play: func(c *prober) { c.opened(0x80); c.control(wire.ControlNOOP, nil) }},
	{Number: "29", What: "NEGOTIATION of 16 bytes", Want: nack(wire.NackUnexpEvent, "psn", " s=0"),
		Here: "ACK nh 0 fl=0x0 cack=psn off=0",
		Why:  "NEGOTIATION is answered: nothing is agreed", play: func(c *prober) {
			c.opened(0x81)
			c.control(wire.ControlNegotiation, func(p *wire.Control) { p.Bare = true })
		}},
	{Number: "39", What: "ROD_REQ on the context of RUD", Want: done(64),
		Here: nack(wire.NackModeMismatch, "psn", ""),
		Why:  "a context is ordered or it is not", play: func(c *prober) {
			c.opened(0x82)
			c.send(64, func(p *wire.Packet) { p.Type = wire.TypeROD })
		}},
	{Number: "47", What: "small header, 20 B", Want: none,
		Here: "ACK nh 4 fl=0x2 cack=psn-1 off=1 rsp op=1 list=0 rc=0x17 msg=0 job=1 ml=0",
		Why:  "the small header is read; what its index names may not be written", play: func(c *prober) {
			c.opened(0x83)
			c.send(64, func(p *wire.Packet) {
				p.Next, p.Small = wire.NextSmall, wire.Small{Opcode: wire.OpWrite, Target: p.Standard.Target, RequestLength: 64}
			})
		}},
	{Number: "48", What: "medium header, 32 B", Want: none,
		Here: "ACK nh 4 fl=0x0 cack=psn off=0 rsp op=0 list=0 rc=0x1 msg=0 job=1 ml=64",
		Why:  "the medium header is read", play: func(c *prober) {
			c.opened(0x84)
			c.send(64, func(p *wire.Packet) {
				p.Next, p.Medium = wire.NextMedium, wire.Medium{Opcode: wire.OpSend, Target: p.Standard.Target, RequestLength: 64, Initiator: 16}
			})
		}},
	{Number: "49", What: "RUD_CC_REQ", Want: none,
		Here: done(64),
		Why:  "the credit target is read and ignored", play: func(c *prober) {
			c.opened(0x85)
			c.send(64, func(p *wire.Packet) { p.Type = wire.TypeRUDCC })
		}},
	{Number: "60", What: "SYN with psn_offset 3 comes first", Want: "ACK nh 4 fl=0x0 cack=psn-4 off=4 rsp op=0 list=0 rc=0x1 msg=own job=1 ml=64", play: func(c *prober) {
		c.open(0x78, 0x02000003)
		c.send(64, syn(3))
	}},
	{Number: "61", What: "NOOP with SYN", Want: nack(wire.NackInvDPDCID, "psn", ""),
		Here: "ACK nh 0 fl=0x0 cack=psn off=0",
		Why:  "a NOOP with SYN opens a context, as described", play: func(c *prober) {
			c.open(0x79, 0x03000000)
			c.control(wire.ControlNOOP, func(p *wire.Control) { p.Flags = wire.ControlSyn })
		}},
	{Number: "62", What: "RUDI WRITE to a key that is not idempotent", Want: "RUDI_RESP nh 4 fl=0x0 rsp op=1 list=0 rc=0x18 msg=own job=1 ml=0", play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) {
			p.Type, p.RUDI.PacketID = wire.TypeRUDI, 77
			p.Standard.Opcode, p.Standard.Key, p.Standard.MessageID = wire.OpWrite, 0x11, 1
		})
	}},
	{Number: "63", What: "RUDI SEND", Want: "RUDI_RESP nh 4 fl=0x0 rsp op=0 list=0 rc=0x1 msg=own job=1 ml=64",
		Here: "RUDI_RESP nh 4 fl=0x0 rsp op=1 list=0 rc=0x6 msg=own job=1 ml=0",
		Why:  "a send is not idempotent: repeated, it would take two receives", play: func(c *prober) {
			c.stray(64, How{}, func(p *wire.Packet) { p.Type, p.RUDI.PacketID, p.Standard.MessageID = wire.TypeRUDI, 78, 1 })
		}},
	{Number: "64", What: "UUD DATAGRAM_SEND, standard header", Want: none, play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) {
			p.Type, p.Standard.Opcode, p.Standard.MessageID = wire.TypeUUD, wire.OpDatagramSend, 0
		})
	}},
	{Number: "65", What: "UUD SEND, standard header", Want: none, play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) { p.Type, p.Standard.MessageID = wire.TypeUUD, 0 })
	}},
	{Number: "66", What: "UUD DATAGRAM_SEND, medium header", Want: none, play: func(c *prober) {
		c.stray(64, How{}, func(p *wire.Packet) {
			p.Type, p.Next, p.Medium = wire.TypeUUD, wire.NextMedium, wire.Medium{Opcode: wire.OpDatagramSend, Target: p.Standard.Target, RequestLength: 64, Initiator: 16}
		})
	}},
}

func read(p *wire.Packet) {
	p.Standard.Opcode, p.Standard.Key, p.Standard.RequestLength = wire.OpRead, 0x11, 8
}

// rereads sends the READ before once more.
func (c *prober) rereads() {
	id := c.id
	c.stray(0, How{}, func(p *wire.Packet) {
		read(p)
		p.Request.Flags |= wire.RequestRetx
		p.Request.PSN--
		p.Standard.MessageID = id
	})
}

// duplicate sends the SEND before once more, with flags that have no name.
func (c *prober) duplicate(flags uint8) {
	id := c.id
	p := c.request(func(p *wire.Packet) { p.Request.PSN--; p.Standard.MessageID = id })
	c.psn, c.id = p.Request.PSN, id
	b := make([]byte, wire.MaxHeaders+64)
	n := p.Put(b, make([]byte, 64))
	b[1] |= flags
	c.raw(b[:n], How{})
}
