package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"squall/scenarios"
)

// progress shows how a run goes: on a terminal one line that is written over,
// elsewhere a line every ten seconds.
type progress struct {
	w        io.Writer
	quiet    bool
	terminal bool
	width    int // of the line that stands
	length   map[string]time.Duration
	last     time.Time
}

// plainEvery is how often a line appears where lines cannot be written over.
const plainEvery = 10 * time.Second

func newProgress(w io.Writer, quiet bool, phases []scenarios.Phase) *progress {
	p := &progress{w: w, quiet: quiet, length: map[string]time.Duration{}, last: time.Now()}
	for _, ph := range phases {
		p.length[ph.Name] = ph.Duration
	}
	if f, ok := w.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		p.terminal = err == nil
	}
	return p
}

// Sample shows the phase's account so far.
func (p *progress) Sample(s scenarios.Sample) {
	if !p.terminal && time.Since(p.last) < plainEvery {
		return
	}
	p.last = time.Now()
	of := ""
	if d := p.length[s.Phase]; d > 0 {
		of = fmt.Sprintf("/%g", d.Seconds())
	}
	line := fmt.Sprintf("%s %.0f%s s  sent %d (%.0f/s)  received %d (%.0f/s)  lost %d", s.Phase, s.Seconds, of, s.Sent, s.PPS, s.Received, s.RxPPS, s.Lost)
	if s.Reordered > 0 {
		line += fmt.Sprintf("  reordered %d", s.Reordered)
	}
	p.show(line)
}

// Event shows what is not routine.
func (p *progress) Event(e scenarios.Event) {
	switch e.Event {
	case scenarios.EventStop:
		p.note("%s; what was sent is settled and reported, another Ctrl-C ends at once", e.Text)
	case scenarios.EventLink, scenarios.EventError:
		p.note("%s", strings.TrimSpace(e.Port+" "+e.Text))
	}
}

// note writes a line that stays.
func (p *progress) note(format string, args ...any) {
	if p.quiet {
		return
	}
	p.end()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) show(line string) {
	switch {
	case p.quiet:
	case p.terminal:
		fmt.Fprintf(p.w, "\r%-*s", p.width, line)
		p.width = len(line)
	default:
		fmt.Fprintln(p.w, line)
	}
}

// end wipes the line that stands.
func (p *progress) end() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width, "")
		p.width = 0
	}
}
