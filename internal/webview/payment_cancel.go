package webview

import (
	"errors"
	"net/url"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/payment"
)

// cancellable reports whether the payer can still cancel the payment.
func (w *Webview) cancellable(p *payment.Payment) bool {
	settings := w.settings(p)
	return p.MayCancel(payment.ByPayer, settings != nil && settings.Cancellable) == nil
}

// cancelAddress returns the address of the page that asks whether to cancel. It returns an empty
// text when the payer cannot cancel.
func (w *Webview) cancelAddress(pc *pageContext, p *payment.Payment) string {
	if !w.cancellable(p) {
		return ""
	}
	return pc.address(p.ID) + "&step=" + stepCancel
}

// confirmCancellation shows the page that asks whether to cancel. It does not change the payment.
func (w *Webview) confirmCancellation(pc *pageContext, s *payerSession) error {
	key := "cancel.bank"
	switch {
	case s.payment.State == payment.Created:
		key = "cancel.created"
	case w.Initiation.Abandons(s.payment):
		key = "cancel.abandon"
	}
	body := w.step(pc, s, key)
	body.Title, body.Message, body.Steps = pc.words.Say("cancel.title"), "", nil
	return w.send(pc, s, "cancel", body)
}

// cancel cancels a payment that no bank has received. Otherwise it asks the bank to cancel the
// payment, or abandons the payment if the bank cannot cancel it. When the bank requires an approval
// of the cancellation, the payment's page leads the payer to that approval. It does the same when
// the payer cancels again in another tab.
func (w *Webview) cancel(pc *pageContext, s *payerSession, _ url.Values) error {
	p, err := w.Initiation.Cancel(pc.context(), pc.domain, s.payment.ID, initiation.CancelRequest{
		By: payment.ByPayer, Evidence: evidenceOf(pc, s, payment.ActCancel, w.bankName(s.payment), ""),
	})
	if err == nil && w.abandoned(pc, p) {
		return w.proceed(pc, s, nil, stepLeave)
	}
	if errors.Is(err, passerelle.Conflict) && w.cancellable(s.payment) {
		return w.proceed(pc, s, err, stepCancel) // another act was under way, so the page asks again
	}
	refused := err == nil && !p.State.Final() && p.Detail != payment.Cancelling
	if !refused && !errors.Is(err, passerelle.Invalid) {
		return w.proceed(pc, s, err, stepOnward)
	}
	pc.notice = "notice.kept"
	return w.show(pc, s)
}

// abandoned reports whether the payer has abandoned a payment that the bank cannot cancel. The
// payment ends when the bank no longer accepts an approval. The payer does not need to wait for
// this end.
func (w *Webview) abandoned(pc *pageContext, p *payment.Payment) bool {
	last, err := lastAttempt(pc, &w.DB.Reader, p.ID)
	return err == nil && last.Kind == store.AttemptAnswer && !last.Live() && p.State == payment.Validating && p.Detail == ""
}
