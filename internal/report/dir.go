package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"squall/scenarios"
)

// Dir is the directory of one run.
type Dir struct {
	Path    string
	made    bool // by Create
	samples *lines
	events  *lines
	err     error // of scenario.yaml or run.json
}

// DefaultPath returns runs/TIME-NAME for a run that begins now, with a number
// behind it where that is taken.
func DefaultPath(name string, now time.Time) string {
	clean := regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(name, "-")
	base := filepath.Join("runs", now.Format("20060102-150405")+"-"+clean)
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
}

// Create makes the directory. One that has files in it is refused, so no run
// is ever written over another.
func Create(path string) (*Dir, error) {
	_, missing := os.Lstat(path)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("run directory %q is not empty: name another with --out", path)
	}
	return &Dir{
		Path:    path,
		made:    missing != nil,
		samples: newLines(filepath.Join(path, "samples.ndjson")),
		events:  newLines(filepath.Join(path, "events.ndjson")),
	}, nil
}

// Sample appends to samples.ndjson.
func (d *Dir) Sample(s scenarios.Sample) { d.samples.add(s) }

// Event appends to events.ndjson.
func (d *Dir) Event(e scenarios.Event) { d.events.add(e) }

// Scenario writes scenario.yaml.
func (d *Dir) Scenario(yaml []byte) {
	d.err = errors.Join(d.err, d.scenario(yaml))
}

func (d *Dir) scenario(yaml []byte) error {
	f, err := os.OpenFile(filepath.Join(d.Path, "scenario.yaml"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(yaml)
	return errors.Join(err, flush(f), f.Close())
}

// Result writes run.json: whole, or not at all.
func (d *Dir) Result(r *scenarios.Result) {
	d.err = errors.Join(d.err, d.result(r))
}

func (d *Dir) result(r *scenarios.Result) (err error) {
	f, err := os.CreateTemp(d.Path, "run.json.*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	err = errors.Join(JSON(f, r), f.Chmod(0o644), flush(f), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(d.Path, "run.json")); err != nil {
		return err
	}
	return flushDir(d.Path)
}

// Err returns what could not be written so far, nil if all was.
func (d *Dir) Err() error {
	if err := errors.Join(d.samples.failed(), d.events.failed(), d.err); err != nil {
		return fmt.Errorf("run directory %q is incomplete: %w", d.Path, err)
	}
	return nil
}

// Discard takes the files back, and the directory if Create made it: for a run
// that did not begin.
func (d *Dir) Discard() error {
	err := d.Close()
	for _, name := range []string{"scenario.yaml", "samples.ndjson", "events.ndjson"} {
		if e := os.Remove(filepath.Join(d.Path, name)); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if d.made {
		err = errors.Join(err, os.Remove(d.Path))
	}
	return err
}

// Close closes the files and returns Err.
func (d *Dir) Close() error {
	d.samples.close()
	d.events.close()
	return d.Err()
}
