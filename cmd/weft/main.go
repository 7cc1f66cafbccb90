// Command weft compares data-centre transports on one emulated fabric: Ultra Ethernet Transport
// against RoCE v2. All it does is in package cli, so that a program with algorithms of its own can
// offer the same commands.
package main

import "github.com/weft-transport/weft/compare/cli"

func main() { cli.Main() }
