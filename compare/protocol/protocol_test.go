package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/param"
)

// Every setting of a class is described, and stands at a default that passes its own check.
func TestClassParamsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range ClassParams {
		require.NotEmpty(t, p.Doc, p.Name)
		require.NotEmpty(t, p.Default, "%s: a class has a value for everything", p.Name)
		require.False(t, seen[p.Name], "%s comes twice", p.Name)
		seen[p.Name] = true
		_, err := param.Resolve(ClassParams, map[string]string{p.Name: p.Default})
		require.NoError(t, err)
	}
}

func TestClassParamsRefuse(t *testing.T) {
	for name, text := range map[string]string{
		"queue": "-1", "lastHopQueue": "1.5", "alpha": "1025", "ecnMin": "some", "ecnP": "2", "trim": "perhaps", "trimBytes": "63",
		"trimShare": "101%", "flowControl": "hope", "xoff": "many", "colour": "red",
	} {
		_, err := param.Resolve(ClassParams, map[string]string{name: text})
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "\n", "one line")
	}
}

// An entry of another module is found like ours; a name that is taken is a mistake of its programmer.
func TestRegistryTakesOthers(t *testing.T) {
	r := param.Registry[Protocol]{Noun: Registry.Noun}
	e := param.Entry[Protocol]{Name: "pigeon", New: func(param.Values) (Protocol, error) { return nil, nil }}
	r.Register(e)
	_, err := r.Lookup("pigeon")
	require.NoError(t, err)
	_, err = r.Lookup("pigeons")
	require.EqualError(t, err, `unknown protocol "pigeons"; expected one of pigeon`)
	r.Register(e)
	require.Len(t, param.Mistakes(), 1)
	require.ErrorContains(t, param.Mistakes()[0], `protocol "pigeon": is registered already; expected another name`)
}
