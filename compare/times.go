package compare

// Times says where the completion time of a flow went, in nanoseconds. The parts sum to the time from the start of the
// flow until its sender knew that all was there.
//
// The journey that is followed is that of the last word, backwards from the end: the packet that told the sender; on
// the host that sent it, the time since a data packet of the flow's sender had last arrived there; that data packet, from the moment
// when its sender began to transmit it, which may have been not for the first time; and before that the sender. On links
// and in switches the parts are those of the two packets. At the sender they are what held up its data to that destination,
// judged each time that its card asks for a packet.
type Times struct {
	Window        float64 `json:"window"`        // there was something to send, and window, credit or the receiver's limit had no room for it
	Pacing        float64 `json:"pacing"`        // the window had room, and the rate did not let it go yet
	Pause         float64 `json:"pause"`         // its class was paused, at the sender or in front of a link
	Timeout       float64 `json:"timeout"`       // everything had been sent, and what was lost was not yet known to be: until NACK, inference or timer
	Queueing      float64 `json:"queueing"`      // the sender's link was busy with other packets, or the packet waited in a queue (also for what a link is slower than its rate says)
	Serialisation float64 `json:"serialisation"` // bits of the flow went onto the sender's link, or those of the two packets onto others
	Propagation   float64 `json:"propagation"`   // along links and through switches, in both directions
	Receiver      float64 `json:"receiver"`      // from the arrival of the data packet until the answer began to leave
}

// Parts returns the parts in the order of their declaration, with their names.
func (t *Times) Parts() []TimePart {
	return []TimePart{{"window", t.Window}, {"pacing", t.Pacing}, {"pause", t.Pause}, {"timeout", t.Timeout}, {"queueing", t.Queueing},
		{"serialisation", t.Serialisation}, {"propagation", t.Propagation}, {"receiver", t.Receiver}}
}

// A TimePart is one part of Times.
type TimePart struct {
	Name string
	NS   float64
}

// Total is the sum of the parts.
func (t *Times) Total() float64 {
	sum := 0.0
	for _, p := range t.Parts() {
		sum += p.NS
	}
	return sum
}
