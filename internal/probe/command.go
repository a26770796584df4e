package probe

import (
	"fmt"
	"time"

	"squall/internal/netns"
	"squall/internal/probe/shell"
)

// Command is a line of shell, run for each reading here or on any machine that
// ssh reaches, and the numbers in what it prints. Its counters have the title as
// Where. Make it by [NewCommand] or [NewRemoteCommand] and close it.
type Command struct {
	title   string
	line    string
	format  Format
	timeout time.Duration
	ns      *netns.NS
	session *shell.Session
}

// NewCommand returns a probe that has sh(1) run a line in a network namespace of
// this machine. After timeout (0: 5 s) the line is killed with all that it
// started; it may print [shell.Limit] bytes.
func NewCommand(title, line string, ns *netns.NS, format Format, timeout time.Duration) *Command {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return &Command{title: title, line: line, ns: ns, format: format, timeout: timeout}
}

// NewRemoteCommand returns a probe that has a line run on another machine, over
// a session of its own that is kept open. See [shell.Session.Run] for the
// timeout.
func NewRemoteCommand(title, line string, host shell.Host, format Format, timeout time.Duration) *Command {
	c := NewCommand(title, line, nil, format, timeout)
	c.session = shell.NewSession(host)
	return c
}

// Name returns "command" and the title.
func (c *Command) Name() string { return "command " + c.title }

// Read runs the line. A status other than 0 is an error, whatever it printed.
func (c *Command) Read() (Reading, error) {
	var text []byte
	var err error
	if c.session != nil {
		text, err = c.session.Run(c.line, c.timeout)
	} else {
		text, err = shell.Run(c.ns, c.line, c.timeout)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return titled(c.Name(), c.title, c.format, text)
}

// Close ends the session, where there is one.
func (c *Command) Close() error {
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}

// titled is the reading of a text that came just now.
func titled(name, title string, format Format, text []byte) (Reading, error) {
	r := Reading{At: now()}
	counters, err := format(text)
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", name, err)
	}
	for i := range counters {
		counters[i].Where = title
	}
	r.Counters = counters
	return r, nil
}
