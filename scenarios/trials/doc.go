// Package trials compares settings by the trials they had.
//
//	A B A B ... ──► figures of each trial ──► a Row a setting: runs, mean, median, range
//	                                     └──► a Difference a pair of settings, in words
//
// Whether two settings differ is told by the Mann-Whitney U test, which asks nothing
// of the shape of the distributions (golang.org/x/perf/benchmath), and by how much by
// a bootstrap interval of the ratio of their medians. Void trials count as void and
// nowhere else.
//
// Everything here is a pure function; the bootstrap draws from a fixed seed, so the
// same trials give the same words.
package trials
