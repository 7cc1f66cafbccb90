// Package report turns results into what people and scripts read: a table for the terminal (Table),
// JSON Lines (Writer, WriteDir, ReadDir) and one self-contained HTML page with figures (Build).
//
// The same data give the same bytes, whatever the machine. No statement is made that does not follow
// by a rule from numbers in the data, and a figure that hangs on unfinished flows is not shown as if
// it did not.
package report
