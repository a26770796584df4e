// Package porttest has what tests of engines, and of what runs over them, need: a
// batch writer in memory and plans of frames that can be told apart.
package porttest
