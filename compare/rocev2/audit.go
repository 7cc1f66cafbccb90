package rocev2

import "fmt"

// Audit checks what must hold between any two calls, and returns the first thing that does not. It walks over
// everything, so it is for tests and for the end of a run.
func (h *Host) Audit() error {
	if h.misfits > 0 {
		return fmt.Errorf("rocev2: host %d: %d virtual payloads arrived at a place not theirs", h.self, h.misfits)
	}
	if h.cfg.Placement == InOrder && h.naks > h.gaps {
		return fmt.Errorf("rocev2: host %d: %d sequence errors reported for %d gaps", h.self, h.naks, h.gaps)
	}
	for i := 1; i < len(h.qps); i++ {
		if err := h.auditQP(uint32(i)); err != nil {
			return fmt.Errorf("rocev2: host %d, queue pair %d to host %d: %w", h.self, h.qps[i].number, h.qps[i].to, err)
		}
	}
	return nil
}

func (h *Host) auditQP(i uint32) error {
	q := &h.qps[i]
	switch flight := h.countFlight(q); {
	case q.next.Before(q.una) || q.high.Before(q.next) || q.end.Before(q.high):
		return fmt.Errorf("PSNs out of order: una %d, next %d, high %d, end %d", q.una, q.next, q.high, q.end)
	case flight != q.inFlight:
		return fmt.Errorf("%d bytes booked as in flight, %d are", q.inFlight, flight)
	case q.outstanding() > 0 && !q.asked.Before(q.una) && q.timer == never:
		return fmt.Errorf("PSN %d awaits an acknowledgement, and no timer runs", q.asked)
	case q.idle() && q.timer != never:
		return fmt.Errorf("a timer runs, and nothing is outstanding")
	case h.cfg.Placement == InOrder && q.verbs == 0 && !q.within && q.since > 0: // peers of verbs ask as they like
		return fmt.Errorf("the end of a message was not acknowledged: %d packets since", q.since)
	}
	return nil
}

// countFlight weighs the packets from una to next.
func (h *Host) countFlight(q *qp) (bytes int64) {
	for pi := q.head; pi != 0; pi = h.parts[pi].next {
		p := &h.parts[pi]
		from, to := max(0, q.una.Sub(p.first)), min(int(p.packets), q.next.Sub(p.first))
		if to <= 0 {
			break
		}
		bytes += h.cfg.weight(p, uint32(from), uint32(max(from, to)))
	}
	return bytes
}
