package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// ErrNoTest is returned by Test when the program does not offer the call "test".
var ErrNoTest = errors.New("the program has no call test, or is not started for tests")

// These are the acts of the call "test".
const (
	// ActBegin does nothing. ActApprove does what the report or outcome asks for. ActRefuse refuses
	// it.
	ActBegin   = "begin"
	ActApprove = "approve"
	ActRefuse  = "refuse"
)

// Act is an action that a program under test does as the payer or the user.
type Act struct {
	Act string
	// Order is the order of a payment. Report is the report that asks for approval of the order or
	// of its cancellation. The bank does not execute a Lasting order before the decision about its
	// cancellation.
	Order   connector.Order
	Report  payment.Report
	Lasting bool
	// Request is the request of a read. Outcome is the outcome that asks for the act.
	Request connector.DataRequest
	Outcome connector.Outcome
}

// testCall is the body of the call "test".
type testCall struct {
	Deadline time.Time
	// Act is begin, approve or refuse.
	Act string
	// Order and Report are set for a payment. The report asks for the act.
	Order  order
	Report payment.Report
	// Lasting means that the bank does not execute the order before its cancellation is
	// decided.
	Lasting bool
	// Request and Outcome are set for a read. The outcome asks for the act.
	Request connector.DataRequest
	Outcome connector.Outcome
}

// Acted is the response to an Act.
type Acted struct {
	// Orders is the number of orders that the bank has accepted.
	Orders int
	// Values are what a test user enters into the fields of the profile's data settings. Fields are
	// what a payer enters into the profile's payment fields.
	Values, Fields map[string]string
	// Payer and Beneficiary are accounts for orders. The program sets them if only some accounts
	// are suitable.
	Payer, Beneficiary *passerelle.Account
	// After an act of a user, Answers, Callback and Resumed are added to the next request. After an
	// act of a payer, Answers are sent with the call "answer".
	Answers  map[string]string
	Callback url.Values
	Resumed  bool
	Error    *failure
}

// Tested is a connector that can also act as payers and users, for the conformance suite.
type Tested interface {
	connector.Connector
	Test(ctx context.Context, a Act) (Acted, error)
}

// Test asks the program to do the act as the payer or the user, and returns the result. It fails
// with ErrNoTest when the program does not offer the call "test".
func (p *Program) Test(ctx context.Context, a Act) (Acted, error) {
	var did Acted
	err := p.call(ctx, callTest, testCall{p.deadline(ctx), a.Act, newOrder(a.Order), a.Report, a.Lasting, a.Request, a.Outcome}, &did)
	if errors.Is(err, errAbsent) {
		return did, ErrNoTest
	}
	if err == nil {
		err = did.Error.err()
	}
	return did, err
}

func (e exchange) test(ctx context.Context, _ string, body []byte) error {
	var call testCall
	if err := decode(body, &call, lenient); err != nil {
		return err
	}
	ctx, cancel := e.within(ctx, call.Deadline)
	defer cancel()
	tested, _ := e.connector.(Tested)
	var did Acted
	err := connector.Guard(func() error {
		var err error
		did, err = tested.Test(ctx, Act{call.Act, call.Order.order(), call.Report, call.Lasting, call.Request, call.Outcome})
		return err
	})
	did.Error = failureOf(err)
	return e.answer(did)
}

// forgeries are requests that a program must refuse. A nil change means that the same request is
// sent twice.
var forgeries = []struct {
	name   string
	change func(s secret, r *http.Request, body []byte)
}{
	{"a request without a signature", func(_ secret, r *http.Request, _ []byte) { r.Header.Del(headerSignature) }},
	{"a request signed with another secret", func(_ secret, r *http.Request, body []byte) {
		secret("another secret of thirty-two characters").sign(r, body)
	}},
	{"a request whose body was changed", func(_ secret, r *http.Request, body []byte) {
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(bytes.ToUpper(body))), nil }
	}},
	{"a request that is ten minutes old", func(s secret, r *http.Request, body []byte) {
		r.Header.Set(headerTimestamp, strconv.FormatInt(time.Now().Add(-2*tolerance).Unix(), 10))
		s.sign(r, body)
	}},
	{"a request that comes again", nil},
}

// CheckRefusals sends requests that a program must refuse with 401. The error names the requests
// that the program handles wrongly.
func (p *Program) CheckRefusals(ctx context.Context) error {
	var faults []error
	for _, f := range forgeries {
		r, _, err := p.request(ctx, callProfile, struct{ Deadline time.Time }{p.deadline(ctx)})
		if err != nil {
			return err
		}
		if f.change == nil {
			_, err = p.status(r)
		} else {
			f.change(p.secret, r, bodyOf(r))
		}
		status, again := p.status(r)
		if err = errors.Join(err, again); err == nil && status != http.StatusUnauthorized {
			err = fmt.Errorf("%s gets %d instead of 401", f.name, status)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// bodyOf returns the body of a request whose GetBody is set.
func bodyOf(r *http.Request) []byte {
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	raw, _ := io.ReadAll(body)
	return raw
}

// status sends a request and returns the status of the response.
func (p *Program) status(r *http.Request) (int, error) {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(bodyOf(r)))
	response, err := p.single.Do(again)
	if err != nil {
		return 0, p.fault(callProfile, err, remedy(err))
	}
	return response.StatusCode, response.Body.Close()
}
