package webview

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview/question"
	"passerelle/payment"
)

// These are values of the step parameter. The stored state decides whether a step applies.
const (
	// stepOnward is set when the payer has just acted. If the bank is next, the service redirects
	// the payer there without another click. A payer who comes back from the bank without a
	// decision stays on the page, because otherwise the redirects would never end.
	stepOnward = "onward"
	// stepAgain is set when the payer has approved and the bank has not registered the approval
	// yet.
	stepAgain = "again"
	// stepCancel is set when the payer wants to cancel and must confirm the cancellation.
	stepCancel = "cancel"
	// stepLeave is set when the payer goes back to the client without an outcome.
	stepLeave = "leave"
)

// actions contains the page of each action for which a payment can wait. Confirmation is missing,
// because the client confirms.
var actions = map[payment.Action]func(*Webview, *pageContext, *payerSession) error{
	payment.Redirect:      (*Webview).onward,
	payment.Decoupled:     (*Webview).approve,
	payment.FillFields:    (*Webview).ask,
	payment.PSUValidation: (*Webview).askValidation,
}

// show shows the page for the payment's current state. When the payer need not act or wait, show
// redirects the payer to the client.
func (w *Webview) show(pc *pageContext, s *payerSession) error {
	if s.payment.State.Final() {
		return w.goBack(pc, s)
	}
	if pc.reading() && pc.step() == stepLeave {
		return w.goAway(pc, s)
	}
	last, err := w.refresh(pc, s)
	if err != nil {
		return err
	}
	p := s.payment
	action, ours := actions[p.Action]
	switch {
	case awaited(last, p):
		return w.wait(pc, s, last.Created)
	case pc.reading() && pc.step() == stepCancel && w.cancellable(p):
		return w.confirmCancellation(pc, s)
	case p.State == payment.Created:
		return w.choose(pc, s, draft{Bank: pc.request.URL.Query().Get("bank")})
	case ours:
		return action(w, pc, s)
	}
	return w.goBack(pc, s)
}

// goBack redirects the payer to the client with the result of the payment. A poll does not count as
// the payer's return, because the browser may never follow.
func (w *Webview) goBack(pc *pageContext, s *payerSession) error {
	if !pc.polled() {
		s.payment = w.Initiation.Returned(pc.context(), pc.domain, s.payment)
	}
	web.Redirect(pc.writer, s.leave())
	return nil
}

// goAway redirects a payer who cannot pay here, or does not want to wait, to the client.
func (w *Webview) goAway(pc *pageContext, s *payerSession) error {
	s.payment = w.Initiation.Returned(pc.context(), pc.domain, s.payment)
	web.Redirect(pc.writer, s.giveUp())
	return nil
}

// awayAddress returns the link for a payer who gives up. The link opens an address of this service,
// which records that the payer leaves.
func (pc *pageContext) awayAddress(p *payment.Payment) string {
	return pc.address(p.ID) + "&step=" + stepLeave
}

// refresh returns the last attempt of the payment, and then reads the payment again. It repeats both
// reads if the payment has changed. A page therefore never shows a question with the number of a
// later question.
func (w *Webview) refresh(pc *pageContext, s *payerSession) (store.Attempt, error) {
	for {
		var last store.Attempt
		var p *payment.Payment
		err := w.DB.Together(pc.context(),
			store.Into(&last, func(r *store.Reader) (store.Attempt, error) { return lastAttempt(pc, r, s.payment.ID) }),
			store.Into(&p, func(r *store.Reader) (*payment.Payment, error) {
				return r.Payment(pc.context(), pc.domain.ID, s.payment.ID, false)
			}))
		if err != nil {
			return last, fmt.Errorf("load payment %d and its last attempt: %w", s.payment.ID, err)
		}
		unchanged := p.Version == s.payment.Version
		if s.payment, s.last = p, last.Number; unchanged {
			return last, nil
		}
	}
}

// lastAttempt returns the last attempt at a bank for a payment, if any. The bank may not have
// responded to that attempt yet.
func lastAttempt(pc *pageContext, r *store.Reader, id passerelle.PaymentID) (store.Attempt, error) {
	last, err := r.Attempt(pc.context(), pc.domain.ID, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return last, fmt.Errorf("find an attempt of payment %d: %w", id, err)
	}
	return last, nil
}

// awaited reports whether the page must wait, because the bank has not yet responded to the payer's
// last act, or has not yet said how the payer approves.
func awaited(last store.Attempt, p *payment.Payment) bool {
	return last.Live() && last.By != payment.ByClient || last.Number > 0 && (p.State == payment.Created || p.State == payment.Validating && p.Action == "")
}

// stepBody is the content of a page on which a payment waits.
type stepBody struct {
	frame
	summary
	Title, Text string
	// Bank is the name of the bank. Message is the bank's message to the payer.
	Bank, Message string
	// Problem is the key of a text about a mistake in the values. Notice is the key of a text about
	// another result of the form. For example, the bank may be unreachable.
	Problem, Notice string
	// Action is the target of forms. Question is the number of the bank's question, which the forms
	// return with the answer.
	Action   string
	Question int64
	// Address is the address at which the payer continues.
	Address string
	// Cancelling is set while the bank waits for the payer's approval of a cancellation.
	Cancelling bool
	// Questions lists the fields that the bank asks the payer to fill in.
	Questions []question.Question
	// After is the number of seconds until the page asks the bank again, or 0 for never. NextPoll
	// is the address that shows the result. Left is the number of seconds for which the page
	// continues to ask.
	After    int
	NextPoll string
	Left     int
	// Leave is the address for leaving the page without an outcome. It is empty when the page
	// offers only to cancel. Long is set when the wait is longer than usual.
	Leave string
	Long  bool
	// Cancel is the address for cancelling the payment. It is empty when the payer cannot cancel.
	Cancel string
}

// onward returns the address of the payment's page for a payer who has just acted.
func (b stepBody) onward() string { return b.Action + "&step=" + stepOnward }

// LeftText formats Left as minutes and seconds.
func (b stepBody) LeftText() string { return fmt.Sprintf("%d:%02d", b.Left/60, b.Left%60) }

// Late reports whether the page has stopped asking the bank automatically.
func (b stepBody) Late() bool { return b.After == 0 && b.Notice == "" }

// step returns the body of a page. The keys of the page's texts begin with key.
func (w *Webview) step(pc *pageContext, s *payerSession, key string) stepBody {
	body := stepBody{
		frame: pc.frame(s).at(stepsOfPayment, 3), summary: pc.summary(s), Title: pc.words.Say(key + ".title"), Text: pc.words.Say(key + ".text"),
		Bank: cmp.Or(w.bankName(s.payment), pc.words.Say("bank")), Message: s.payment.ErrorDescription,
		Problem: pc.problem.key, Notice: pc.notice, Action: pc.address(s.payment.ID), Question: s.last, Cancelling: s.payment.Detail == payment.Cancelling, Cancel: w.cancelAddress(pc, s.payment),
	}
	if body.Cancel == "" {
		body.Leave = pc.awayAddress(s.payment)
	}
	return body
}

// send sends a page on which the payment waits.
func (w *Webview) send(pc *pageContext, s *payerSession, name string, body stepBody) error {
	return pages.Send(pc.writer, pc.page(s, name, body.Title, body, body.Problem))
}

// A waiting page polls after a quarter of the time for which the payer has waited, but at least after
// shortestPoll and at most after longestCheck. It therefore shows the result of a fast bank quickly,
// and polls rarely for a slow bank.
const (
	shortestPoll = 2 * time.Second
	longestCheck = time.Minute
	longWait     = 20 * time.Second
)

// watching returns a page whose script polls for a change. Without scripts, the page opens the
// address after a time, or reloads if the address is empty.
func watching(page web.Page, after time.Duration, address string) web.Page {
	page.Module, page.Asks, page.Fallback, page.FallbackTo = "resume.mjs", true, after, address
	return page
}

// wait shows that the bank is working. The argument since is the time of the attempt, on the
// domain's clock.
func (w *Webview) wait(pc *pageContext, s *payerSession, since time.Time) error {
	body := w.step(pc, s, "wait")
	waited := pc.domain.Clock.Now(w.Now()).Sub(since)
	body.Leave, body.Long, body.NextPoll = pc.awayAddress(s.payment), waited > longWait, body.onward()
	body.Cancel = "" // the payer cannot cancel before the bank has responded
	return pages.Send(pc.writer, watching(pc.page(s, "wait", body.Title, body, ""), min(max(waited/4, shortestPoll), longestCheck), ""))
}

// onward shows the link to the bank, where the payer approves the payment or its cancellation. With
// stepOnward, the page opens the link without a click.
func (w *Webview) onward(pc *pageContext, s *payerSession) error {
	if web.Origin(s.payment.ValidateURI) == "" {
		return fmt.Errorf("payment %d is to be validated at an address that no browser can open", s.payment.ID)
	}
	key := during(s.payment, "onward")
	body := w.step(pc, s, key)
	body.Title, body.Address = pc.words.Say(key+".title", body.Bank), s.payment.ValidateURI
	page := pc.page(s, "onward", body.Title, body, "")
	if pc.step() == stepOnward {
		page.RefreshTo = s.payment.ValidateURI
	}
	return pages.Send(pc.writer, page)
}

// during returns the key of a step's text. The texts differ while the bank cancels the payment.
func during(p *payment.Payment, key string) string {
	if p.Detail == payment.Cancelling {
		return "cancelling." + key
	}
	return key
}

// While a payer approves in another app, the page's script asks the bank every few seconds. Without
// scripts, the browser only reloads the page, and the payer must press a button to ask the bank.
// After payerTimeout both stop, because the payer has probably left.
const (
	askAgain     = 7 * time.Second
	readAgain    = 10 * time.Second
	payerTimeout = 15 * time.Minute
)

// approve asks the payer to approve in the bank's app.
func (w *Webview) approve(pc *pageContext, s *payerSession) error {
	body := w.step(pc, s, during(s.payment, "approve"))
	asked, err := w.askedToApprove(pc, s.payment)
	if err != nil {
		return err
	}
	waited := pc.domain.Clock.Now(w.Now()).Sub(asked)
	if body.Long = waited > longWait; body.Long {
		body.Leave = pc.awayAddress(s.payment)
	}
	if pc.step() == stepAgain {
		body.Notice = "notice.unseen"
	}
	page := pc.page(s, "approve", body.Title, nil, "")
	if waited < payerTimeout && pc.notice == "" {
		page = watching(page, readAgain, "")
		body.After, body.Left = int(askAgain.Seconds()), int((payerTimeout - waited).Seconds())
		body.NextPoll = body.onward()
	}
	page.Body = body
	return pages.Send(pc.writer, page)
}

// askedToApprove returns the time from which the payer could approve: the time of the order, of the
// payer's last answer to another question, or of the request to cancel.
func (w *Webview) askedToApprove(pc *pageContext, p *payment.Payment) (time.Time, error) {
	asked, err := w.DB.ApprovalAsked(pc.context(), pc.domain.ID, p.ID)
	if errors.Is(err, store.ErrNotFound) {
		return *p.Validated, nil
	}
	if err != nil {
		return asked, fmt.Errorf("find the request to approve payment %d: %w", p.ID, err)
	}
	return asked, nil
}

// ask shows the bank's questions about the payment or its cancellation to the payer.
func (w *Webview) ask(pc *pageContext, s *payerSession) error {
	body := w.step(pc, s, during(s.payment, "fields"))
	body.Questions = question.All(s.payment.Fields, pc.values, pc.problem.wrong(s.payment.Fields))
	return w.send(pc, s, "fields", body)
}

// askValidation asks the payer to answer yes or no: to pay or, while the bank cancels the payment,
// to cancel.
func (w *Webview) askValidation(pc *pageContext, s *payerSession) error {
	body := w.step(pc, s, during(s.payment, "psu"))
	return w.send(pc, s, "psu", body)
}
