package wire

// HeaderLen returns how many bytes of a packet are header: PDS, SES and the extension that the operation
// has. The rest is payload, and a trailer if there is one. A carrier needs to know no more to tell them
// apart. A packet with a security header is refused as a bad type.
func HeaderLen(b []byte) (int, Reason) {
	p, why := ParsePrologue(b)
	if why != OK {
		return 0, why
	}
	t := p.Type()
	n := t.Size()
	switch {
	case n == 0 || t == TypeTSS:
		return 0, BadType
	case t == TypeControl:
		if p.Control() == ControlNegotiation {
			n = NegotiationSize
		}
	case t == TypeNack || t == TypeNackCCX:
	case p.Next() > NextResponseDataSmall:
		return 0, BadNext
	default:
		n += p.Next().Size() + extension(p.Next(), b[min(n, len(b)):])
	}
	if len(b) < n {
		return 0, Short
	}
	return n, OK
}

// extension returns the bytes between a semantic request and its payload.
func extension(n Next, ses []byte) int {
	if n < NextSmall || n > NextStandard {
		return 0
	}
	op, flags, _, why := PeekSES(ses)
	switch {
	case why != OK:
		return 0
	case op == OpAtomic || op == OpFetchingAtomic || op == OpTSendAtomic || op == OpTSendFetch:
		return AtomicSize
	case (op == OpRendezvousSend || op == OpRendezvousTSend) && flags&SESStart != 0:
		return RendezvousSize
	}
	return 0
}
