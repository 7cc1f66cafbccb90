package wire

// A PSN is a packet sequence number: 24 bits on the wire, compared modulo 2^24.
type PSN uint32

const (
	psnBits = 24
	psnMask = 1<<psnBits - 1
	// MaxWindow is how many packets may be outstanding: beyond it, old and new cannot be told apart.
	MaxWindow = 1 << (psnBits - 1)
)

// Add returns the PSN n packets after p; n may be negative.
func (p PSN) Add(n int) PSN { return PSN(uint32(int64(p)+int64(n)) & psnMask) }

// Sub returns how many packets p is after q: -2^23 to 2^23-1, negative if p is before q.
func (p PSN) Sub(q PSN) int { return int(int32(uint32(p-q)<<(32-psnBits)) >> (32 - psnBits)) }

// Before tells whether p comes before q.
func (p PSN) Before(q PSN) bool { return p.Sub(q) < 0 }
