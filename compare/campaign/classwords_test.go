package campaign

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/scenario"
)

func wordsOf(t *testing.T, spec string, set ...string) string {
	t.Helper()
	all, err := scenario.Load("permutation", scenario.Options{Protocols: spec, Set: set})
	require.NoError(t, err)
	return classWords(&all[0].Protocols[0], &all[0].Fabric)
}

func TestClassesInWords(t *testing.T) {
	for spec, want := range map[string]string{
		"uet":                               "trimming at 1 BDP, ECN 0.2-0.8 BDP",
		"uet,class.trim=false":              "tail drop at 1 BDP, ECN 0.2-0.8 BDP",
		"rocev2":                            "PFC, ECN 400 KB-1.6 MB p 0.2, shared buffer alpha 1/8",
		"rocev2,mode=adaptive":              "PFC, ECN 400 KB-1.6 MB p 0.2, shared buffer alpha 1/8, adaptive routing",
		"rocev2,loss=selective":             "tail drop, ECN 400 KB-1.6 MB p 0.2, shared buffer alpha 1",
		"uet,class.ecnMin=0.8bdp":           "trimming at 1 BDP, ECN from 0.8 BDP",
		"uet,class.queue=0":                 "trimming, ECN 0.2-0.8 BDP, shared buffer alpha 1",
		"uet,class.ecnMin=0,class.ecnMax=0": "trimming at 1 BDP, no ECN",
		"rocev2,class.xoff=64KiB,class.xon=48KiB,class.headroom=100KB":                  "PFC, ECN 400 KB-1.6 MB p 0.2, shared buffer alpha 1/8, XOFF 64 KiB, XON 48 KiB, headroom 100 KB",
		"uet,class.trimBytes=96,class.trimTail=false,class.trimShare=1":                 "trimming at 1 BDP, ECN 0.2-0.8 BDP, trimmed to 96 B, only arriving packets trimmed, trimmed packets up to 1 of a link",
		"uet,class.lastHopQueue=150000,class.alpha=0.3":                                 "trimming at 1 BDP (150 KB before hosts), ECN 0.2-0.8 BDP, shared buffer alpha 0.3",
		"uet,class.trim=false,class.queue=0,class.flowControl=credit,class.ecnMin=1000": "link credits, ECN 1 KB-0.8 BDP, shared buffer alpha 1",
	} {
		require.Equal(t, want, wordsOf(t, spec), spec)
	}
	require.Equal(t, wordsOf(t, "uet"), wordsOf(t, "uet,class.queue=1.0bdp"), "equal settings, equal words")
	require.Contains(t, wordsOf(t, "uet", "fabric.routing=random"), ", random routing")
	require.Contains(t, wordsOf(t, "rocev2,loss=selective,class.alpha=0", "fabric.buffer.alpha=0.25"), "shared buffer alpha 1/4")
}

func TestSizesInWords(t *testing.T) {
	for text, want := range map[string]string{"1600KB": "1.6 MB", "64KiB": "64 KiB", "1536KiB": "1.5 MiB", "1500": "1500 B", "2GB": "2 GB", "0": "0 B", "0.25bdp": "0.25 BDP"} {
		require.Equal(t, want, sizeWords(text))
	}
	for x, want := range map[float64]string{0.125: "1/8", 0.5: "0.5", 1: "1", 0.2: "0.2", 0.25: "1/4", 0.0625: "1/16", 8: "8"} {
		require.Equal(t, want, number(x))
	}
}
