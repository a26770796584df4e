package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"squall/scenarios"
)

// JSON writes a result as run.json has it; a Partial or a Comparison likewise.
func JSON[T scenarios.Result | Partial | Comparison](w io.Writer, r *T) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// ErrNoResult: a directory has no run.json. LoadPartial says what is known of its run.
var ErrNoResult = errors.New("no run.json")

// Load reads run.json of a run directory. One that holds none (ErrNoResult) belongs to
// a run that did not come to its end.
func Load(dir string) (*scenarios.Result, error) {
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("run directory %q: %w: it is none, or its run did not come to its end", dir, ErrNoResult)
	}
	if err != nil {
		return nil, fmt.Errorf("run directory %q: %w", dir, err)
	}
	var r scenarios.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("run directory %q: run.json: %w", dir, err)
	}
	if r.Schema != scenarios.Schema {
		return nil, fmt.Errorf("run directory %q: run.json has schema %q, need %q", dir, r.Schema, scenarios.Schema)
	}
	return &r, nil
}
