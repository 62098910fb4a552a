package payment

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"passerelle"
)

// These are the limits of a bank's report. Lengths are in characters unless a limit says otherwise.
// Longer texts are cut, unless the comment of a limit says otherwise.
const (
	// MaxDescription limits descriptions, remarks, texts of notes, and labels of fields.
	MaxDescription = 1000
	// MaxBankWord limits a bank's own status word.
	MaxBankWord = 100
	// MaxBankRequests limits the text that lists the calls to a bank.
	MaxBankRequests = 500
	// MaxBankPaymentID limits a bank's id of a payment.
	MaxBankPaymentID = 255
	// MaxReportFields limits the number of fields that a bank may request from a payer at once.
	MaxReportFields = 100
	// MaxOccurrences limits the executions of a periodic order. It is enough for daily executions
	// over a century.
	MaxOccurrences = 36525
	// MaxFieldName limits the name of a field. A longer name is refused, because the API accepts no
	// answer with such a name.
	MaxFieldName = 255
	// MaxFieldValue limits the value and the pattern of a field, and the value of each choice.
	// Longer texts are refused, because a shortened text would have a different meaning.
	MaxFieldValue = 1000
	// MaxFieldImage is the longest data URL of a picture, in bytes. A longer picture is left out.
	MaxFieldImage = 128 << 10
	// MaxValidateURI is the longest address of a bank's page, in bytes. Longer addresses are
	// refused.
	MaxValidateURI = 8192
)

// ErrSenseless is returned by Apply for a report that cannot be understood. The outcome of the
// payment stays unknown.
var ErrSenseless = errors.New("report makes no sense")

// fault returns the reason why a report about the payment is invalid, or "". A report that is only
// partly understood is refused as a whole, because ignoring the rest could change what happens to
// money.
func (r Report) fault(p *Payment) string {
	if fault := r.wordFault(); fault != "" {
		return fault
	}
	switch {
	case r.ValidateURI != "" && !reachable(r.ValidateURI):
		return "the address to validate at is not an http(s) URL"
	case r.leadsNowhere():
		return "a redirect without an address"
	}
	for _, line := range r.Lines {
		if fault := line.fault(len(p.Instructions)); fault != "" {
			return fault
		}
	}
	return cmp.Or(occurrencesFault(r.Occurrences, p.DateType()), fieldsFault(r.Fields))
}

// wordFault refuses words that are not in the lists of their types.
func (r Report) wordFault() string {
	return cmp.Or(
		unlisted("status", string(r.Status), r.Status.Values()),
		unlisted("action", string(r.Action), append(r.Action.Values(), "")),
		unlisted("actor", string(r.By), append(words(Actors()), "")),
		unlisted("cancellation", string(r.Cancellation), append(r.Cancellation.Values(), "")),
	)
}

// unlisted returns a fault unless a word is in the list. An empty word in the list means that the
// word may be missing.
func unlisted(what, word string, list []string) string {
	if slices.Contains(list, word) {
		return ""
	}
	listed := slices.DeleteFunc(list, func(one string) bool { return one == "" })
	return fmt.Sprintf("%s %.40q is not one of %s", what, word, strings.Join(listed, ", "))
}

// leadsNowhere reports whether the payer has to go to an address that the report lacks.
func (r Report) leadsNowhere() bool {
	cancelling := r.Cancellation == CancellationAwaiting
	going := r.Action == Redirect || (cancelling && r.Action == "")
	return going && r.ValidateURI == "" && (r.Status == Awaiting || cancelling)
}

// occurrencesFault refuses executions of a payment that is not periodic, too many executions, and
// days that cannot be stored. It also refuses executions without a day or out of order, because
// they cannot be matched with earlier reports.
func occurrencesFault(all []Occurrence, dates DateType) string {
	switch {
	case len(all) > 0 && dates != Periodic:
		return fmt.Sprintf("%d occurrences of a payment that is not periodic", len(all))
	case len(all) > MaxOccurrences:
		return fmt.Sprintf("%d occurrences", len(all))
	case !slices.IsSortedFunc(all, func(a, b Occurrence) int { return a.Day.Compare(b.Day) }):
		return "occurrences that are not in the order of their days"
	case len(all) > 0 && all[0].Day.IsZero():
		return "an occurrence without a day"
	case len(all) > 0 && !(storable(all[0].Day) && storable(all[len(all)-1].Day)):
		return "an occurrence outside the calendar"
	}
	return ""
}

// storable reports whether a day can be stored and read again: the year has four digits. The zero
// date is storable.
func storable(day passerelle.Date) bool {
	_, err := passerelle.ParseDate("day", day.String())
	return day.IsZero() || err == nil
}

func (l Line) fault(lines int) string {
	switch {
	case l.Position < 0 || l.Position >= lines:
		return fmt.Sprintf("line %d of %d", l.Position, lines)
	case !storable(l.Executed):
		return fmt.Sprintf("line %d executed on a day outside the calendar", l.Position)
	}
	return unlisted(fmt.Sprintf("line %d: state", l.Position), string(l.State), l.State.Values())
}

func fieldsFault(fields []Field) string {
	if len(fields) > MaxReportFields {
		return fmt.Sprintf("%d fields to fill", len(fields))
	}
	names := map[string]bool{}
	for _, field := range fields {
		if fault := field.fault(); fault != "" {
			return fault
		}
		if names[field.Name] {
			return fmt.Sprintf("the field %.40q twice", field.Name)
		}
		names[field.Name] = true
	}
	return ""
}

func (f Field) fault() string {
	switch {
	case f.Name == "" || passerelle.CheckText("name", f.Name, MaxFieldName) != nil:
		return fmt.Sprintf("a field named %.40q", f.Name)
	case !slices.Contains(FieldTypes(), f.Type):
		return unlisted(fmt.Sprintf("field %.40q: type", f.Name), f.Type, FieldTypes())
	case passerelle.CheckText("regex", f.Regex, MaxFieldValue) != nil:
		return fmt.Sprintf("field %.40q with an unusable pattern", f.Name)
	case f.Type == "list" && f.Required && !slices.ContainsFunc(f.Values, func(v FieldValue) bool { return v.Value != "" }):
		return fmt.Sprintf("required field %.40q without a choice", f.Name)
	}
	for _, value := range f.Values {
		if passerelle.CheckText("value", value.Value, MaxFieldValue) != nil {
			return fmt.Sprintf("field %.40q with an unusable choice", f.Name)
		}
	}
	return ""
}

// reachable accepts addresses to which a payer's browser may be sent. Above all, it refuses
// addresses that a browser would execute as a script.
func reachable(address string) bool {
	if len(address) > MaxValidateURI || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && known(u.Scheme, "http", "https") && u.Hostname() != ""
}

func known[T comparable](word T, words ...T) bool { return slices.Contains(words, word) }

// tidy cuts the texts of a report to their limits. It removes NUL and replaces broken UTF-8,
// because PostgreSQL refuses both. It keeps markup, because pages escape it. It also replaces
// unknown error codes, and fills in By and the action of a cancellation.
func (r Report) tidy() Report {
	r.Raw = clean(r.Raw, MaxBankWord)
	if r.Code != "" && !r.Code.known() {
		r.Raw = clean(strings.TrimSpace(r.Raw+" "+string(r.Code)), MaxBankWord)
	}
	why := r.refusal().tidy()
	r.Code, r.Description = why.Code, why.Description
	r.Remark = clean(r.Remark, MaxDescription)
	r.Requests = clean(r.Requests, MaxBankRequests)
	r.BankPaymentID = clean(r.BankPaymentID, MaxBankPaymentID)
	if r.By == "" {
		r.By = ByBank
	}
	if r.Cancellation == CancellationAwaiting && r.Action == "" {
		r.Action = Redirect
	}
	r.Lines, r.Fields, r.Occurrences = slices.Clone(r.Lines), slices.Clone(r.Fields), slices.Clone(r.Occurrences)
	for i := range r.Lines {
		r.Lines[i] = r.Lines[i].tidy()
	}
	for i := range r.Fields {
		r.Fields[i] = r.Fields[i].tidy()
	}
	for i, one := range r.Occurrences {
		if one.Code != "" && !one.Code.known() {
			r.Occurrences[i].Code = NoSpecifiedReason
		}
	}
	return r
}

// tidy keeps a reason only for rejected instructions, and a day of execution only for done
// instructions. If the reason has no known code and no description, the bank's code becomes the
// description.
func (l Line) tidy() Line {
	if l.State != InstructionDone {
		l.Executed = passerelle.Date{}
	}
	if l.State != InstructionRejected {
		l.Code, l.Description = "", ""
		return l
	}
	if l.Description == "" && !l.Code.known() {
		l.Description = string(l.Code)
	}
	why := (&Refusal{Code: l.Code, Description: l.Description}).tidy()
	l.Code, l.Description = why.Code, why.Description
	return l
}

// imageForm matches a data URL of a picture that browsers show but do not execute.
var imageForm = regexp.MustCompile(`^data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/]+=*$`)

// Picture returns the address when it is the data URL of a picture that a page may show: PNG, JPEG
// or GIF, at most MaxFieldImage bytes. It returns "" for any other text.
func Picture(address string) string {
	if len(address) > MaxFieldImage || !imageForm.MatchString(address) {
		return ""
	}
	return address
}

func (f Field) tidy() Field {
	f.Label = clean(f.Label, MaxDescription)
	f.Image = Picture(f.Image)
	f.Values = slices.Clone(f.Values)
	for i := range f.Values {
		f.Values[i].Label = clean(f.Values[i].Label, MaxDescription)
	}
	return f
}

// tidy replaces a code that clients do not know, and cuts the description.
func (r *Refusal) tidy() *Refusal {
	code := r.Code
	if !code.known() {
		code = NoSpecifiedReason
	}
	return &Refusal{Code: code, Description: clean(r.Description, MaxDescription)}
}

func (c ErrorCode) known() bool { return slices.Contains(c.Values(), string(c)) }

// clean makes text storable: valid UTF-8 without NUL, at most limit characters.
func clean(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	for i := range text {
		if limit == 0 {
			return text[:i]
		}
		limit--
	}
	return text
}
