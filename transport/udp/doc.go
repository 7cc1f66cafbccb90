// Package udp carries any core.Stack over real sockets in wall-clock time.
package udp
