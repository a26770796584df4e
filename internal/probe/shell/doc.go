// Package shell has lines of shell run, here or at the far end of ssh, in
// bounded time and with bounded output.
//
// [Run] runs one line on this machine. A [Session] keeps one sh(1) running on
// another machine and gives it line after line, so that a reading a second is
// neither a connection nor a login a second:
//
//	squall ── stdin ──► ssh ═══════ sshd ──► exec sh
//	                    one login            sh -c 'cat /proc/stat' </dev/null
//	       ◄─ stdout ──     ═══════      ◄── what it prints, then "\nMARK 0\n"
//
// MARK is 128 random bits, drawn anew for each sh, and 0 the exit status; so a
// reply ends where the marker stands, whatever the line printed; so it does on
// standard error. What comes
// before the first marker (a greeting of the login shell's files) is passed
// over.
//
// The ssh is the system's, with the user's configuration, keys, agent and known
// hosts; it never asks a question (BatchMode). A session is one process and one
// login, so it needs no ControlMaster and does not become one; a master that the
// user's configuration names and that runs already is used.
//
// All children get a process group of their own: a Ctrl-C at the terminal is
// squall's, which still has a last reading to take. They end with it however it
// ends, since sh ends with its standard input; a line that still runs at the far
// end is ended there by timeout(1), where the machine has it.
//
// A Session serves one line at a time: callers wait for each other. Close may
// be called at any time and ends a line that is being waited for.
package shell
