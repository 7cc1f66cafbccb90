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

// A wrong registration is told with its place, by Mistakes and to whoever looks the name up, and nothing panics.
func TestRegisterRefuses(t *testing.T) {
	defer func(before []error) { mistakes = before }(mistakes)
	make7 := func(Values) (int, error) { return 7, nil }
	for _, c := range []struct {
		entry Entry[int]
		want  string
	}{
		{Entry[int]{Name: "apple", New: make7}, "is registered already"},
		{Entry[int]{Name: "", New: make7}, "cannot be written in a SPEC"},
		{Entry[int]{Name: "a,b", New: make7}, "cannot be written in a SPEC"},
		{Entry[int]{Name: "pear"}, "has no New"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x", Kind: Int, Default: "many"}}}, `parameter "x" has a default that it refuses: "many" is not a whole number`},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x", Kind: Int, Default: "9", Max: 5}}}, "9 is outside 0 to 5"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x"}}}, "has no Kind"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x.y", Kind: Int}}}, "cannot be written"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x", Kind: Int}, {Name: "x", Kind: Int}}}, "is declared twice"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x", Kind: Int, Min: 3, Max: 2}}}, "bounds from 3 to 2"},
		{Entry[int]{Name: "pear", New: make7, Params: []Param{{Name: "x", Kind: Choice}}}, "without Of"},
	} {
		fruits, _ := registries()
		mistakes = nil
		fruits.Register(c.entry)
		require.Len(t, Mistakes(), 1)
		require.ErrorContains(t, Mistakes()[0], c.want)
		require.Regexp(t, `param_test\.go:\d+: fruit "`, Mistakes()[0].Error())
		if c.entry.Name == "pear" {
			_, _, err := fruits.Make("pear", nil)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, []string{"apple"}, fruits.Names())
		}
	}
}

func TestMakeRefusesNothing(t *testing.T) {
	makers := &Registry[func()]{Noun: "maker"}
	makers.Register(Entry[func()]{Name: "idle", New: func(Values) (func(), error) { return nil, nil }})
	_, _, err := makers.Make("idle", nil)
	require.EqualError(t, err, "maker idle: its New returned nil; expected what it makes, or an error")
}
