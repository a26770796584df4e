package netns

import "os/exec"

// Cmd is a command whose process runs in a namespace: a child inherits that of
// the thread which starts it. Only the network changes; unlike under ip netns
// exec, /sys/class/net still shows the old one.
type Cmd struct {
	*exec.Cmd
	ns *NS
}

// Command prepares name with args as [exec.Command] does. The handle must stay
// open until the command has started.
func (n *NS) Command(name string, args ...string) *Cmd {
	return &Cmd{Cmd: exec.Command(name, args...), ns: n}
}

// Start starts the command in the namespace and returns; see [exec.Cmd.Start].
func (c *Cmd) Start() error { return c.ns.Do(c.Cmd.Start) }

// Run starts the command in the namespace and waits for it to end.
func (c *Cmd) Run() error { return c.ns.Do(c.Cmd.Run) }

// Output runs the command and returns its standard output; see
// [exec.Cmd.Output].
func (c *Cmd) Output() ([]byte, error) { return c.collect(c.Cmd.Output) }

// CombinedOutput runs the command and returns its standard output and standard
// error together.
func (c *Cmd) CombinedOutput() ([]byte, error) { return c.collect(c.Cmd.CombinedOutput) }

func (c *Cmd) collect(run func() ([]byte, error)) (out []byte, err error) {
	err = c.ns.Do(func() error {
		out, err = run()
		return err
	})
	return out, err
}
