package spray

// Traits are what a sprayer declares of itself. Package conformance holds it to them.
type Traits struct {
	Fixed  bool // one value for the life of a context: nothing can be avoided
	Uneven bool // prefers some values by itself, without having heard anything of them
	Learns bool // sends less where packets are lost
}

// A Declarer is a Sprayer that declares its Traits. They do not change while it lives.
type Declarer interface {
	Traits() Traits
}

// TraitsOf returns what a sprayer declares; without a declaration none of the Traits.
func TraitsOf(s Sprayer) Traits {
	if d, ok := s.(Declarer); ok {
		return d.Traits()
	}
	return Traits{}
}

func (e *ecmp) Traits() Traits   { return Traits{Fixed: true} }
func (b *bitmap) Traits() Traits { return Traits{Learns: true} }
func (r *reps) Traits() Traits   { return Traits{Learns: true} }
