package workload

import (
	"io"

	"github.com/weft-transport/weft/compare/workload/lines"
)

// ReadCDF reads a flow-size distribution: two columns, bytes and cumulative percent, as HPCC and
// ConWeave publish them. file names it in errors.
func ReadCDF(from io.Reader, file string) (*CDF, error) {
	r := lines.New(from, file)
	var points []CDFPoint
	last := CDFPoint{}
	for r.Next() {
		p, err := cdfLine(r)
		if err != nil {
			return nil, err
		}
		if p.Bytes < last.Bytes || p.P < last.P {
			return nil, r.Errorf("%s bytes at %s%% is below the line before; expected sizes and percents that do not fall", r.Fields[0], r.Fields[1])
		}
		points, last = append(points, p), p
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if last.P != 1 {
		return nil, r.Errorf("the last size is at %g%%; expected cumulative percents that end at 100", last.P*100)
	}
	c, err := NewCDF(points)
	if err != nil {
		return nil, r.Errorf("%v", err)
	}
	return c, nil
}

func cdfLine(r *lines.Reader) (CDFPoint, error) {
	if len(r.Fields) != 2 {
		return CDFPoint{}, r.Errorf("%d columns; expected 2: bytes and cumulative percent", len(r.Fields))
	}
	bytes, err := r.Decimal(r.Fields[0], "bytes", 0, 1<<50)
	if err != nil {
		return CDFPoint{}, err
	}
	percent, err := r.Decimal(r.Fields[1], "cumulative percent", 0, 100)
	return CDFPoint{Bytes: bytes, P: percent / 100}, err
}
