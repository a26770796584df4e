package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// JSON is the format of a JSON text, or several in a row: every number, with the
// names and indices on the way to it joined by dots, in the order of the text.
// true and false are the levels 1 and 0; a string of nothing but decimal digits
// is a number, since 64 bits are written so (RFC 8259 section 6).
//
//	{"rx": {"drops": 7}, "queues": [{"len": 3}]}     rx.drops 7, queues.0.len 3
func JSON(text []byte) ([]Counter, error) {
	var f found
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		err := jsonValue(&f, dec, "", 0)
		if err == io.EOF {
			return f.result("a number in the JSON")
		}
		if err != nil {
			return nil, fmt.Errorf("JSON at byte %d: %w", dec.InputOffset(), err)
		}
	}
}

// jsonDepth bounds the nesting, and with it the stack.
const jsonDepth = 100

// jsonValue reads one value. io.EOF is the end before it.
func jsonValue(f *found, dec *json.Decoder, name string, depth int) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if depth > jsonDepth {
		return fmt.Errorf("nested more than %d deep", jsonDepth)
	}
	var c Counter
	ok := true
	switch v := token.(type) {
	case json.Delim:
		return unfinished(jsonMembers(f, dec, name, depth, v == '{'))
	case json.Number:
		c, ok = number(v.String())
	case bool:
		c.Level = true
		if v {
			c.Value = 1
		}
	case string:
		c.Value, err = strconv.ParseUint(v, 10, 64)
		ok = err == nil
	default: // null
		ok = false
	}
	if ok {
		c.Name = name
		if name == "" {
			c.Name = "value" // a number is a JSON text too
		}
		f.add(c)
	}
	return nil
}

func jsonMembers(f *found, dec *json.Decoder, name string, depth int, object bool) error {
	for i := 0; dec.More(); i++ {
		member := strconv.Itoa(i)
		if object {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			member, _ = token.(string) // the decoder allows nothing else
		}
		if name != "" {
			member = name + "." + member
		}
		if err := jsonValue(f, dec, member, depth+1); err != nil {
			return err
		}
	}
	_, err := dec.Token() // the closing bracket
	return err
}

// unfinished makes an end of the text within a value the error that it is.
func unfinished(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
