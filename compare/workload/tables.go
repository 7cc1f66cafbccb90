package workload

import (
	"fmt"
	"sort"
)

// percent writes a table as sizes in bytes and cumulative percents, in turn.
type percent []float64

// tables are the distributions of flow sizes that papers on data-centre transports use, typed
// again from the numbers published with HPCC (SIGCOMM 2019) and ConWeave (SIGCOMM 2023).
var tables = map[string]struct {
	doc    string
	points percent
}{
	"websearch": {"web search, from DCTCP (SIGCOMM 2010)", percent{
		0, 0, 10e3, 15, 20e3, 20, 30e3, 30, 50e3, 40, 80e3, 53, 200e3, 60, 1e6, 70, 2e6, 80, 5e6, 90, 10e6, 97, 30e6, 100}},
	"hadoop": {"Hadoop at Facebook, from Roy et al. (SIGCOMM 2015)", percent{
		0, 0, 100, 1, 200, 2, 300, 5, 350, 15, 400, 20, 500, 30, 600, 40, 700, 50, 1e3, 60, 2e3, 67, 7e3, 70,
		30e3, 72, 50e3, 82, 80e3, 87, 120e3, 90, 300e3, 95, 1e6, 97.5, 2e6, 99, 10e6, 100}},
	"alistorage": {"storage at Alibaba, 2019, as published with ConWeave", percent{
		0, 0, 4e3, 22.93, 8e3, 69.21, 16e3, 80.61, 32e3, 90.47, 64e3, 93.53, 128e3, 96.77, 256e3, 97.53, 2e6, 100}},
	"solar": {"storage over Solar at Alibaba, 2022: steps at the powers of two", percent{
		4096, 30, 16383, 35, 16384, 50, 65535, 60, 65536, 95, 262144, 100}},
	"googlerpc": {"remote procedure calls at Google, 2008: a choice from a table of 843 points", percent{
		0, 0, 3, 6.49, 32, 9.73, 64, 15.53, 128, 35.16, 256, 49.79, 512, 78.49, 1024, 86.32, 2048, 90.89, 2979, 92.517, 4096, 93.50,
		5521, 95.01, 8192, 96.43, 11012, 97.475, 16384, 98.47, 21984, 98.76, 32768, 99.04, 43903, 99.187, 65536, 99.326,
		87381, 99.519, 131072, 99.713, 174763, 99.779, 262144, 99.845, 348765, 99.897, 524288, 99.950, 701172, 99.963,
		1068642, 99.9763, 1401165, 99.9823, 2113675, 99.9889, 2834317, 99.9922, 4135977, 99.9952, 5368784, 99.9967, 7143054, 99.998, 9710291, 99.999, 15158197, 100}},
}

func isTable(name string) bool {
	_, known := tables[name]
	return known
}

// Tables returns the names of the built-in flow-size distributions, sorted.
func Tables() []string {
	names := make([]string, 0, len(tables))
	for name := range tables {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Table returns a built-in distribution and where it comes from.
func Table(name string) (*CDF, string, error) {
	t, known := tables[name]
	if !known {
		return nil, "", fmt.Errorf("unknown flow-size distribution %q; expected one of %v", name, Tables())
	}
	var points []CDFPoint
	for i := 0; i < len(t.points); i += 2 {
		points = append(points, CDFPoint{Bytes: t.points[i], P: t.points[i+1] / 100})
	}
	c, err := NewCDF(points)
	return c, t.doc, err
}
