package gen

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestDocs compiles every stream file that the documentation shows.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/streams.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("docs/streams.md shows no stream file")
	}
	for i, b := range blocks {
		specs, err := Load(fmt.Sprintf("streams.md#%d", i+1), b[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := Compile(specs, Target{FirstStream: 1}); err != nil {
			t.Error(err)
		}
	}
}
