package page

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
	"passerelle/internal/httpd"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// Context has a request for a page, and the data that the page needs.
type Context struct {
	context.Context
	Writer  http.ResponseWriter
	Request *http.Request
	// Who identifies the signed-in operator.
	Who operators.SignedIn
	// Domain is the domain in the address, and Zone is its time zone.
	Domain passerelle.Domain
	Zone   *time.Location
	// Numbers lists the numbers in the address, in order.
	Numbers []int64
	// Problem describes the mistake in the submitted form. Wrong is the name of the field with the
	// mistake in messages, or empty.
	Problem, Wrong string
	// Query is the search text. It is empty on most pages.
	Query string
	// Tabs lists links to related pages. It is empty on most pages.
	Tabs []Tab
	// Reload is the time after which the page reloads. Zero means that it does not reload.
	Reload time.Duration
	// LeadTo is the address to which the page redirects by itself. It is empty on most pages.
	LeadTo string

	handler *Handler
	// On a page outside a domain, last is the domain that the operator viewed last, or nil.
	last *passerelle.Domain
	// clocks records by which clocks a page of a sandbox shows times.
	clocks clocks
	// host is the domain of the host in the address.
	host passerelle.Domain
	// secure is set when people reach the console over https.
	secure bool
}

func (pc *Context) takeForm(room int64) error {
	if web.Forged(pc.Request) {
		return ErrForeign
	}
	pc.Request.Body = httpd.Bounded(pc.Writer, pc.Request.Body, room)
	err := pc.Request.ParseForm()
	if err == nil {
		err = pc.Request.ParseMultipartForm(room) // this keeps the complete form in memory
	}
	if err == nil || errors.Is(err, http.ErrNotMultipart) {
		_, err = io.Copy(io.Discard, pc.Request.Body) // the handler runs only after the complete body has arrived
	}
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, passerelle.Unavailable):
		return err // the service has no memory for the form now
	case errors.As(err, &over):
		return errTooLarge
	}
	return ErrForm
}

// Field returns the value of a field of the form.
func (pc *Context) Field(name string) string { return pc.Request.PostFormValue(name) }

// Lines returns the value of a field with several lines. Browsers send a line break as two
// characters, and Lines replaces them with one.
func (pc *Context) Lines(name string) string { return strings.ReplaceAll(pc.Field(name), "\r\n", "\n") }

// File returns the content of a file field, or nil when the form contains no file.
func (pc *Context) File(name string) ([]byte, error) {
	file, _, err := pc.Request.FormFile(name)
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

// Confirmed fails unless the operator has typed the number of the object to delete.
func (pc *Context) Confirmed(id int64) error {
	if strings.TrimSpace(pc.Field("number")) != strconv.FormatInt(id, 10) {
		return passerelle.InvalidField("number", "must be %d, the number of the object that you want to delete; nothing was deleted", id)
	}
	return nil
}

// Now returns the current time on the domain's clock.
func (pc *Context) Now() time.Time { return pc.Domain.Clock.Now(pc.handler.Now()) }

// Time formats an instant in the domain's time zone.
func (pc *Context) Time(at time.Time) string { return passerelle.FormatDateTime(at, pc.Zone) }

// Moment formats an instant like Time. It returns an empty text for nil.
func (pc *Context) Moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return pc.Time(*at)
}

// Path returns an address below the path of the domain.
func (pc *Context) Path(format string, args ...any) string {
	return pathOf(pc.Domain) + fmt.Sprintf(format, args...)
}

func pathOf(d passerelle.Domain) string { return fmt.Sprintf("%sdomains/%d", Root, d.ID) }

// By returns the text that names the operator in records of changes.
func (pc *Context) By() string { return fmt.Sprintf("operator %d", pc.Who.Operator.ID) }

// Record returns the audit entry for an operator's act on an object of the domain. The transaction
// that performs the act must store this entry.
func (pc *Context) Record(act, subject string, id int64) store.Audit {
	entry := pc.handler.Operators.Entry(pc.Who, pc.handler.RequestID(pc), act)
	entry.Domain, entry.Subject, entry.SubjectID = pc.Domain.ID, subject, id
	return entry
}

// ActReveal is the name in the audit log for viewing personal data.
const ActReveal = "look at personal data"

// RecordNow records an act that changes nothing. The caller does the act afterwards.
func (pc *Context) RecordNow(act, subject string, id int64) error {
	entry := pc.Record(act, subject, id)
	if err := pc.handler.DB.Write(pc, func(tx *store.Tx) error { return tx.Audit(entry) }); err != nil {
		return fmt.Errorf("record the act %q on %s %d: %w", act, subject, id, err)
	}
	return nil
}

// After ends a request that did an act. If err is nil, After redirects to the page at `address`,
// which shows the confirmation `done`. If err has a message for the operator, After calls the
// function `again`, which shows the former page with this message. After returns every other error.
func (pc *Context) After(err error, done, address string, again func(*Context) error) error {
	if pc.Reports(err) {
		return again(pc)
	}
	if err != nil {
		return err
	}
	return pc.Lead(address, done)
}

// doneCookie contains the confirmation that the next page shows.
const doneCookie = "console_done"

// Lead redirects to an address. The page at that address shows a confirmation.
func (pc *Context) Lead(address, done string) error {
	if err := pc.SetCookie(doneCookie, done); err != nil {
		return fmt.Errorf("store the confirmation for the next page: %w", err)
	}
	web.Redirect(pc.Writer, address)
	return nil
}

// failedCookie contains the failure that the next page shows.
const failedCookie = "console_failed"

// LeadFailed redirects to an address like Lead, after an act without success. The page at that
// address shows the failure.
func (pc *Context) LeadFailed(address, failure string) error {
	if err := pc.SetCookie(failedCookie, failure); err != nil {
		return fmt.Errorf("store the failure for the next page: %w", err)
	}
	web.Redirect(pc.Writer, address)
	return nil
}

// takeOnce returns the text that a cookie has about the last act, and removes the cookie. Only one
// page therefore shows the text.
func (pc *Context) takeOnce(cookie string) string {
	if pc.Request.Method != http.MethodGet || pc.Part() {
		return ""
	}
	text, is := pc.Cookie(cookie)
	if is {
		web.Cookie{Name: cookie, Path: Root, Strict: true, Secure: pc.secure}.Forget(pc.Writer)
	}
	return text
}

// secretCookie contains a new secret, and the address of the page that shows the secret.
const (
	secretCookie = "console_secret"
	secretLife   = 5 * time.Minute
)

// newSecret is the content of secretCookie.
type newSecret struct {
	Address, Secret string
	Session         int64
	Until           time.Time
}

// LeadToSecret redirects to an address. The next view of the page at that address shows the secret,
// and all later views do not. Going back or reloading repeats no act.
func (pc *Context) LeadToSecret(address, secret string) error {
	cookie := web.Cookie{Name: secretCookie, Path: Root, Strict: true, Secure: pc.secure, Life: secretLife}
	if err := pc.handler.sealer.Set(pc.Writer, cookie, newSecret{address, secret, pc.Who.ID, pc.handler.Now().Add(secretLife)}); err != nil {
		return fmt.Errorf("keep the secret that the next page shows: %w", err)
	}
	web.Redirect(pc.Writer, address)
	return nil
}

// TakeSecret returns the secret that this page shows once, and removes it. It returns an empty text
// without such a secret, for another session, and after secretLife.
func (pc *Context) TakeSecret() string {
	var kept newSecret
	if pc.Request.Method != http.MethodGet || pc.Part() || pc.handler.sealer.Read(pc.Request, secretCookie, &kept) != nil || kept.Address != pc.Request.URL.Path || kept.Session != pc.Who.ID || pc.handler.Now().After(kept.Until) {
		return ""
	}
	web.Cookie{Name: secretCookie, Path: Root, Strict: true, Secure: pc.secure}.Forget(pc.Writer)
	return kept.Secret
}

// Certain reports whether the operator signed in with a second factor. It always returns true in a
// sandbox, where money and data are not real.
func (pc *Context) Certain() bool {
	return pc.Who.HasSecondFactor() || pc.Domain.Kind == passerelle.Sandbox
}

// MaySetUp reports whether the operator may change the domain's settings.
func (pc *Context) MaySetUp() bool {
	return (pc.Who.May(operators.SetUp) || pc.Domain.Kind == passerelle.Sandbox && pc.Who.May(operators.SetUpSandbox)) && pc.Certain()
}

// MayReveal reports whether the operator may see personal data. Data of real people also requires a
// second factor.
func (pc *Context) MayReveal() bool { return pc.Who.May(operators.Reveal) && pc.Certain() }
