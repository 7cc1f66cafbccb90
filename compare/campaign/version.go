package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"

	weft "github.com/weft-transport/weft"
)

const modulePath = "github.com/weft-transport/weft"

// SourceHash names the code that makes the runs: the hash of this module's source, and, in a program
// of another module, which brings algorithms of its own, "+" and 12 digits of the hash of its
// executable. Results with different hashes may differ.
var SourceHash = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); !ok || info.Main.Path == modulePath || info.Main.Path == "" {
		return weft.SourceHash()
	}
	return weft.SourceHash() + "+" + executableHash()
})

// executableHash is "unknown" where the running program cannot be read.
func executableHash() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}
