package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"squall/internal/plan"
)

// store takes the frames of a plan, in memory as long as they fit and then in a file
// without a name, which the kernel frees however the process ends.
type store struct {
	limit uint64
	dir   string

	memory plan.Table
	file   *os.File // nil: in memory
	to     *bufio.Writer
	ends   []uint64 // of frames in the file
	taken  bool
}

// indexed is what a frame costs beside its bytes: where it ends, when it is due.
const indexed = 16

// expect makes room for so many bytes, as far as they go to memory. What is not used of
// it costs nothing.
func (s *store) expect(bytes uint64) {
	if have := s.size(); s.file == nil && have < s.limit {
		s.memory.Grow(int(min(bytes, s.limit-have)))
	}
}

func (s *store) add(frame []byte) error {
	if s.file == nil {
		if uint64(s.memory.Bytes()+len(frame)+indexed*(s.memory.Len()+1)) <= s.limit {
			s.memory.Append(frame)
			return nil
		}
		if err := s.spool(); err != nil {
			return err
		}
	}
	var end uint64
	if n := len(s.ends); n > 0 {
		end = s.ends[n-1]
	}
	s.ends = append(s.ends, end+uint64(len(frame)))
	_, err := s.to.Write(frame)
	return s.explain(err)
}

// size is what the frames take so far, wherever they are.
func (s *store) size() uint64 {
	n := uint64(s.memory.Bytes() + indexed*(s.memory.Len()+len(s.ends)))
	if len(s.ends) > 0 {
		n += s.ends[len(s.ends)-1]
	}
	return n
}

// spool goes over to a file.
func (s *store) spool() error {
	dir := s.dir
	if dir == "" {
		dir = os.TempDir()
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		// A file system without such files: one with a name that is taken away.
		s.file, err = os.CreateTemp(dir, "squall-replay-")
		if err == nil {
			err = os.Remove(s.file.Name())
		}
	} else if err == nil {
		s.file = os.NewFile(uintptr(fd), dir)
	}
	if err != nil {
		return fmt.Errorf("a file in %q for the frames, which take more than the %d MiB of memory that a replay may: %w", dir, s.limit>>20, err)
	}
	s.to = bufio.NewWriterSize(s.file, 1<<20)
	for i := range s.memory.Len() {
		f := s.memory.At(uint64(i))
		s.ends = append(s.ends, uint64(len(f)))
		if i > 0 {
			s.ends[i] += s.ends[i-1]
		}
		if _, err := s.to.Write(f); err != nil {
			return s.explain(err)
		}
	}
	s.memory = plan.Table{}
	debug.FreeOSMemory() // as much as the limit
	return nil
}

func (s *store) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("frames beyond %d MiB go to a file in %q: %w; give another directory, or replay a part", s.limit>>20, s.file.Name(), err)
}

func (s *store) spooled() bool { return s.file != nil }

// table returns the frames; the store is done with.
func (s *store) table() (plan.Table, error) {
	if s.file == nil {
		return s.memory, nil
	}
	defer s.file.Close()
	if err := s.to.Flush(); err != nil {
		return plan.Table{}, s.explain(err)
	}
	size, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return plan.Table{}, err
	}
	data, err := unix.Mmap(int(s.file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return plan.Table{}, fmt.Errorf("mapping %d bytes of frames: %w", size, os.NewSyscallError("mmap", err))
	}
	s.taken = true
	return plan.MappedTable(data, s.ends, func() { _ = unix.Munmap(data) }), nil
}

// abort drops the file of a store whose table nobody took.
func (s *store) abort() {
	if s.file != nil && !s.taken {
		s.file.Close()
	}
}
