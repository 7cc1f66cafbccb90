package wire

// HeaderLen returns how many bytes of a packet are header: PDS, SES and the extension that the operation
// has. The rest of b, which does not have the trailer, is payload. A carrier needs to know no more to tell them
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
		if p.Control() == ControlNegotiation && len(b) >= NegotiationSize {
			n = NegotiationSize
		}
	case t == TypeNack || t == TypeNackCCX:
	case p.Next() > NextResponseDataSmall:
		return 0, BadNext
	default:
		at := n
		if n += p.Next().Size(); p.Next() >= NextSmall && p.Next() <= NextStandard && len(b) >= n {
			n += extensionOf(Opcode(b[at]&0x3f), b[n:]).Size()
		}
	}
	if len(b) < n {
		return 0, Short
	}
	return n, OK
}
