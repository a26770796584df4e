// Package netns acts inside Linux network namespaces: it makes and opens them,
// runs a function or a command in one, and tells whether two handles mean the
// same one. See network_namespaces(7) and setns(2).
//
// A network namespace is a property of an OS thread, not of a process. [NS.Do]
// therefore locks the calling goroutine to its thread, moves the thread, runs
// the function and moves it back. Sockets and netlink handles opened inside
// stay in that namespace for life; goroutines started inside do not, they run
// on other threads, in the namespace the process started in.
//
// A namespace from [New] has no name and is held by one file descriptor. The
// kernel frees it, with every interface in it, once the descriptor is closed
// and the last socket and process in it are gone. A process that ends in
// whatever way, a panic and SIGKILL included, thus leaves nothing behind.
// [NS.Mount] gives it a name under /run/netns for ip-netns(8), and with it a
// life beyond the process, until [Unmount].
//
// An NS may be used from any goroutine; Close must not run beside other calls.
// The nil *NS and the zero NS mean the caller's current namespace, so code that
// takes a *NS needs no special case for ports without a namespace.
package netns
