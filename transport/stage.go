package transport

import (
	"fmt"
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
)

// A stage is memory of the endpoint's own, registered once, through which blocking operations copy.
type stage struct {
	bytes  []byte
	buffer uint32 // 0: not registered yet
}

// Sizes of stages are powers of two. Longer messages go through a Queue, without a copy.
const (
	leastStage = 12 // bits
	mostStage  = 24
	// MaxBlocking is the longest message of the blocking form, bytes. Writes and reads may be longer: they are cut.
	MaxBlocking = 1 << mostStage
	// piece is what a long blocking write or read is cut into.
	piece = 1 << 20
)

// stages keeps stages at rest, by size.
type stages [mostStage - leastStage + 1][]*stage

// takeStage returns memory of at least n bytes.
func (e *Endpoint) takeStage(n int) (*stage, error) {
	if n > MaxBlocking {
		return nil, fmt.Errorf("%w: %d bytes; expected %d at most, or a Queue", ErrTooLong, n, MaxBlocking)
	}
	class := max(bits.Len(uint(max(n, 1)-1)), leastStage) - leastStage
	e.mu.Lock()
	defer e.mu.Unlock()
	list := &e.stages[class]
	if k := len(*list); k > 0 {
		s := (*list)[k-1]
		*list = (*list)[:k-1]
		return s, nil
	}
	return &stage{bytes: make([]byte, 1<<(class+leastStage))}, nil
}

func (e *Endpoint) putStage(s *stage) {
	class := bits.Len(uint(len(s.bytes)-1)) - leastStage
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stages[class] = append(e.stages[class], s)
}

// register makes a stage known to the Host, the first time it is used. It runs where the Host is driven.
func (s *stage) register(host *core.Endpoint) error {
	if s.buffer != 0 {
		return nil
	}
	buffer, _, err := host.RegisterRegion(core.Region{Bytes: s.bytes})
	s.buffer = buffer
	return mistake(err)
}
