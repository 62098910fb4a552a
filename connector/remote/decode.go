package remote

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/govalues/decimal"

	"passerelle"
)

// errMalformed means that a body is not valid JSON of the protocol. Its messages name fields but
// contain no values.
var errMalformed = errors.New("the body does not follow the protocol")

// lenient ignores unknown members, because a later version of a program may send new ones. strict
// fails for unknown members, to detect spelling mistakes.
var (
	lenient = json.JoinOptions(json.MatchCaseInsensitiveNames(true), json.WithUnmarshalers(readers))
	strict  = json.JoinOptions(lenient, json.RejectUnknownMembers(true))
)

// decode reads a body. Names match regardless of their case and underscores.
func decode(body []byte, into any, how json.Options) error {
	err := json.Unmarshal(body, into, how)
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	switch {
	case !errors.As(err, &wrong):
		return fmt.Errorf("%w: it is not valid JSON", errMalformed)
	case wrong.JSONPointer == "":
		return fmt.Errorf("%w: it must be a JSON object", errMalformed)
	}
	return fmt.Errorf("%w: %s%s", errMalformed, wrong.JSONPointer, reason(wrong))
}

// reason describes the fault of a member, without text from the body.
func reason(err error) string {
	for _, one := range []error{json.ErrUnknownName, errNoValue, errNotText} {
		if errors.Is(err, one) {
			return ": " + one.Error()
		}
	}
	return " has the wrong form"
}

var (
	errNoValue = errors.New("a transaction needs a value")
	errNotText = errors.New("amounts are decimal numbers in strings, such as \"-12.50\"")
)

// readers decode the types whose JSON does not follow from their Go type.
var readers = json.JoinUnmarshalers(
	json.UnmarshalFromFunc(readMoney), json.UnmarshalFromFunc(readDuration),
	json.UnmarshalFromFunc(readDecimal), json.UnmarshalFromFunc(readTransaction),
)

func readMoney(in *jsontext.Decoder, into *passerelle.Money) error {
	var m money
	err := json.UnmarshalDecode(in, &m)
	if err == nil {
		*into, err = passerelle.ParseMoney("amount", m.Value, m.Currency)
	}
	return err
}

func readDuration(in *jsontext.Decoder, into *time.Duration) error {
	var text string
	err := json.UnmarshalDecode(in, &text)
	if err == nil {
		*into, err = time.ParseDuration(text)
	}
	return err
}

// readDecimal accepts only strings, because most languages read a JSON number as a float.
func readDecimal(in *jsontext.Decoder, into *decimal.Decimal) error {
	token, err := in.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return errNotText
	}
	if *into, err = decimal.Parse(token.String()); err != nil {
		return errNotText
	}
	return nil
}

// transaction distinguishes a missing value from zero. In a TransactionDetails, a missing value is
// zero.
type transaction struct {
	passerelle.TransactionDetails
	Value *decimal.Decimal
}

func readTransaction(in *jsontext.Decoder, into *passerelle.TransactionDetails) error {
	var t transaction
	if err := json.UnmarshalDecode(in, &t); err != nil {
		return err
	}
	if t.Value == nil {
		return errNoValue
	}
	*into, into.Value = t.TransactionDetails, *t.Value
	return nil
}
