// Package scenario reads what is to be compared: a fabric, its faults, a workload, protocols and
// seeds, from YAML files or built in, and resolves it with every default filled in.
//
// Nothing is guessed and nothing is ignored: an unknown field, a bad value or settings that
// contradict each other are an Error of one line that names the file, the line, the field and
// what was expected. A resolved Scenario prints itself as a file that reads back as the same
// scenario (Show), and has a Hash.
package scenario
