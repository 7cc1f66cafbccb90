package runner

import (
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A journey is the way of one packet so far.
type journey struct {
	known    bool // its beginning was seen
	pair          // from whom to whom
	data     bool
	sent, at instant.Time // its first bit left; it came through the last link
	spent    account
	cause    *journey // of what is no data: the last data packet that had come the other way
}

// add puts the time of the journey into an account.
func (w *journey) add(a *account) {
	for i := range a {
		a[i] += w.spent[i]
	}
}

// A stop is a class on a link, which may be paused; a spell is how long it was.
type stop struct {
	link  int32
	class uint8
}

type spell struct{ from, to instant.Time }

// tap has the journal see what happens to packets, beside the tape if there is one.
func (j *journal) tap(f *emulator.Fabric, t *tape) {
	if j == nil {
		return
	}
	f.Tap(func(now instant.Time, s *emulator.Sighting) {
		if t != nil && t.file != nil {
			t.see(now, s)
		}
		j.see(now, s)
	})
}

func (j *journal) see(now instant.Time, s *emulator.Sighting) {
	if s.What == emulator.Paused {
		j.paused(now, s)
		return
	}
	for int(s.Slot) >= len(j.journeys) {
		j.journeys = append(j.journeys, journey{})
	}
	w := &j.journeys[s.Slot]
	switch s.What {
	case emulator.Sent:
		*w = journey{known: true, pair: pair{s.Packet.From, s.Packet.To}, data: isData(s.Packet), sent: now, at: now}
		if !w.data {
			if before, any := j.arrived[pair{w.to, w.from}]; any {
				w.cause = &before
			}
		}
	case emulator.Crossed:
		if w.known {
			j.crossed(now, s, w)
		}
	case emulator.Dropped:
		w.known = false
	}
}

// crossed accounts for one link: what is not the packet's own length, or the link's, was waiting.
func (j *journal) crossed(now instant.Time, s *emulator.Sighting, w *journey) {
	net := j.fabric.Network()
	link := &net.Links[s.Link]
	way := link.Delay
	home := int(link.To) < net.Hosts
	if !home {
		way += net.DelayInto(link.To)
	}
	spent := now - w.at
	way = min(way, spent)
	length := min(emulator.Serialisation(s.WireBytes, link.RateBps), spent-way)
	waited := spent - way - length
	stood := min(j.stood(stop{s.Link, s.Class}, w.at, w.at+waited), waited)
	w.spent[onPropagation] += way
	w.spent[onSerialisation] += length
	w.spent[onPause] += stood
	w.spent[onQueue] += waited - stood
	w.at = now
	if !home {
		return
	}
	j.last[link.To] = *w
	if w.data && s.Packet.Flags&(core.WasTrimmed|core.Corrupt) == 0 {
		arrived := *w
		arrived.cause = nil
		j.arrived[w.pair] = arrived
	}
	w.known = false
}

// paused notes that a class stops or goes on at the sending end of a link.
func (j *journal) paused(now instant.Time, s *emulator.Sighting) {
	at := stop{j.fabric.Network().Links[s.Link].Reverse, s.Class}
	spells := j.pauses[at]
	running := len(spells) > 0 && spells[len(spells)-1].to == instant.Never
	switch {
	case s.Resume && running:
		spells[len(spells)-1].to = now
	case !s.Resume && !running:
		j.pauses[at] = append(spells, spell{now, instant.Never})
	}
}

// stood is how much of a stretch of time a class on a link was paused.
func (j *journal) stood(at stop, from, to instant.Time) instant.Time {
	var sum instant.Time
	spells := j.pauses[at]
	for i := len(spells) - 1; i >= 0 && spells[i].to > from; i-- {
		if both := min(to, spells[i].to) - max(from, spells[i].from); both > 0 {
			sum += both
		}
	}
	return sum
}
