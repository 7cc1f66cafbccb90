//go:build !linux

package netns

func privileged(string) error { return errNotLinux }
