package remote

import (
	"context"
	"io"
	"net/http"
	"path"
	"strconv"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// maxRequest limits the body of a request, in bytes.
const maxRequest = 4 << 20

// Handler serves a connector over the protocol to callers that have the secret. Only requests with
// a valid signature reach the connector. Other requests get a 401, or a 413 if their body is too
// large.
func Handler(c connector.Connector, shared string) (http.Handler, error) {
	if _, err := NewProgram("https://program.invalid", shared); err != nil {
		return nil, err
	}
	return &handler{connector: c, secret: secret(shared)}, nil
}

type handler struct {
	connector connector.Connector
	secret    secret
	nonces    nonces
}

// exchange is one request and its response.
type exchange struct {
	*handler
	w     http.ResponseWriter
	nonce string
	// sent is the time of the request on the caller's clock.
	sent time.Time
}

// within returns a context that ends at the caller's deadline. It counts from the time of the
// request, because the caller's clock may differ by minutes.
func (e exchange) within(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, deadline.Sub(e.sent))
}

// ServeHTTP handles one call.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the body is too large, or was cut", http.StatusRequestEntityTooLarge)
		return
	}
	if err := h.secret.verify(r, body, &h.nonces, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	sent, _ := strconv.ParseInt(r.Header.Get(headerTimestamp), 10, 64) // verify has checked it
	e := exchange{h, w, r.Header.Get(headerNonce), time.Unix(sent, 0)}
	name := path.Base(r.URL.Path)
	serve := e.calls()[name]
	if serve == nil {
		http.NotFound(w, r)
		return
	}
	if err := serve(r.Context(), name, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// calls returns the calls that the connector can handle, by name. A call fails for a body that it
// cannot read.
func (e exchange) calls() map[string]func(context.Context, string, []byte) error {
	calls := map[string]func(context.Context, string, []byte) error{callProfile: e.profile}
	if _, able := e.connector.(connector.Initiator); able {
		calls[callInitiate], calls[callStatus] = e.order, e.order
	}
	if _, able := e.connector.(connector.Responder); able {
		calls[callAnswer] = e.order
	}
	if _, able := e.connector.(connector.Canceller); able {
		calls[callCancel] = e.order
	}
	if _, able := e.connector.(connector.DataReader); able {
		calls[callAccounts], calls[callRead] = e.data, e.data
	}
	if _, able := e.connector.(connector.FileReader); able {
		calls[callFile] = e.data
	}
	if _, able := e.connector.(connector.Terminator); able {
		calls[callTerminate] = e.data
	}
	if _, able := e.connector.(Tested); able {
		calls[callTest] = e.test
	}
	return calls
}

// answer sends a signed body.
func (e exchange) answer(body any) error {
	raw, err := encode(body)
	if err != nil {
		return err
	}
	sum := e.secret.answerMAC(http.StatusOK, e.nonce)
	sum.Write(raw)
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set(headerSignature, text(sum))
	_, _ = e.w.Write(raw) // if this fails, nobody can receive the error
	return nil
}

func (e exchange) profile(context.Context, string, []byte) error {
	return e.answer(Describe(e.connector))
}

// Describe returns the description of a connector in the protocol.
func Describe(c connector.Connector) Profile {
	p := c.Profile()
	described := Profile{
		UUID: p.UUID, Name: p.Name, Countries: p.Countries, Hidden: p.Hidden, Sandbox: p.Sandbox, Idempotent: p.Idempotent, KeyLife: p.KeyLife, ApprovalLife: p.ApprovalLife, ExecutesAtOnce: p.ExecutesAtOnce,
		Payments: p.Payments, PaymentFields: p.PaymentFields, Data: p.Data, Mechanism: p.Mechanism, Labels: p.Labels,
	}
	for _, s := range p.Sources {
		described.Sources = append(described.Sources, Source{s.Name, s.Mechanisms, s.Priority})
	}
	_, described.Answers = c.(connector.Responder)
	_, described.Files = c.(connector.FileReader)
	_, described.Terminates = c.(connector.Terminator)
	return described
}

func (e exchange) order(ctx context.Context, name string, body []byte) error {
	var call orderCall
	if err := decode(body, &call, lenient); err != nil {
		return err
	}
	ctx, cancel := e.within(ctx, call.Deadline)
	defer cancel()
	report, err := e.ask(ctx, name, call)
	return e.answer(orderAnswer{report, failureOf(err)})
}

// ask calls the method of the connector for a call of the protocol. The connector must have this
// method.
func (e exchange) ask(ctx context.Context, name string, call orderCall) (payment.Report, error) {
	var report payment.Report
	initiator, _ := e.connector.(connector.Initiator)
	responder, _ := e.connector.(connector.Responder)
	canceller, _ := e.connector.(connector.Canceller)
	err := connector.Guard(func() error {
		var err error
		switch o := call.Order.order(); {
		case name == callInitiate:
			report, err = initiator.Initiate(ctx, o)
		case name == callAnswer && call.Answer != nil:
			report, err = responder.Answer(ctx, o, *call.Answer)
		case name == callCancel:
			report, err = canceller.Cancel(ctx, o)
		default:
			report, err = initiator.Status(ctx, o)
		}
		return err
	})
	return report, err
}

func (e exchange) data(ctx context.Context, name string, body []byte) error {
	var call dataCall
	if err := decode(body, &call, lenient); err != nil {
		return err
	}
	ctx, cancel := e.within(ctx, call.Deadline)
	defer cancel()
	reader, _ := e.connector.(connector.DataReader)
	switch name {
	case callAccounts:
		var listed lister
		o, err := guardedRead(ctx, reader, call.Request, &listed)
		return e.answer(accountsAnswer{o, listed.accounts, listed.subscriptions, failureOf(err)})
	case callTerminate:
		terminator, _ := e.connector.(connector.Terminator)
		err := connector.Guard(func() error { return terminator.Terminate(ctx, call.Request) })
		return e.answer(accountsAnswer{Error: failureOf(err)})
	case callFile:
		return e.file(ctx, call)
	}
	out := e.stream()
	o, err := guardedRead(ctx, reader, call.Request, newForwarder(out, call))
	out.end(end{Outcome: o, Error: failureOf(err)})
	return nil
}

func (e exchange) file(ctx context.Context, call dataCall) error {
	files, _ := e.connector.(connector.FileReader)
	if call.File == nil {
		return errMalformed
	}
	out := e.stream()
	var last end
	err := connector.Guard(func() error {
		var err error
		last.MediaType, err = files.File(ctx, call.Request, *call.File, out)
		return err
	})
	last.Error = failureOf(err)
	out.end(last)
	return nil
}

func guardedRead(ctx context.Context, reader connector.DataReader, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	var o connector.Outcome
	err := connector.Guard(func() error {
		var err error
		o, err = reader.Read(ctx, req, out)
		return err
	})
	return o, err
}

// lister is a sink that wants only the lists of accounts and subscriptions.
type lister struct {
	connector.Sink
	accounts      []passerelle.AccountDetails
	subscriptions []passerelle.SubscriptionDetails
}

func (l *lister) Accounts(all []passerelle.AccountDetails) error {
	l.accounts = append([]passerelle.AccountDetails{}, all...)
	return nil
}

func (l *lister) Subscriptions(all []passerelle.SubscriptionDetails) error {
	l.subscriptions = append([]passerelle.SubscriptionDetails{}, all...)
	return nil
}

func (*lister) Wanted(string) (passerelle.Date, bool) { return passerelle.Date{}, false }
func (*lister) SubscriptionWanted(string) bool        { return false }

func (e exchange) stream() *stream {
	e.w.Header().Set("Content-Type", "application/x-ndjson")
	return &stream{w: e.w, sum: e.secret.answerMAC(http.StatusOK, e.nonce)}
}
