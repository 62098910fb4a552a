package access

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// A token that is not signed has the form psl_<kind>_<48 hex digits><8 hex digits>. Scanners and
// support recognise it by its prefix. The last eight digits are a checksum, by which the service
// recognises a mistyped token without a query.

var tokenPrefix = map[TokenKind]string{
	UserToken:    "psl_usr_",
	CodeToken:    "psl_cod_",
	ServiceToken: "psl_svc_",
	PaymentToken: "psl_pay_",
	ConfigToken:  "psl_cfg_",
	UsersToken:   "psl_uss_",
}

const (
	randomBytes = 24
	checkDigits = 8
)

func mint(kind TokenKind) string {
	body := tokenPrefix[kind] + randomHex(randomBytes)
	return body + checksum(body)
}

func checksum(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// wellFormed returns the kind of a token with a correct checksum.
func wellFormed(text string) (TokenKind, bool) {
	for kind, prefix := range tokenPrefix {
		if !strings.HasPrefix(text, prefix) {
			continue
		}
		cut := len(text) - checkDigits
		return kind, len(text) == len(prefix)+2*randomBytes+checkDigits && checksum(text[:cut]) == text[cut:]
	}
	return "", false
}
