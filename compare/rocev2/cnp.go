package rocev2

// Congestion notification: the responder's half of DCQCN. A packet marked CE makes the responder send a CNP to
// the queue pair that it came from, at most one per queue pair and interval (RoCE v2 annex A17.9; DCQCN, SIGCOMM
// 2015, section 3.1). The mark counts whatever becomes of the packet otherwise.

// congestionSeen takes note of a marked packet on queue pair i.
func (h *Host) congestionSeen(now Time, i uint32) {
	if q := &h.qps[i]; now >= q.cnpAfter {
		h.notify(now, i)
	}
}

// notify sends a CNP and starts the interval.
func (h *Host) notify(now Time, i uint32) {
	h.qps[i].cnpAfter = after(now, h.cfg.CNPInterval)
	h.answer(i, answer{kind: cnpAnswer})
}

// notifyWithNAK sends the CNP that some NICs send with every NAK, also without any mark.
func (h *Host) notifyWithNAK(now Time, i uint32) {
	if h.cfg.CNPOnNAK {
		h.notify(now, i)
	}
}
