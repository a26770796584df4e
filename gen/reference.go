package gen

import _ "embed"

//go:embed testdata/reference.yaml
var reference string

// Reference returns an annotated stream file that uses every key.
func Reference() string { return reference }
