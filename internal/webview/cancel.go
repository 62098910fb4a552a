package webview

import (
	"errors"
	"net/url"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/payment"
)

// cancellable reports whether the payer can still cancel the payment.
func (w *Webview) cancellable(p *payment.Payment) bool {
	settings := w.settings(p)
	return p.MayCancel(payment.ByPayer, settings != nil && settings.Cancellable) == nil
}

// cancelAddress leads to the question whether to cancel, or is empty.
func (w *Webview) cancelAddress(v *visit, p *payment.Payment) string {
	if !w.cancellable(p) {
		return ""
	}
	return v.address(p.ID) + "&step=" + stepCancel
}

// confirmCancellation asks whether to cancel, before anything is done.
func (w *Webview) confirmCancellation(v *visit, s *visitor) error {
	key := "cancel.bank"
	if s.payment.State == payment.Created {
		key = "cancel.created"
	}
	body := w.step(v, s, key)
	body.Title, body.Message = v.words.Say("cancel.title"), ""
	return w.send(v, s, "cancel", body)
}

// cancel ends a payment that no bank has, or asks the bank to. It may have the
// payer approve that; then the payment's page leads there.
func (w *Webview) cancel(v *visit, s *visitor, _ url.Values) error {
	p, err := w.witnessed(v, s, payment.ActCancel, w.bankName(s.payment), "").Cancel(v.context(), v.domain, s.payment.ID, initiation.Cancellation{By: payment.ByPayer})
	refused := err == nil && !p.State.Final() && p.Detail != payment.Cancelling
	if !refused && !errors.Is(err, passerelle.Invalid) {
		return w.proceed(v, s, err, stepOnward)
	}
	if refused {
		s.payment = p
	}
	v.notice = "notice.kept"
	return w.show(v, s)
}
