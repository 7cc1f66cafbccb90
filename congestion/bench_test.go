package congestion

import "testing"

// BenchmarkOnAck is what one acknowledgement costs each controller: a full packet, marked one time in
// eight, with an RTT that moves around 1.5 base RTTs, and telemetry of five hops for those that use it.
//
//	go test ./congestion -run XXX -bench OnAck -benchtime 20ms -count 9
func BenchmarkOnAck(b *testing.B) {
	for _, e := range Registry.All() {
		forms := []map[string]string{nil}
		for _, p := range e.Params {
			if p.Name == "form" || p.Name == "flavour" {
				forms = forms[:0]
				for _, word := range p.OneOf {
					forms = append(forms, map[string]string{p.Name: word})
				}
			}
		}
		for _, form := range forms {
			name := e.Name
			for _, word := range form {
				name += " " + word
			}
			b.Run(name, func(b *testing.B) { benchmarkOnAck(b, e.Name, form) })
		}
	}
}

func benchmarkOnAck(b *testing.B, name string, given map[string]string) {
	maker, _, err := Registry.Make(name, given)
	if err != nil {
		b.Fatal(err)
	}
	c := maker(path100)
	var hops [5]Hop
	for i := range hops {
		hops[i] = Hop{Port: uint32(i), RateBps: 400e9}
	}
	_, telemetric := c.(Telemetric)
	now := Time(0)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; b.Loop(); n++ {
		now += 332_800
		a := Ack{Delivered: 4160, InFlight: 140_000, RTT: base + Time(n%13)*us, Marked: n%8 == 0}
		if telemetric {
			for i := range hops {
				hops[i].Stamp, hops[i].QueueBytes = now, int64(n%13)*4160
				hops[i].SentBytes += 4160
			}
			a.Hops = hops[:]
		}
		c.OnSent(now, 4160, 144_160)
		c.OnAck(now, a)
	}
}
