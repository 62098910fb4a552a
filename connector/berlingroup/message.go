package berlingroup

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup/arrival"
	"passerelle/connector/berlingroup/codes"
	"passerelle/payment"
)

// messages returns the messages in a response, as far as they follow the standard. If a response
// refuses the token without a code of the standard, as RFC 6750 (section 3.1) defines it or after the
// end of the grant, messages adds the code TOKEN_INVALID.
func (b *Bank) messages(r request, a answer) []codes.Message {
	var body codes.Body
	_ = b.decode(r, a, &body) // a member of another form does not hide the others
	all := body.All()
	refused := a.ungranted || strings.Contains(a.header.Get("WWW-Authenticate"), `error="invalid_token"`)
	if a.status == http.StatusUnauthorized && refused && codes.Known(all) == "" {
		all = append(all, codes.Message{Code: "TOKEN_INVALID"})
	}
	return all
}

// closedCode is the code with which a bank says that it is closed. A 503 without this code may come
// from a gateway after the bank has accepted an order.
const closedCode = "SERVICE_UNAVAILABLE"

// judgement is the meaning of a refusal, with texts for the payer and the operator.
type judgement struct {
	all  []codes.Message
	what codes.Meaning
	text string // the bank's text
	says string // the status and the codes
}

// judge interprets a refusal.
func (b *Bank) judge(r request, a answer) judgement {
	all := b.messages(r, a)
	what, text := codes.Judge(a.status, all)
	if b.signer != nil {
		what = what.Signed()
	}
	return judgement{all, what, text, strings.TrimSpace(fmt.Sprintf("it returns status %d %s", a.status, codes.Words(all)))}
}

// remedied returns the status, the codes and, if there is one, the remedy.
func (j judgement) remedied() string {
	if j.what.Remedy == "" {
		return j.says
	}
	return j.says + ": " + j.what.Remedy
}

// refusal interprets a refused request about an order. The error is a *payment.Refusal when the
// refusal is final, and connector.ErrNotSent when the bank is closed or busy and has not accepted
// the order. Any other error means an unknown outcome. If the refusal has a remedy, the error is
// also a fault. The payer does not see the bank's text about a fault of the operator.
func (b *Bank) refusal(r request, a answer) error {
	r.id = a.id
	judged := b.judge(r, a)
	says, refused := judged.says+": "+cmp.Or(judged.what.Remedy, codes.RequestRemedy)+b.skew(a), &payment.Refusal{Code: judged.what.Code, Description: judged.text}
	if refused.Code == payment.Bug {
		refused.Description, refused.Remark = "", judged.text
	}
	switch {
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable && codes.Known(judged.all) == closedCode:
		return b.fault(r, connector.ErrNotSent, says)
	case a.status == http.StatusRequestTimeout, a.status >= http.StatusInternalServerError, a.status == http.StatusConflict && len(judged.all) == 0:
		return b.fault(r, errUnknownOutcome, fmt.Sprintf("it returns status %d, and may or may not have executed the request", a.status))
	case judged.what.Remedy != "":
		return b.fault(r, refused, says)
	}
	return refused
}

// errUnknownOutcome means that the bank may or may not have executed a request.
var errUnknownOutcome = errors.New("the outcome is not known")

// unanswered interprets a failed request for the state of an order.
func (b *Bank) unanswered(r request, a answer) error {
	r.id = a.id
	return b.fault(r, errRefused, b.judge(r, a).remedied()+b.skew(a))
}

// readRefusal is the effect of a bank's refusal on a read.
type readRefusal struct {
	state      passerelle.ConnectionState
	code       string // the code of the refusal, as codes.ReadCode returns it
	message    string
	retryAfter time.Duration
	single     bool // it concerns only the requested account
	// fault describes the refusal to the operator. It is nil if the customer can act or waiting helps.
	fault error
}

func (r *readRefusal) Error() string { return "the bank refuses a read: " + string(r.state) }

// refused interprets the response to a failed read.
func (b *Bank) refused(r request, a answer) error {
	r.id = a.id
	judged := b.judge(r, a)
	refusal := &readRefusal{state: codes.ReadState(a.status, judged.all), code: codes.ReadCode(a.status, judged.all), retryAfter: arrival.RetryAfter(a.header, b.now())}
	if refusal.state == passerelle.Bug {
		refusal.fault = b.fault(r, errRefused, judged.says+": "+codes.ReadRemedy(a.status, judged.all)+b.skew(a))
	}
	refusal.single = (refusal.state == passerelle.Bug || refusal.state == passerelle.ActionNeeded) && !judged.what.OfService() && refusal.code != "SERVICE_BLOCKED"
	switch {
	case refusal.state != passerelle.ActionNeeded:
	case refusal.single: // the other accounts can be read
		refusal.retryAfter = max(refusal.retryAfter, callsWindow)
	default:
		refusal.retryAfter = 0 // only the customer can act
	}
	if refusal.state == passerelle.Wrongpass || refusal.state == passerelle.ActionNeeded {
		refusal.message = codes.Text(judged.all)
	}
	return refusal
}

// errRefused means that the bank refuses our request.
var errRefused = errors.New("the bank refuses the request")
