package runner

import (
	"context"
	"fmt"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// An auditor is a host that can check its own books.
type auditor interface{ Audit() error }

// audit checks the books of the hosts, against themselves, each other and the fabric's.
func (p *play) audit() error {
	var sum core.Counters
	for h, host := range p.hosts {
		sum.Add(host.Counters())
		if a, ok := host.(auditor); ok {
			if err := a.Audit(); err != nil {
				return err
			}
		}
		if c := host.Counters(); c.SentData+c.SentControl != c.Sent {
			return fmt.Errorf("host %d counts %d packets sent, of which %d data and %d control", h, c.Sent, c.SentData, c.SentControl)
		}
	}
	t := p.fabric.Totals()
	switch {
	case sum.Sent != t.Sent:
		return fmt.Errorf("hosts count %d packets sent, their links %d", sum.Sent, t.Sent)
	case sum.Received != t.Delivered:
		return fmt.Errorf("hosts count %d packets received, their links %d", sum.Received, t.Delivered)
	case sum.CorruptDropped > t.Corrupted:
		return fmt.Errorf("hosts found %d packets damaged, links damaged %d", sum.CorruptDropped, t.Corrupted)
	case sum.Malformed > 0 && t.Corrupted == 0 && sum.MessagesFailed == 0:
		return fmt.Errorf("hosts could not read %d packets, and links damaged none", sum.Malformed)
	case sum.Duplicates > sum.Retransmits+t.Duplicated:
		return fmt.Errorf("%d packets arrived twice, of %d that were sent again and %d that links doubled", sum.Duplicates, sum.Retransmits, t.Duplicated)
	}
	if err := p.auditMessages(&sum); err != nil {
		return err
	}
	return p.cargo.audit(p.messages)
}

// auditMessages checks that hosts count every byte and every packet as delivered once. Of messages that
// ended otherwise, some may be.
func (p *play) auditMessages(sum *core.Counters) error {
	var bytes, done, failures uint64
	for i := range p.messages {
		m := &p.messages[i]
		if m.Delivered {
			bytes += p.plan.Flows[m.Flow].Bytes
		}
		switch m.State {
		case Finished:
			done++
		case Failed:
			failures++
		}
	}
	all := done == uint64(len(p.messages))
	switch {
	case sum.MessagesSent != done || sum.MessagesFailed != failures:
		return fmt.Errorf("%d messages were completed and %d failed, but hosts count %d and %d", done, failures, sum.MessagesSent, sum.MessagesFailed)
	case sum.DeliveredBytes < bytes || all && sum.DeliveredBytes > bytes:
		return fmt.Errorf("messages of %d bytes were delivered, but hosts count %d bytes", bytes, sum.DeliveredBytes)
	case all && sum.SentData-sum.Retransmits != sum.Delivered:
		return fmt.Errorf("%d data packets were sent, %d of them again, but hosts count %d as delivered", sum.SentData, sum.Retransmits, sum.Delivered)
	}
	return nil
}

// runDry lets the fabric run on, after every message has ended, until no packet is under way, and audits
// everything again: late packets change nothing any more.
func (p *play) runDry(ctx context.Context, baseRTT instant.Time) error {
	if p.open > 0 {
		return nil
	}
	const patience = 200
	for range patience {
		if err := p.fabric.Run(ctx, p.fabric.Now()+4*baseRTT); err != nil {
			return err
		}
		if p.broken != nil {
			return p.broken
		}
		if p.underWay() == 0 {
			if err := p.fabric.Audit(); err != nil {
				return err
			}
			return p.audit()
		}
	}
	return fmt.Errorf("%d packets are still under way, %v after the last message ended", p.underWay(), patience*4*baseRTT)
}

// underWay returns how many packets are in the fabric.
func (p *play) underWay() uint64 {
	t := p.fabric.Totals()
	n := t.Sent + t.Duplicated - t.Delivered
	for _, dropped := range t.Dropped {
		n -= dropped
	}
	return n
}
