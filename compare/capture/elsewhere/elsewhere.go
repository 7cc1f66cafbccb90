// Package elsewhere finds, for tests, captures that are not in the repository: those in the directory that the
// environment variable WEFT_CAPTURES names (docs/TESTING.md).
package elsewhere

import (
	"os"
	"path/filepath"
)

// Variable is the name of the environment variable.
const Variable = "WEFT_CAPTURES"

// Dir returns the directory that Variable names, or its folder for a protocol ("uet", "rocev2") where it has one; "" if it
// is not set.
func Dir(folder string) string {
	dir := os.Getenv(Variable)
	if dir == "" {
		return ""
	}
	inner := filepath.Join(dir, folder)
	if info, err := os.Stat(inner); err == nil && info.IsDir() {
		return inner
	}
	return dir
}
