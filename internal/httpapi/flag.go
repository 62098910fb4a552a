package httpapi

import (
	"reflect"
	"strings"
)

// flagWords lists the words for a boolean in a query or a form, in lower case. In a query, the empty
// word means a flag without a value: "?all" is true. For a field of a body, it is refused in a form
// or after an equals sign, because programs write missing values in this way: "confirm=" must not
// confirm a payment.
var flagWords = map[string]bool{"": true, "true": true, "1": true, "false": false, "0": false}

// setFlag reads a boolean. JSON has true and false. A query or a form has flag words.
func setFlag(b *binding, v reflect.Value, n *node) error {
	if n.shape == boolean {
		v.SetBool(n.text == "true")
		return nil
	}
	if n.shape != loose {
		return b.path.wrong("a boolean", n)
	}
	value, ok := flagWords[strings.ToLower(n.text)]
	switch {
	case n.assigned && (!ok || n.text == ""):
		return b.path.invalid("must be true, false, 1 or 0")
	case !ok:
		return b.path.invalid("must be true, false, 1 or 0; a flag without a value is true")
	}
	v.SetBool(value)
	return nil
}

// All contains the parameter all. It is for inputs of endpoints that exclude disabled or deleted
// items by default.
type All struct {
	WithDisabled bool `query:"all" doc:"include disabled and deleted items"`
}
