package weft

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheSourceHashSeesAllSource walks the module: a folder that the embedded patterns miss would let
// results of different code carry the same hash.
func TestTheSourceHashSeesAllSource(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." {
			// Not other modules, and not the examples, from which no result comes.
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || path == "examples" {
				return filepath.SkipDir
			}
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		_, err = fs.Stat(source, filepath.ToSlash(path))
		require.NoError(t, err, "add its folder to the patterns in source.go")
		return nil
	}))
	require.Greater(t, files, 100)
	require.Regexp(t, "^[0-9a-f]{16}$", SourceHash())
}
