package filter

import (
	"fmt"
	"strings"
)

// token is a word or a sign of an expression.
type token struct {
	text string
	at   int // byte of the expression
	word bool
}

// signs are the longest first.
var signs = []string{"&&", "||", "!=", "==", ">=", "<=", "(", ")", "[", "]", "!", "=", ">", "<", "&", "|"}

// lex cuts an expression into tokens.
func lex(s string) (list []token, _ error) {
	for at := 0; at < len(s); {
		if strings.ContainsRune(" \t\r\n", rune(s[at])) {
			at++
			continue
		}
		n := 0
		for at+n < len(s) && inWord(s[at+n]) {
			n++
		}
		if n > 0 {
			list = append(list, token{strings.TrimPrefix(s[at:at+n], `\`), at, true})
			at += n
			continue
		}
		for _, sign := range signs {
			if strings.HasPrefix(s[at:], sign) {
				n = len(sign)
				break
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("filter %q: %q at byte %d is none of its signs", s, s[at:at+1], at)
		}
		list = append(list, token{s[at : at+n], at, false})
		at += n
	}
	return list, nil
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(`.:/-_\`, c) >= 0
}
