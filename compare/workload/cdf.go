package workload

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// A CDF is a distribution of flow sizes: piecewise linear between its points.
type CDF struct {
	points []CDFPoint
	mean   float64
}

// A CDFPoint says that a share P (0 to 1) of the flows has at most Bytes. Two points with equal
// Bytes are a step: flows of exactly this size.
type CDFPoint struct {
	Bytes float64
	P     float64
}

// NewCDF checks the points: sizes and shares must not fall, and the last share is 1. What the
// first point has beyond 0 are flows of exactly its size.
func NewCDF(points []CDFPoint) (*CDF, error) {
	if len(points) == 0 {
		return nil, errors.New("a distribution needs at least one point")
	}
	last := CDFPoint{}
	for i, p := range points {
		if !(p.Bytes >= last.Bytes && p.P >= last.P) || p.P > 1 || p.Bytes > 1<<50 {
			return nil, fmt.Errorf("point %d (%g bytes, %g%%) is below the one before (%g bytes, %g%%) or out of range", i+1, p.Bytes, p.P*100, last.Bytes, last.P*100)
		}
		last = p
	}
	if last.P != 1 {
		return nil, fmt.Errorf("the last point is at %g%%; expected 100%%", last.P*100)
	}
	c := &CDF{points: points}
	if c.mean = c.integrate(); c.mean == 0 { // a larger size may be there, that no flow has
		return nil, errors.New("all flows have 0 bytes")
	}
	return c, nil
}

// integrate returns the mean of the piecewise linear distribution.
func (c *CDF) integrate() float64 {
	before := c.points[0]
	mean := float64(before.P * before.Bytes)
	for _, p := range c.points[1:] {
		mean += float64((p.P - before.P) * (p.Bytes + before.Bytes) / 2)
		before = p
	}
	return mean
}

// Mean returns the mean size in bytes.
func (c *CDF) Mean() float64 { return c.mean }

// Quantile returns the size, in whole bytes and at least 1, below which a share u of the flows lies.
func (c *CDF) Quantile(u float64) uint64 {
	i := sort.Search(len(c.points), func(i int) bool { return c.points[i].P >= u })
	i = min(i, len(c.points)-1)
	size := c.points[i].Bytes
	if i > 0 {
		a, b := c.points[i-1], c.points[i]
		size = a.Bytes + float64((b.Bytes-a.Bytes)*((u-a.P)/(b.P-a.P)))
	}
	return uint64(max(1, math.Round(size)))
}
