// Package strict reads YAML files that people write: every key is known, every
// value has one form, and an error says where it stands and shows the line.
//
//	file ──► Parse ──► nodes ──► Mapping, List, Text, ... ──► values
//	                                  │
//	                                  └► Marks: where each part stands, by path
//
// Marks outlive the reading, so that what is found out later about a value, such
// as a rate that no link has, is told with its place too.
//
// Nothing here keeps state but in Marks, which belong to one goroutine.
package strict
