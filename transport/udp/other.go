//go:build !linux

package udp

func newSystem(c *Config) (system, error) { return newPortable(c) }
