package webview

import (
	"cmp"
	"net/url"

	"passerelle/payment"
)

// maxBankMessage is how many characters of a bank's message travel in an address. Addresses of
// more than some thousand bytes do not arrive everywhere, and one character can become twelve
// bytes.
const maxBankMessage = 120

// leave returns where the payer goes from a payment in its present state: to where the client
// receives payers or, when the payment will not be made, to where it receives payers who could
// not pay.
func (s *payerSession) leave() string {
	if s.payment.State == payment.Rejected || s.payment.State == payment.Expired {
		return s.giveUp()
	}
	return s.outcome().at(s.payment.ClientRedirectURI)
}

// giveUp is where a payer goes who cannot pay here.
func (s *payerSession) giveUp() string {
	return s.outcome().at(cmp.Or(s.RedirectURI, s.payment.ClientRedirectURI))
}

func (s *payerSession) outcome() result {
	return outcome(s.payment, cmp.Or(s.payment.ClientState, s.State))
}

// result is what the address where the payer arrives says to the client.
type result url.Values

// outcome returns the state of a payment and, for a rejected one, the reason. Clients read
// error as the payer's own decision, whoever learned of it first.
func outcome(p *payment.Payment, state string) result {
	reported := url.Values{"id_payment": {paymentText(p.ID)}, "payment_state": {string(p.State)}}
	add := func(name, value string) {
		if value != "" {
			reported.Set(name, value)
		}
	}
	add("state", state)
	if p.State == payment.Rejected {
		add("error_code", string(p.ErrorCode))
		add("bank_message", excerpt(p.ErrorDescription, maxBankMessage))
	}
	if p.ErrorCode == payment.CancelledByUser {
		add("error", "cancelled")
	}
	return result(reported)
}

// at is the address of a client, which has no query of its own, with the
// result.
func (r result) at(uri string) string {
	if len(r) == 0 {
		return uri
	}
	return uri + "?" + url.Values(r).Encode()
}

// excerpt returns the beginning of a text, at most so many characters.
func excerpt(text string, length int) string {
	letters := []rune(text)
	if len(letters) <= length {
		return text
	}
	return string(letters[:length-1]) + "…"
}
