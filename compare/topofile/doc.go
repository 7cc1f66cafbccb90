// Package topofile reads the topology files of other simulators into fabrics of ours: the fat
// trees of the htsim family (.topo) and the graphs of the ns-3 simulators of HPCC and ConWeave. Both
// are registered as topologies with a parameter file.
package topofile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/param"
)

// maxLinks bounds the size of a network, so that a mistake in a file ends in a message.
const maxLinks = 1 << 23

var fileParam = []param.Param{{Name: "file", Kind: param.Word, Doc: "the topology file; hosts, rates and delays come from it"}}

func init() {
	emulator.Topologies.Register(param.Entry[emulator.Topology]{
		Name: "htsim", Doc: "a fat tree of 2 or 3 tiers from a .topo file", Source: "csg-htsim and uet-htsim, topologies",
		Params: fileParam,
		New:    fromFile(func(f *os.File) (network, error) { return ReadHtsim(f, f.Name()) }),
	})
	emulator.Topologies.Register(param.Entry[emulator.Topology]{
		Name: "ns3", Doc: "any graph from a topology file of HPCC or ConWeave", Source: "HPCC, SIGCOMM 2019; ConWeave, SIGCOMM 2023",
		Params: fileParam,
		New:    fromFile(func(f *os.File) (network, error) { return ReadNS3(f, f.Name()) }),
	})
}

// A network is what a file describes.
type network interface {
	Network(emulator.Spec) (*emulator.Network, error)
}

// fromFile makes a topology out of a reader.
func fromFile(read func(*os.File) (network, error)) func(param.Values) (emulator.Topology, error) {
	return func(v param.Values) (emulator.Topology, error) {
		if !v.Has("file") {
			return nil, errors.New("file is missing; expected the name of a topology file")
		}
		file, err := Open(v.Word("file"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		n, err := read(file)
		if err != nil {
			return nil, err
		}
		return n.Network, nil
	}
}

// Open opens a file; the error is short.
func Open(name string) (*os.File, error) {
	file, err := os.Open(name)
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = fmt.Errorf("cannot read %s: %w", name, pathError.Err)
	}
	return file, err
}

// agree reports fields of a scenario that contradict a file. Zero fields agree.
func agree(s emulator.Spec, hosts int, rateBps int64) error {
	switch {
	case s.Hosts != 0 && s.Hosts != hosts:
		return fmt.Errorf("hosts: %d contradicts the file, which has %d", s.Hosts, hosts)
	case s.RateBps != 0 && s.RateBps != rateBps:
		return fmt.Errorf("rate: %d bit/s contradicts the file, whose host links have %d", s.RateBps, rateBps)
	case s.LinkDelay != 0 || len(s.TierDelay) > 0 || len(s.TierRateBps) > 0 || s.Oversubscription != 0:
		return errors.New("linkDelay, tierDelays, tierRates and oversubscription come from the file; expected them to be left out")
	}
	return nil
}
