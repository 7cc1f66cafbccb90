//go:build !linux

package netns

// Within has no namespaces to go to.
func Within(string, func() error) error { return errNotLinux }
