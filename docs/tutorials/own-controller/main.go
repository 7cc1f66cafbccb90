// Command own is weft with a congestion controller and a sprayer of its own: aimd.go and sticky.go.
package main

import "github.com/weft-transport/weft/compare/cli"

func main() { cli.Main() }
