// Package draw makes the charts of the HTML report as inline SVG.
//
// A chart is as wide as its place on the page: horizontal positions are percentages, heights and
// type sizes are pixels, and curves live in a nested viewport that stretches without widening its
// strokes. So one copy of a chart is legible on a telephone and on paper. Text outside the plot area
// (tick labels, direct labels) overflows into padding that the page provides through the class "plot"
// and the variables --left, --right and --bottom.
//
// Colours come from CSS classes. The classes used here: axis, grid, tick, label, note, value, bar,
// whisker, reference, curve, dot, area, halo, strip, h0..h9, and faded, crossed, crossing and bad for what is invalid; a caller's class on each bar, series and
// strip sets the variable --c.
//
// Every chart has a role, a title and a description that says in words what it shows.
package draw
