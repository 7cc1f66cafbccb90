package carrier

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// Stacks are hosts of this project, each behind a core.Driver: of the fabric in process, or over sockets.
type stacks struct {
	player  *player
	drivers []core.Driver
	hosts   []core.Host
	peers   [][]core.Addr // by host: what its driver calls the others
	// stamp turns the clock of a driver into the player's.
	stamp func(now core.Time) instant.Time
}

// start lets the next driver drive a host, and tells the player of its events.
func (s *stacks) start(h int, host core.Host) error {
	var events [16]core.Event
	s.hosts = append(s.hosts, host)
	err := s.drivers[h].Start(host, func(now core.Time) {
		for n := host.Events(events[:]); n > 0; n = host.Events(events[:]) {
			for _, e := range events[:n] {
				id := e.Cookie
				if e.Kind == core.Delivered {
					id = e.RemoteKey
				}
				s.player.tell(ending{kind: e.Kind, id: int(id), at: s.stamp(now), bytes: e.Length, resent: e.Retransmits, timeouts: e.Timeouts})
			}
		}
	})
	if err != nil {
		return fmt.Errorf("host %d: %w", h, err)
	}
	return nil
}

func (s *stacks) send(id int, _ int32, f *workload.Flow) (at instant.Time, err error) {
	m := core.Message{To: s.peers[f.Src][f.Dst], Length: f.Bytes, RemoteKey: uint64(id), Cookie: uint64(id)}
	closed := s.drivers[f.Src].Do(func(now core.Time) {
		at = s.stamp(now)
		err = s.hosts[f.Src].Send(now, m)
	})
	return at, errors.Join(closed, err)
}

func (s *stacks) counters() (sum core.Counters, err error) {
	for h, host := range s.hosts {
		err = errors.Join(err, s.drivers[h].Do(func(core.Time) { sum.Add(host.Counters()) }))
	}
	return sum, err
}

// late returns how late hosts behind sockets came to one in a hundred of their timers, at the worst of them, in us, and what is wrong
// with it.
func (s *stacks) late(limit time.Duration) (us float64, problems []string, err error) {
	worst := time.Duration(0)
	for _, d := range s.drivers {
		c, is := d.(*udp.Carrier)
		if !is {
			return 0, nil, nil
		}
		stats, err := c.Stats()
		if err != nil {
			return 0, nil, err
		}
		worst = max(worst, stats.Lateness.Quantile(0.99))
	}
	if worst > limit {
		problems = append(problems, fmt.Sprintf("an endpoint came to one in a hundred of its timers more than %v late; the limit is %v", worst.Round(time.Microsecond), limit))
	}
	return worst.Seconds() * 1e6, problems, nil
}

func (s *stacks) close() (err error) {
	for _, d := range s.drivers {
		err = errors.Join(err, d.Close())
	}
	return err
}
