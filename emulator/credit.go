package emulator

// Link credits (credit-based flow control of the UE link layer): the sending end of a link has
// as many bytes as the receiving end has promised room for, and gets them back when packets leave.
//
// Credits lost with a packet come back too: both ends count how much was sent and received in all and tell
// each other, so that they agree again after a loss. The fabric gives such a credit back when the packet would
// have arrived.

// promise sets the credit of a link for a class that has credits: what its sender may have under way and in
// the buffer behind it, whatever becomes of the link's rate.
func (f *Fabric) promise(link int32, class int) {
	in := &f.ingress[f.at(link, class)]
	if in.headroom = f.classes[class].CreditBytes; in.headroom == 0 {
		in.headroom = 2 * f.headroom(link)
	}
	if f.credit == nil {
		f.credit = make([]int64, len(f.queues))
	}
	f.credit[f.at(link, class)] = in.headroom
}

// spendCredit books a packet that is sent. A class without credit for a full packet is blocked.
func (f *Fabric) spendCredit(link int32, r *record) {
	left := &f.credit[f.at(link, int(r.class))]
	*left -= int64(r.size)
	if *left < f.cfg.MaxWireBytes {
		f.block(link, int(r.class))
	}
}

// returnCredit sends the credit of a packet that left the buffer back over the link it came by.
func (f *Fabric) returnCredit(link int32, r *record) {
	back := &f.ports[f.net.Links[link].Reverse]
	f.agendaAdd(f.now+back.delay, action{kind: creditBack, link: link, class: r.class, bytes: int64(r.size)})
}

func (f *Fabric) regainCredit(link int32, class int, bytes int64) {
	left := &f.credit[f.at(link, class)]
	*left += bytes
	if *left >= f.cfg.MaxWireBytes {
		f.unblock(link, class)
	}
}
