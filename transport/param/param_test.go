package param

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]instant.Time{"0": 0, "12us": 12 * instant.Microsecond, "1.5ms": 1500 * instant.Microsecond, "500ns": 500_000, "10ps": 10, "never": instant.Never} {
		got, err := ParseTime(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]int64{"400Gbps": 400e9, "40Mbps": 40e6, "0": 0, "1.6Tbps": 1600e9} {
		got, err := ParseRate(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]int64{"2MiB": 2 << 20, "64KB": 64000, "1500": 1500, "0.5bdp": 75000, "1e3": 1000, "0": 0, "1.5e3": 1500, "2.0": 2, "0.3KiB": 307} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.In(150_000), text)
	}
	for text, want := range map[string]float64{"1%": 0.01, "0.25": 0.25, "1/4096": 1.0 / 4096, "0": 0, "100%": 1} {
		got, err := ParseFraction(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-15, text)
	}
}

func TestQuantitiesRefuse(t *testing.T) {
	for _, text := range []string{"", "12", "us", "1 fortnight", "1e400s", "--3us"} {
		_, err := ParseTime(text)
		require.ErrorContains(t, err, "is not a time", text)
	}
	for _, text := range []string{"", "-1Gbps", "400", "400GB"} {
		_, err := ParseRate(text)
		require.ErrorContains(t, err, "is not a rate", text)
	}
	for _, text := range []string{"", "-1", "-0.5bdp", "3 bananas", "NaN", "1.5", "0.5B", "1e-3", "0.0001KB"} {
		_, err := ParseSize(text)
		require.ErrorContains(t, err, "is not a size", text)
	}
	for _, text := range []string{"", "2", "-1%", "1/0", "a/b", "101%", "NaN"} {
		_, err := ParseFraction(text)
		require.ErrorContains(t, err, "is not a fraction", text)
	}
}

// fruits and meals stand for algorithms and the protocols that choose among them.
func registries() (*Registry[int], *Registry[string]) {
	fruits := &Registry[int]{Noun: "fruit"}
	fruits.Register(Entry[int]{Name: "apple", Params: []Param{{Name: "weight", Kind: Int, Default: "100", Min: 1, Max: 500}},
		New: func(v Values) (int, error) { return int(v.Int("weight")), nil }})
	meals := &Registry[string]{Noun: "meal"}
	meals.Register(Entry[string]{Name: "lunch", Params: []Param{
		{Name: "fruit", Kind: Choice, Default: "apple", Of: fruits},
		{Name: "hot", Kind: Bool, Default: "false"},
		{Name: "at", Kind: Duration, Default: ""},
	}, New: func(v Values) (string, error) { return v.String(), nil }})
	return fruits, meals
}

func TestChoicesCarryTheirParameters(t *testing.T) {
	fruits, meals := registries()
	text, v, err := meals.Make("lunch", map[string]string{"fruit.weight": "7", "hot": "true"})
	require.NoError(t, err)
	require.Equal(t, "fruit=apple,fruit.weight=7,hot=true", text)
	require.False(t, v.Has("at"))
	name, given := v.Choice("fruit")
	weight, _, err := fruits.Make(name, given)
	require.NoError(t, err)
	require.Equal(t, 7, weight)
}

func TestMessages(t *testing.T) {
	_, meals := registries()
	for _, c := range []struct {
		given map[string]string
		want  string
	}{
		{map[string]string{"cold": "1"}, `meal lunch: unknown parameter "cold"; expected one of fruit, hot, at`},
		{map[string]string{"hot": "maybe"}, `meal lunch: hot: "maybe" is neither true nor false`},
		{map[string]string{"fruit": "stone"}, `meal lunch: fruit: unknown fruit "stone"; expected one of apple`},
		{map[string]string{"fruit.size": "1"}, `meal lunch: fruit.size: fruit apple has no parameter "size"; expected one of weight`},
		{map[string]string{"fruit.weight": "900"}, `meal lunch: fruit.weight: 900 is outside 1 to 500`},
		{map[string]string{"at.x": "1"}, `meal lunch: unknown parameter "at.x"; expected one of fruit, hot, at`},
	} {
		_, _, err := meals.Make("lunch", c.given)
		require.EqualError(t, err, c.want)
	}
	_, _, err := meals.Make("dinner", nil)
	require.EqualError(t, err, `unknown meal "dinner"; expected one of lunch`)
}

func TestRegisterPanics(t *testing.T) {
	fruits, _ := registries()
	require.Panics(t, func() { fruits.Register(Entry[int]{Name: "apple"}) })
	require.Panics(t, func() {
		fruits.Register(Entry[int]{Name: "pear", Params: []Param{{Name: "x", Kind: Int, Default: "many"}}})
	})
}
