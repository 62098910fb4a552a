package webview

import (
	"cmp"
	"net/url"

	"passerelle"
	"passerelle/payment"
)

// maxBankMessage is the largest number of characters of a bank's message in an address. Some
// programs refuse addresses of more than a few thousand bytes, and one character can become twelve
// bytes.
const maxBankMessage = 120

// leave returns the address to which the service redirects the payer in the payment's current
// state. For a rejected or expired payment, this is the address of giveUp. Otherwise it is the
// client's redirect address.
func (s *payerSession) leave() string {
	if s.payment.State == payment.Rejected || s.payment.State == payment.Expired {
		return s.giveUp()
	}
	return s.outcome().at(s.payment.ClientRedirectURI)
}

// giveUp returns the address for a payer who cannot pay here.
func (s *payerSession) giveUp() string {
	return s.outcome().at(cmp.Or(s.RedirectURI, s.payment.ClientRedirectURI))
}

func (s *payerSession) outcome() result {
	return outcome(s.payment, cmp.Or(s.payment.ClientState, s.State))
}

// result has the parameters that the client gets when the service redirects the payer to the
// client.
type result url.Values

// outcome returns the state of a payment and, for a rejected payment, the reason. The parameter
// "error" means that the payer cancelled. It does not matter who reported the cancellation first.
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
		add("bank_message", passerelle.Excerpt(p.ErrorDescription, maxBankMessage))
	}
	if p.ErrorCode == payment.CancelledByUser {
		add("error", "cancelled")
	}
	return result(reported)
}

// at appends the result as the query of a client's address. The address must not have a query.
func (r result) at(uri string) string {
	if len(r) == 0 {
		return uri
	}
	return uri + "?" + url.Values(r).Encode()
}
