// Package remote makes programs in any language usable as connectors, over HTTP.
//
// It owns the connector protocol: its paths, bodies, signatures and limits. A Program turns a
// program that speaks the protocol into a connector.Connector, and a Handler serves any connector
// over the protocol. Other packages decide which programs a deployment has, and use the responses.
//
// Programs are trusted no more than banks. The package checks the form of a response, and callers
// of connectors check its meaning. The package fails like every connector. ErrNotSent means that
// the program did not receive the order, or that its signed response says that the bank did not
// receive it. Any other failure without a signed response leaves the outcome unknown. A stream
// without its signed end is an error, even if all data has arrived.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// These are the limits of the protocol, in bytes.
const (
	// maxAnswer limits the size of a response. maxLine limits a line of a stream.
	maxAnswer = 4 << 20
	maxLine   = 1 << 20
	// maxStream limits the size of a stream.
	maxStream = 64 << 20
	// All streams of a program together are read at no more than streamRate bytes per second, after
	// a burst of streamBurst bytes. One processor stores transactions at about this rate. A program
	// that sends endlessly therefore occupies about one processor.
	streamRate  = 4 << 20
	streamBurst = 16 << 20
	// maxHeaders limits the size of the headers of a response.
	maxHeaders = 16 << 10
)

// These are the calls of the protocol. A name is the part of the path after /v1/.
const (
	callProfile   = "profile"
	callInitiate  = "initiate"
	callStatus    = "status"
	callAnswer    = "answer"
	callCancel    = "cancel"
	callAccounts  = "accounts"
	callRead      = "read"
	callFile      = "file"
	callTerminate = "terminate"
	callTest      = "test"
)

const version = "v1"

// Profile is a program's description of itself. The deployment assigns the numbers in the
// connector.Profile.
type Profile struct {
	UUID      string
	Name      string
	Countries []string
	// Sources are the channels of the connector. If the list is empty, the only source is openapi,
	// which uses credentials when the program reads data.
	Sources []Source
	Hidden  bool
	Sandbox bool
	// Idempotent means that the bank recognises the key of an order, for KeyLife. Zero means one
	// hour.
	Idempotent bool
	KeyLife    time.Duration
	// ApprovalLife is how long a payer who has abandoned an order can still approve it at the bank.
	ApprovalLife   time.Duration
	ExecutesAtOnce bool
	Payments       *payment.Settings
	PaymentFields  []payment.Field
	Data           *connector.DataSettings
	Mechanism      passerelle.AuthMechanism
	Labels         connector.Labels
	// Answers, Files and Terminates mean that the program has the calls "answer", "file" and
	// "terminate". The program has the call "cancel" when its payments are cancellable.
	Answers, Files, Terminates bool
}

// profileAnswer is the response to the call profile.
type profileAnswer struct {
	Profile
	Error *failure
}

// Source is one channel of a connector.
type Source struct {
	// Name is openapi, directaccess or fallback.
	Name       string
	Mechanisms []passerelle.AuthMechanism
	Priority   int
}

// withNumber returns the profile with the number that a deployment gives the connector. The numbers
// of the sources are ten times this number plus 1, 2 and so on.
func (p Profile) withNumber(number int64) connector.Profile {
	named := connector.Profile{
		UUID: p.UUID, ID: number, Name: p.Name, Countries: p.Countries, Hidden: p.Hidden, Sandbox: p.Sandbox, Payments: p.Payments,
		PaymentFields: p.PaymentFields, Data: p.Data, Idempotent: p.Idempotent, KeyLife: p.KeyLife, ApprovalLife: p.ApprovalLife, Mechanism: p.Mechanism, Labels: p.Labels,
		ExecutesAtOnce: p.ExecutesAtOnce || !p.Answers, // without the call "answer", nobody could pass on the client's confirmation
	}
	sources := p.Sources
	if len(sources) == 0 {
		sources = []Source{{Name: "openapi"}}
		if p.Data != nil {
			sources[0].Mechanisms = []passerelle.AuthMechanism{passerelle.ByCredentials}
		}
	}
	for i, s := range sources {
		named.Sources = append(named.Sources, connector.Source{ID: number*10 + 1 + int64(i), Name: s.Name, Mechanisms: s.Mechanisms, Priority: s.Priority})
	}
	return named
}

// Encode returns the profile as JSON, as programs send it.
func (p Profile) Encode() (string, error) {
	raw, err := encode(p)
	return string(raw), err
}

// DecodeProfile reads the output of Encode.
func DecodeProfile(text string) (Profile, error) {
	var p Profile
	return p, decode([]byte(text), &p, lenient)
}

// maxSources is the maximum number of a connector's sources, because their numbers differ only in
// the last digit.
const maxSources = 9

// maxName limits the name, in bytes.
const maxName = 100

// Check returns the faults of the profile as an error, or nil.
func (p Profile) Check() error {
	var most error
	if len(p.Sources) > maxSources {
		most = errors.New("there are more than nine sources")
	}
	if p.Payments == nil && p.Data == nil {
		most = errors.Join(most, errors.New("there are neither payments nor data"))
	}
	if len(p.Name) > maxName || strings.ContainsFunc(p.Name, unicode.IsControl) {
		most = errors.Join(most, fmt.Errorf("the name must have at most %d bytes, without control characters", maxName))
	}
	return errors.Join(most, p.withNumber(1).Check())
}

// order contains the parts of a connector.Order that concern the bank.
type order struct {
	Domain             passerelle.DomainID
	Key                string
	Payment            orderPayment
	Mechanism          string
	Fields             map[string]string
	ReturnURL          string
	NotificationURL    string
	ManualConfirmation bool
	// Abandoned means that the payer has abandoned the order. The program must not give the payer a
	// new way to approve it.
	Abandoned bool
	// Repeated means that an earlier call may already have sent the order. The program may then
	// refuse the order only if the bank certainly has no order with this key.
	Repeated bool
	Memory   []byte
	Callback url.Values
	Device   connector.Device
	Now      time.Time
}

// orderPayment is the part of a payment that an order contains.
type orderPayment struct {
	ID               passerelle.PaymentID
	State            payment.State
	Detail           payment.Detail
	BankPaymentID    string
	Payer            *passerelle.Account
	PayerIdentity    *passerelle.Identity
	OperatorIdentity *passerelle.Identity
	Instructions     []payment.Instruction
}

func newOrder(o connector.Order) order {
	p := o.Payment
	return order{
		Domain: o.Domain, Key: o.Key, Mechanism: o.Mechanism, Fields: o.Fields, ReturnURL: o.ReturnURL, NotificationURL: o.NotificationURL,
		ManualConfirmation: o.ManualConfirmation, Abandoned: o.Abandoned, Repeated: o.Repeated, Memory: o.Memory, Callback: o.Callback, Device: o.Device, Now: o.Now,
		Payment: orderPayment{p.ID, p.State, p.Detail, p.BankPaymentID, p.Payer, p.PayerIdentity, p.OperatorIdentity, p.Instructions},
	}
}

func (o order) order() connector.Order {
	p := o.Payment
	return connector.Order{
		Domain: o.Domain, Key: o.Key, Mechanism: o.Mechanism, Fields: o.Fields, ReturnURL: o.ReturnURL, NotificationURL: o.NotificationURL,
		ManualConfirmation: o.ManualConfirmation, Abandoned: o.Abandoned, Repeated: o.Repeated, Memory: o.Memory, Callback: o.Callback, Device: o.Device, Now: o.Now,
		Payment: payment.Payment{
			ID: p.ID, State: p.State, Detail: p.Detail, BankPaymentID: p.BankPaymentID, Payer: p.Payer,
			PayerIdentity: p.PayerIdentity, OperatorIdentity: p.OperatorIdentity, Instructions: p.Instructions,
		},
	}
}

// orderCall is the body of initiate, status, answer and cancel.
type orderCall struct {
	// Deadline is the instant at which the caller stops waiting.
	Deadline time.Time
	Order    order
	// Answer is set only for the call "answer".
	Answer *connector.Answer
}

// orderAnswer is the response to an orderCall. The memory in the report is stored even if there is
// an error.
type orderAnswer struct {
	Report payment.Report
	Error  *failure
}

// dataCall is the body of the calls accounts, read, file and terminate.
type dataCall struct {
	Deadline time.Time
	Request  connector.DataRequest
	// Accounts and Subscriptions are the accounts and subscriptions that the call "read" must read.
	Accounts      []wantedAccount
	Subscriptions []string
	// File is set only for the call "file".
	File *connector.FileName
}

// wantedAccount is an account to read from the day From on, or completely if From is zero.
type wantedAccount struct {
	Account string
	From    passerelle.Date
}

// accountsAnswer is the response to the calls accounts and terminate. Accounts and Subscriptions
// are absent when the institution was not read.
type accountsAnswer struct {
	Outcome       connector.Outcome
	Accounts      []passerelle.AccountDetails
	Subscriptions []passerelle.SubscriptionDetails
	Error         *failure
}

// record is one line of a stream: a page of data, the end of an account or subscription, a piece of
// a file, or the end of the stream. The line after the end contains the signature.
type record struct {
	Account      string
	Transactions []passerelle.TransactionDetails
	Assets       *passerelle.Assets
	Subscription string
	Documents    []passerelle.DocumentDetails
	// Read ends an account or a subscription: the stream contains all its data. For an account,
	// this is the data since the day From.
	Read bool
	From passerelle.Date
	// Data is a piece of a file.
	Data []byte
	End  *end
}

// end is the last record of a stream.
type end struct {
	Outcome   connector.Outcome
	MediaType string
	Error     *failure
}

// failure says why a program could not execute a call.
type failure struct {
	// Kind is refused, notSent, unknownOrder or failed.
	Kind string
	// Code and Description are set when Kind is refused. Code is the reason, and Description is a
	// text for the payer.
	Code        payment.ErrorCode
	Description string
}

// These are the kinds of failure.
const (
	refused      = "refused"
	notSent      = "notSent"
	unknownOrder = "unknownOrder"
	failed       = "failed"
)

// errFailed means that the program reports a failure.
var errFailed = errors.New("the program reports a failure")

// err returns the failure as the error that connectors return.
func (f *failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Kind == refused:
		return &payment.Refusal{Code: f.Code, Description: f.Description}
	case f.Kind == notSent:
		return connector.ErrNotSent
	case f.Kind == unknownOrder:
		return connector.ErrUnknownOrder
	}
	return errFailed
}

// failureOf converts an error of a connector to a failure.
func failureOf(err error) *failure {
	var refusal *payment.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return &failure{refused, refusal.Code, refusal.Description}
	case errors.Is(err, connector.ErrNotSent):
		return &failure{Kind: notSent}
	case errors.Is(err, connector.ErrUnknownOrder):
		return &failure{Kind: unknownOrder}
	}
	return &failure{Kind: failed}
}

// Response returns a response about an order as programs send it, and the error of the call, if any.
func Response(r payment.Report, err error) string {
	answer := orderAnswer{Report: r, Error: failureOf(err)}
	if err != nil {
		answer.Report = payment.Report{}
	}
	raw, wrong := encode(answer)
	if err = errors.Join(err, wrong); err != nil {
		return fmt.Sprintf("%s (%v)", raw, err)
	}
	return string(raw)
}

// merge combines the outcomes of the beginning and the end of a read.
func merge(first, last connector.Outcome) connector.Outcome {
	if last.Memory == nil {
		last.Memory = first.Memory
	}
	if last.ConsentUntil == nil {
		last.ConsentUntil = first.ConsentUntil
	}
	last.RetryAfter = cmp.Or(last.RetryAfter, first.RetryAfter)
	return last
}
