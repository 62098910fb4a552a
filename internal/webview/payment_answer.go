package webview

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/httpd"
	"passerelle/internal/initiation"
	"passerelle/internal/web"
	"passerelle/internal/webview/question"
	"passerelle/payment"
)

// maxForm is larger, in bytes, than any form without files on these pages.
const maxForm = 64 << 10

// paymentActions has the functions of the forms about a payment. The key is the value of a form's
// field "step".
var paymentActions = map[string]func(*Webview, *pageContext, *payerSession, url.Values) error{
	"":       (*Webview).pay,
	"fields": (*Webview).fill,
	"resume": (*Webview).approved,
	"psu":    (*Webview).decide,
	"cancel": (*Webview).cancel,
}

// submit handles a submitted form. The payment's page shows the result.
func (w *Webview) submit(pc *pageContext) error {
	if web.Forged(pc.request) {
		return errForeign
	}
	s, err := w.resume(pc)
	if err != nil {
		return err
	}
	form, err := pc.form()
	if err != nil {
		return err
	}
	if !s.owns(form.Get("csrf")) {
		return errForeign
	}
	reply, known := paymentActions[form.Get("step")]
	if !known {
		return errForm
	}
	return reply(w, pc, s, form)
}

// form reads the form in the body of a request. It ignores the parameters of the address.
func (pc *pageContext) form() (url.Values, error) {
	raw, err := io.ReadAll(httpd.Bounded(pc.writer, pc.request.Body, maxForm))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, errTooLarge
	}
	if errors.Is(err, passerelle.Unavailable) {
		return nil, err // the service has no memory for the body now
	}
	if err != nil {
		return nil, errForm
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, errForm
	}
	return form, nil
}

// fieldValues returns the values of the form fields that have the prefix question.Prefix. It removes
// surrounding spaces, except from passwords, in which they count. It omits empty values.
func fieldValues(form url.Values, fields []payment.Field) map[string]string {
	values := map[string]string{}
	for name := range form {
		field, ok := strings.CutPrefix(name, question.Prefix)
		value := form.Get(name)
		if !slices.ContainsFunc(fields, func(f payment.Field) bool { return f.Name == field && question.Secret(f) }) {
			value = strings.TrimSpace(value)
		}
		if ok && value != "" {
			values[field] = value
		}
	}
	return values
}

// fill sends the requested values to the bank. When the bank requests the same fields again and has
// not set Further, answered explains why.
func (w *Webview) fill(pc *pageContext, s *payerSession, form url.Values) error {
	pc.values = fieldValues(form, s.payment.Fields)
	after, err := w.answer(pc, s, payment.ActFields, initiation.ActionAnswer{Action: payment.FillFields, Question: questionOf(form), Cancelling: new(form.Has("cancelling")), Fields: pc.values})
	switch {
	case errors.Is(err, initiation.ErrAnswered):
		return w.answered(pc, s, form, "problem.outdated")
	case err == nil && after.Action == payment.FillFields && sameFields(s.payment.Fields, after.Fields):
		return w.answered(pc, s, form, "problem.refused")
	}
	return w.proceed(pc, s, err, stepOnward)
}

// questionOf returns the number of the bank's question to which a form is the answer. It returns 0
// for a form without a number.
func questionOf(form url.Values) int64 {
	number, _ := strconv.ParseInt(form.Get("question"), 10, 64) // the forms of an earlier version have no number
	return number
}

// answered responds to a form after which the bank requests the same fields again, and shows the
// message with the key refused. The form may be the answer to an earlier question, for example
// because the payer reloaded the page or went back. The page has no message if the service asked the
// bank for the outcome, because the bank may not have received the first answer.
func (w *Webview) answered(pc *pageContext, s *payerSession, form url.Values, refused string) error {
	last, err := w.refresh(pc, s)
	switch {
	case err != nil:
		return err
	case last.Action != payment.FillFields && (last.Action != "" || !last.Agreed), // "yes" to a cancellation has no action
		last.Live(), last.Inquiries > 0, !requests(s.payment.Fields, form):
		return w.proceed(pc, s, nil, stepOnward)
	case last.Unsent:
		pc.notice = "notice.unreached"
	default:
		pc.problem = problem{key: refused}
	}
	return w.show(pc, s)
}

// requests reports whether a bank requests again the fields that a form contains.
func requests(fields []payment.Field, form url.Values) bool {
	for name := range form {
		sent, ok := strings.CutPrefix(name, question.Prefix)
		if ok && !slices.ContainsFunc(fields, func(f payment.Field) bool { return f.Name == sent && !f.Further }) {
			return false
		}
	}
	return true
}

func sameFields(a, b []payment.Field) bool {
	return slices.EqualFunc(a, b, func(a, b payment.Field) bool { return a.Name == b.Name && !b.Further })
}

// approved asks the bank whether it has registered the payer's approval. The page's script also
// sends this form, without a click. After such a request, no message says that the approval is
// missing.
func (w *Webview) approved(pc *pageContext, s *payerSession, form url.Values) error {
	p, err := w.Initiation.Answer(pc.context(), pc.domain, s.payment.ID, payment.ByPayer, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true})
	next := stepOnward
	if err == nil && p.Action == payment.Decoupled && form.Has("approved") {
		next = stepAgain
	}
	return w.proceed(pc, s, err, next)
}

// decide sends the payer's decision about the payment or its cancellation to the bank.
func (w *Webview) decide(pc *pageContext, s *payerSession, form url.Values) error {
	word := form.Get("word")
	if word != "yes" && word != "no" {
		return errForm
	}
	act := payment.ActRefuse
	switch {
	case word == "yes" && form.Has("cancelling"):
		act = payment.ActCancel
	case word == "yes":
		act = payment.ActAgree
	}
	_, err := w.answer(pc, s, act, initiation.ActionAnswer{Action: payment.PSUValidation, Question: questionOf(form), Cancelling: new(form.Has("cancelling")), Yes: word == "yes"})
	return w.proceed(pc, s, err, stepOnward)
}

func (w *Webview) answer(pc *pageContext, s *payerSession, act payment.Act, a initiation.ActionAnswer) (*payment.Payment, error) {
	a.Evidence = evidenceOf(pc, s, act, w.bankName(s.payment), "")
	return w.Initiation.Answer(pc.context(), pc.domain, s.payment.ID, payment.ByPayer, a)
}

// proceed responds to a form: it redirects the browser to the page for the payment's state. A
// mistake that the payer can correct appears immediately, without a redirect.
func (w *Webview) proceed(pc *pageContext, s *payerSession, err error, step string) error {
	pc.problem, pc.notice = problemOf(err), noticeOf(err)
	switch {
	case pc.problem.key != "", pc.notice != "":
		return w.show(pc, s)
	case err != nil && !errors.Is(err, passerelle.Conflict):
		return fmt.Errorf("pass on the payer's answer about payment %d: %w", s.payment.ID, err)
	}
	web.Redirect(pc.writer, pc.address(s.payment.ID)+"&step="+step)
	return nil
}

// problem is a mistake that the payer can correct.
type problem struct {
	key   string // of the text for the payer
	field string // the payment field with the mistake, if any
}

// wrong returns the field with the mistake. If an institution refused the only value of a form, this
// is the field of that value.
func (p problem) wrong(fields []payment.Field) string {
	if p.key == "problem.refused" && len(fields) == 1 {
		return fields[0].Name
	}
	return p.field
}

// problems maps the field of a mistake to the key of its text. The first row applies with a field
// that begins the name of the wrong field.
var problems = []struct{ field, key string }{
	{"connector_uuid", "problem.bank"},
	{"fields.", "problem.field"},
	{"payer.label", "problem.field"},
	{"payer", "problem.account"},
	{"id_terms", "problem.terms"},
}

// problemOf returns the mistake that an error reports, if the payer can correct it. The key is
// empty for other errors.
func problemOf(err error) problem {
	var reported *passerelle.Error
	if !errors.As(err, &reported) || reported.Kind != passerelle.Invalid {
		return problem{}
	}
	for _, p := range problems {
		if rest, at := strings.CutPrefix(reported.Field, p.field); at {
			return problem{key: p.key, field: rest}
		}
	}
	return problem{}
}

// noticeOf returns the key of a text that says that the bank received nothing, and that the person
// can try again. It returns an empty text for other errors. A failure of the database has no such
// text, because the bank may have received the person's act before the failure.
func noticeOf(err error) string {
	var reported *passerelle.Error
	if errors.As(err, &reported) && reported.Kind == passerelle.Unavailable {
		return "notice.unreached"
	}
	return ""
}
