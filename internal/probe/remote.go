package probe

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"squall/internal/probe/shell"
)

// Remote reads kinds on another Linux machine, all of them by one line of shell
// a reading over a session kept open: one grep(1) for all files, and the tools
// that Ethtool and Qdisc need. The machine needs nothing of squall; ethtool(8)
// and tc(8) are those of its PATH. As [Set] it returns what could be read with
// the errors of the rest.
//
// The counters are named as on this machine, with the host before their Where:
// dut/eth1, dut/cpu. Reading.At is when the answer had come, on this machine's
// clock: later than the reading by the way back.
type Remote struct {
	label   string
	kinds   []Kind
	lines   []string
	script  string
	mark    string
	timeout time.Duration
	session *shell.Session
}

// defaultTimeout is how long a reading by a command, a session or a page may
// take where nothing else was said.
const defaultTimeout = 5 * time.Second

// NewRemote returns a probe that has not connected yet. Label stands before the
// Where of its counters; empty: the host. A reading may take as long as timeout;
// 0: 5 s. Close it.
func NewRemote(host shell.Host, label string, timeout time.Duration, kinds ...Kind) *Remote {
	if label == "" {
		label = host.String()
	}
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	r := &Remote{label: label, kinds: kinds, timeout: timeout, mark: rand.Text(), session: shell.NewSession(host)}
	var files []string
	for _, k := range kinds {
		for _, s := range k.sources() {
			if s.line != "" {
				r.lines = append(r.lines, s.line)
			} else {
				files = append(files, s.quoted())
			}
		}
	}
	// With /dev/null grep always says which file a line is of.
	r.script = "grep '' /dev/null " + strings.Join(files, " ") + " 2>/dev/null\n"
	for _, line := range r.lines {
		r.script += fmt.Sprintf("printf '\\n%s\\n'; { %s\n} 2>&1; printf '\\n%s %%d\\n' $?\n", r.mark, line, r.mark)
	}
	r.script += "true"
	return r
}

// Name returns the label and the kinds.
func (r *Remote) Name() string {
	name := r.label + ":"
	for _, k := range r.kinds {
		name += " " + k.Name()
	}
	return name
}

// Read asks the machine, and connects to it where that is needed.
func (r *Remote) Read() (Reading, error) {
	out, err := r.session.Run(r.script, r.timeout)
	if err != nil {
		return Reading{}, err
	}
	reading := Reading{At: now()}
	t, err := r.texts(out)
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", r.label, err)
	}
	var errs []error
	for _, k := range r.kinds {
		counters, err := k.parse(t)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", r.label, k.Name(), err))
		}
		for _, c := range counters {
			c.Where = r.label + "/" + c.Where
			reading.Counters = append(reading.Counters, c)
		}
	}
	return reading, errors.Join(errs...)
}

// Close ends the session.
func (r *Remote) Close() error { return r.session.Close() }

// texts takes the script's output apart:
//
//	/proc/net/snmp:Ip: Forwarding ...      every line of every file
//
//	MARK                                   then for each line of shell
//	NIC statistics:                        its output
//	MARK 0                                 and its status
func (r *Remote) texts(out []byte) (texts, error) {
	parts := bytes.Split(append([]byte("\n"), out...), []byte("\n"+r.mark))
	if len(parts) != 1+2*len(r.lines) {
		return nil, fmt.Errorf("answer: have %d parts, need %d", len(parts), 1+2*len(r.lines))
	}
	t := texts{}
	for line := range bytes.Lines(parts[0]) {
		// No path of ours has a colon: neither has a name of an interface.
		if path, text, ok := bytes.Cut(line, []byte(":")); ok {
			t[string(path)] = append(t[string(path)], text...)
		}
	}
	for i, line := range r.lines {
		text := bytes.TrimPrefix(parts[1+2*i], []byte("\n"))
		status, err := strconv.Atoi(firstField(parts[2+2*i]))
		switch {
		case err != nil:
			return nil, fmt.Errorf("answer to %q: no status", line)
		case status != 0:
			t[failed+line] = bytes.TrimSpace(text)
		default:
			t[line] = text
		}
	}
	return t, nil
}

func firstField(b []byte) string {
	if f := strings.Fields(string(b)); len(f) > 0 {
		return f[0]
	}
	return ""
}
