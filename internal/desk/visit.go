package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/httpd"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// Visit is one request on its way to a page.
type Visit struct {
	context.Context
	Writer  http.ResponseWriter
	Request *http.Request
	// Who is signed in.
	Who admission.Visitor
	// Domain is the tenant that the address names, Zone that of its times.
	Domain passerelle.Domain
	Zone   *time.Location
	// Numbers are those of the address, in its order.
	Numbers []int64
	// Problem is what is wrong with the form that was sent.
	Problem string
	// Tabs are the pages beside this one; none for most.
	Tabs []Tab
	// Reload is after how long the page is to be shown anew, zero for never.
	Reload time.Duration
	// LeadTo is where the page leads by itself, empty for nowhere.
	LeadTo string

	desk *Desk
	// secure is set where people come over https.
	secure bool
}

func (v *Visit) takeForm(room int64) error {
	if web.Forged(v.Request) {
		return ErrForeign
	}
	v.Request.Body = httpd.Bounded(v.Writer, v.Request.Body, room)
	err := v.Request.ParseForm()
	if err == nil {
		err = v.Request.ParseMultipartForm(room) // all of it in memory
	}
	if err == nil || errors.Is(err, http.ErrNotMultipart) {
		_, err = io.Copy(io.Discard, v.Request.Body) // who sends on is not let in yet
	}
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, passerelle.Unavailable):
		return err // there is no room for it
	case errors.As(err, &over):
		return errTooLarge
	}
	return ErrForm
}

// Field is a value of the form.
func (v *Visit) Field(name string) string { return v.Request.PostFormValue(name) }

// Lines is a value of the form that may have several lines. Browsers end each of
// them with two characters, whatever was typed or pasted.
func (v *Visit) Lines(name string) string { return strings.ReplaceAll(v.Field(name), "\r\n", "\n") }

// File is what a form carries in a field for a file, nothing when it carries none.
func (v *Visit) File(name string) ([]byte, error) {
	file, _, err := v.Request.FormFile(name)
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return nil, nil
	}
	if err != nil {
		return nil, ErrForm
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read the file of field %s: %w", name, err)
	}
	return content, nil
}

// Confirmed wants the number of what is to be deleted, typed by hand.
func (v *Visit) Confirmed(id int64) error {
	if strings.TrimSpace(v.Field("number")) != strconv.FormatInt(id, 10) {
		return passerelle.InvalidField("number", "must be %d, the number of what is to be deleted; nothing was", id)
	}
	return nil
}

// Now is the present instant of the domain.
func (v *Visit) Now() time.Time { return v.Domain.Clock.Now(v.desk.Now()) }

// Time writes an instant of the domain.
func (v *Visit) Time(at time.Time) string { return passerelle.FormatDateTime(at, v.Zone) }

// Moment writes an instant of the domain, empty for none.
func (v *Visit) Moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return v.Time(*at)
}

// Path is an address in the domain.
func (v *Visit) Path(format string, args ...any) string {
	return fmt.Sprintf("%sdomains/%d", Root, v.Domain.ID) + fmt.Sprintf(format, args...)
}

// By names the operator in records of changes.
func (v *Visit) By() string { return fmt.Sprintf("operator %d", v.Who.Operator.ID) }

// Record is an act of the operator on something in the domain, to be put on record
// where it becomes true.
func (v *Visit) Record(act, subject string, id int64) store.Audit {
	entry := v.desk.Admission.Entry(v.Who, v.desk.RequestID(v), act)
	entry.Domain, entry.Subject, entry.SubjectID = v.Domain.ID, subject, id
	return entry
}

// ActReveal is to look at personal data, as the audit log names it.
const ActReveal = "look at personal data"

// RecordNow puts an act on record that changes nothing, before it is done.
func (v *Visit) RecordNow(act, subject string, id int64) error {
	entry := v.Record(act, subject, id)
	if err := v.desk.DB.Write(v, func(tx *store.Tx) error { return tx.Audit(entry) }); err != nil {
		return fmt.Errorf("record the act %q on %s %d: %w", act, subject, id, err)
	}
	return nil
}

// After leads on to an address when an act is done, and shows a page again, with
// what is wrong with the form, when it is refused.
func (v *Visit) After(err error, address string, again func(*Visit) error) error {
	if known, is := Told(err); is {
		v.Problem = known
		return again(v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.Writer, address)
	return nil
}

// Certain reports whether a second factor says who the operator is, where money
// and data are those of real people.
func (v *Visit) Certain() bool { return v.Who.Twice() || v.Domain.Kind == passerelle.Sandbox }

// MaySetUp reports whether the operator may change how the domain is set up.
func (v *Visit) MaySetUp() bool {
	return (v.Who.May(admission.SetUp) || v.Domain.Kind == passerelle.Sandbox && v.Who.May(admission.SetUpSandbox)) && v.Certain()
}

// MayReveal asks for a second factor where the data is that of real people.
func (v *Visit) MayReveal() bool { return v.Who.May(admission.Reveal) && v.Certain() }
