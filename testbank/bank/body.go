package bank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Reference identifies an account by its IBAN or by the number of its card.
type Reference struct {
	IBAN      string `json:"iban,omitempty"`
	BBAN      string `json:"bban,omitempty"`
	PAN       string `json:"pan,omitempty"`
	MSISDN    string `json:"msisdn,omitempty"`
	MaskedPAN string `json:"maskedPan,omitempty"`
	Currency  string `json:"currency,omitempty"`
}

// Number returns the IBAN or the masked card number of the reference.
func (r Reference) Number() string {
	if r.IBAN != "" {
		return r.IBAN
	}
	return r.MaskedPAN
}

// transfer is one transfer as the standard represents it.
type transfer struct {
	EndToEnd        string    `json:"endToEndIdentification"`
	Amount          Amount    `json:"instructedAmount"`
	CreditorAccount Reference `json:"creditorAccount"`
	CreditorAgent   string    `json:"creditorAgent"`
	CreditorName    string    `json:"creditorName"`
	Remittance      string    `json:"remittanceInformationUnstructured"`
	Remittances     []string  `json:"remittanceInformationUnstructuredArray"`
	unusedMembers
}

// unusedMembers contains members of the standard that the bank accepts and does not use.
type unusedMembers struct {
	Instruction        any `json:"instructionIdentification"`
	DebtorName         any `json:"debtorName"`
	DebtorID           any `json:"debtorId"`
	UltimateDebtor     any `json:"ultimateDebtor"`
	CreditorAgentName  any `json:"creditorAgentName"`
	CreditorAddress    any `json:"creditorAddress"`
	CreditorID         any `json:"creditorId"`
	UltimateCreditor   any `json:"ultimateCreditor"`
	Purpose            any `json:"purposeCode"`
	ChargeBearer       any `json:"chargeBearer"`
	Structured         any `json:"remittanceInformationStructured"`
	StructuredArray    any `json:"remittanceInformationStructuredArray"`
	ExecutionTime      any `json:"requestedExecutionTime"`
	BatchBooking       any `json:"batchBookingPreferred"`
	CurrencyOfTransfer any `json:"currencyOfTransfer"`
	ExchangeRate       any `json:"exchangeRateInformation"`
	ServiceLevel       any `json:"serviceLevel"`
}

// paymentBody contains the members of the bodies of all payment services.
type paymentBody struct {
	transfer
	DebtorAccount *Reference `json:"debtorAccount"`
	Execution     string     `json:"requestedExecutionDate"`
	Payments      []transfer `json:"payments"`
	Start         string     `json:"startDate"`
	End           string     `json:"endDate"`
	Frequency     string     `json:"frequency"`
	Rule          string     `json:"executionRule"`
	Day           string     `json:"dayOfExecution"`
	Months        []string   `json:"monthsOfExecution"`
}

// DecodeBody decodes a JSON object. It refuses any other body, unknown members, and a member that
// an object has twice. The refusal names the place of the error, if that is known.
func DecodeBody(body []byte, into any) error {
	if !utf8.Valid(body) {
		return wrongFormat("", "the body is not UTF-8")
	}
	if trimmed := strings.TrimSpace(string(body)); !strings.HasPrefix(trimmed, "{") {
		return wrongFormat("", "the body has to be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return undecodable(err, len(body))
	}
	if _, end := d.Token(); !errors.Is(end, io.EOF) {
		return wrongFormat("", "text follows the JSON object")
	}
	if twice := repeated(json.NewDecoder(bytes.NewReader(body)), "", 0); twice != "" {
		return wrongFormat(twice, "the member appears twice, or contains too many levels")
	}
	return nil
}

// undecodable returns the refusal for an error of the decoder. size is the length of the body in
// bytes.
func undecodable(err error, size int) error {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		return wrongFormat(wrongType.Field, "the value has the wrong type: "+wrongType.Value)
	case errors.As(err, &syntax):
		return wrongFormat("", fmt.Sprintf("the body is not JSON, at byte %d", syntax.Offset))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wrongFormat("", fmt.Sprintf("the body is not JSON, at byte %d", size))
	}
	if _, name, unknown := strings.Cut(err.Error(), "unknown field "); unknown {
		return wrongFormat(strings.Trim(name, `"`), "the standard has no such member here")
	}
	return wrongFormat("", "the body cannot be read")
}

// maxLevels limits the nesting of objects and lists. The bodies of the standard have five levels at
// most.
const maxLevels = 32

// repeated returns the path of the first member that an object has twice, or of the first object or
// list that is nested more than maxLevels deep. It returns an empty path if there is none. The text
// must be JSON. Names that differ only in capital letters are the same member, as for the decoder.
func repeated(d *json.Decoder, path string, level int) string {
	token, _ := d.Token()
	kind, opens := token.(json.Delim)
	if !opens {
		return ""
	}
	if level == maxLevels {
		return path
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		member := memberPath(d, kind, path, i)
		if seen[strings.ToLower(member)] {
			return member
		}
		seen[strings.ToLower(member)] = true
		if found := repeated(d, member, level+1); found != "" {
			return found
		}
	}
	_, _ = d.Token() // the end of the object or list
	return ""
}

// memberPath returns the path of the next member of an object, or of the next item of a list.
func memberPath(d *json.Decoder, kind json.Delim, path string, item int) string {
	if kind == '[' {
		return fmt.Sprintf("%s[%d]", path, item)
	}
	name, _ := d.Token()
	return strings.TrimPrefix(fmt.Sprint(path, ".", name), ".")
}

var bicPattern = regexp.MustCompile(`^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$`)

// These are the maximum lengths of texts, in characters.
const (
	maxName       = 70
	maxEndToEnd   = 35
	maxRemittance = 140
)

// line checks a transfer against the standard and the limits of the profile. path is the path of
// the transfer's object. path ends with a dot or is empty.
func (p Profile) line(t transfer, path string) (Line, error) {
	amount, err := parseAmount(t.Amount, path+"instructedAmount")
	if err != nil {
		return Line{}, err
	}
	text := t.Remittance
	if text == "" {
		text = strings.Join(t.Remittances, " ")
	}
	wrong := func(name, text string) *Refusal { return wrongFormat(path+name, text) }
	err = firstBroken(
		rule{amount < p.Min || amount > p.Max, wrong("instructedAmount", "the bank takes amounts from "+Decimal(p.Min)+" to "+Decimal(p.Max))},
		rule{t.CreditorName == "", wrong("creditorName", "a creditor has a name")},
		rule{utf8.RuneCountInString(t.CreditorName) > maxName, wrong("creditorName", "a name has at most 70 characters")},
		rule{t.CreditorAccount.IBAN == "", wrong("creditorAccount.iban", "a creditor has an IBAN")},
		rule{!validIBAN(t.CreditorAccount.IBAN), wrong("creditorAccount.iban", "the check digits are not those of an IBAN")},
		rule{t.CreditorAgent != "" && !bicPattern.MatchString(t.CreditorAgent), wrong("creditorAgent", "this is not a BIC")},
		rule{utf8.RuneCountInString(t.EndToEnd) > maxEndToEnd, wrong("endToEndIdentification", "a reference has at most 35 characters")},
		rule{utf8.RuneCountInString(text) > maxRemittance, wrong("remittanceInformationUnstructured", "a text has at most 140 characters")},
	)
	if err != nil {
		return Line{}, err
	}
	return Line{EndToEnd: t.EndToEnd, Amount: amount, Creditor: t.CreditorName, IBAN: t.CreditorAccount.IBAN, Text: text}, nil
}
