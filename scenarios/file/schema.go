package file

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON schema of scenario files (draft 2020-12), for editors that check
// and complete. Load is stricter: it knows which names stand where.
func Schema() []byte { return schema }
