package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"squall/internal/convo"
	"squall/internal/pace"
	"squall/internal/plan"
)

// keys releases a frame for each key that is pressed on the terminal.
//
//	terminal, without lines or echo ──► a key ──► Manual schedule: one frame more
//	                                     └► what that frame is, on stderr
type keys struct {
	schedule *pace.Manual
	ended    chan struct{} // q, or the end of the input

	tty    *os.File
	before *unix.Termios
}

// newKeys begins to listen. It needs a terminal; close puts it back.
func newKeys(to io.Writer, p *plan.Plan) (*keys, error) {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return nil, fmt.Errorf("--one-at-a-time needs a terminal to read keys from: %w", err)
	}
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keys of the terminal: %w", err), tty.Close())
	}
	k := &keys{schedule: new(pace.Manual), ended: make(chan struct{}), tty: tty, before: before}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO // Ctrl-C still interrupts
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, &raw); err != nil {
		return nil, errors.Join(fmt.Errorf("keys of the terminal: %w", err), tty.Close())
	}
	fmt.Fprintln(to, "a key sends the next frame, q ends")
	go k.listen(to, p)
	return k, nil
}

func (k *keys) listen(to io.Writer, p *plan.Plan) {
	defer close(k.ended)
	frame, key := make([]byte, p.MaxLen()), make([]byte, 1)
	for {
		if n, err := k.tty.Read(key); n != 1 || err != nil || key[0] == 'q' {
			return
		}
		i := k.schedule.Release(1)
		fmt.Fprintf(to, "%6d  %s\n", i+1, describeFrame(frame[:p.Write(frame, i, 0)]))
	}
}

// close puts the terminal back.
func (k *keys) close() {
	_ = unix.IoctlSetTermios(int(k.tty.Fd()), unix.TCSETS, k.before)
	k.tty.Close()
}

// describeFrame is a frame in a line.
func describeFrame(frame []byte) string {
	var p convo.Packet
	if !p.Decode(frame) {
		return fmt.Sprintf("EtherType 0x%04x, %d bytes", p.EtherType, len(frame))
	}
	src, dst := p.Src(), p.Dst()
	ends := fmt.Sprintf("%v > %v", src.Addr, dst.Addr)
	if p.Transport {
		ends = fmt.Sprintf("%v.%d > %v.%d", src.Addr, src.Port, dst.Addr, dst.Port)
	}
	if !p.IsTCP() {
		return fmt.Sprintf("%s, protocol %d, %d bytes", ends, p.Proto, len(frame))
	}
	return fmt.Sprintf("%s, flags [%s], seq %d, ack %d, length %d", ends, flagLetters(p.Flags), p.Seq, p.Ack, p.PayloadLen())
}

// flagLetters writes TCP flags as tcpdump does.
func flagLetters(flags uint8) (s string) {
	for _, f := range []struct {
		bit    uint8
		letter string
	}{{convo.SYN, "S"}, {convo.FIN, "F"}, {convo.PSH, "P"}, {convo.RST, "R"}, {convo.ACK, "."}, {convo.URG, "U"}, {convo.ECE, "E"}, {convo.CWR, "W"}} {
		if flags&f.bit != 0 {
			s += f.letter
		}
	}
	return s
}
