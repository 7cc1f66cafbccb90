package congestion

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// stuck is a controller whose deadline stays where it is.
type stuck struct{ Controller }

func (stuck) OnTimeout(Time) {}
func (stuck) Deadline() Time { return 3 * instant.Microsecond }

func TestTry(t *testing.T) {
	for _, name := range Registry.Names() {
		m, _, err := Registry.Make(name, nil)
		require.NoError(t, err)
		require.NoError(t, Try(m), name)
	}
	require.EqualError(t, Try(func(Path) Controller { return nil }), "its Maker returned nil; expected a Controller")
	require.EqualError(t, Try(func(Path) Controller { return stuck{} }), "its Deadline is 3us after OnTimeout at 3us; expected a later one, or instant.Never")
}
