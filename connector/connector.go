// Package connector says what a connector to a bank must do, what it may do,
// and which ones a deployment has.
//
// A connector owns the conversation with one kind of bank: it translates an
// order into the bank's words and the bank's words into a payment.Report. It
// does not own state: what it needs for its next call about an order goes back and
// forth as the memory of the order, and it keeps nothing else that the service relies
// on, changes no payment and decides nothing about retries. What it answers
// is checked by the payment's own rules.
//
// It fails in four ways that callers must tell apart: a *payment.Refusal is
// the bank's business refusal and the only one that rejects a payment;
// ErrNotSent means that not one byte of an order reached the bank; ErrUnknownOrder
// means that the bank knows no order of that key; every other error leaves the
// outcome unknown, and the bank has to be asked.
package connector

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/payment"
)

// ErrNotSent marks a failure before anything was sent to the bank.
var ErrNotSent = errors.New("nothing was sent to the bank")

// ErrUnknownOrder is the answer of Status when the bank has no order of that key.
var ErrUnknownOrder = errors.New("the bank knows no such order")

// Profile describes a connector as data: what clients see of it and what it
// can carry.
type Profile struct {
	// UUID names the connector everywhere and for ever.
	UUID string
	// ID is the deprecated numeric name, unique within a deployment.
	ID int64
	// Name is what people read.
	Name string
	// Countries are ISO 3166-1 alpha-2 codes.
	Countries []string
	// Sources are the channels by which the connector reaches its bank.
	Sources []Source
	// Hidden connectors are not offered to payers.
	Hidden bool
	// Sandbox connectors move no money and refuse to load in live domains.
	Sandbox bool
	// Payments is nil when the connector initiates no payments.
	Payments *payment.Settings
	// Data is nil when the connector reads nothing.
	Data *DataSettings
	// PaymentFields are asked of the payer, or of the client, at validation.
	PaymentFields []payment.Field
	// Idempotent declares that the bank recognises an order's key, so that
	// the same order may be sent again when nobody knows whether it arrived.
	Idempotent bool
	// ExecutesAtOnce declares that the bank executes an order once its payer has
	// validated, and does not wait for the client's confirmation.
	ExecutesAtOnce bool
	// Mechanism is the one that connections have unless another is asked for, and
	// SyncDays how many days are between two synchronisations, in decimal, as a
	// domain wants it; empty for what is usual.
	Mechanism passerelle.AuthMechanism
	SyncDays  string
	// Restricted connectors take no new connections; those there are go on.
	Restricted bool
	// Disturbed connectors have failed several times in a row. People are told before they
	// choose one.
	Disturbed bool
	Labels    Labels
}

// Labels is what people and programs tell a connector by, beside its name. All of
// it may be empty.
type Labels struct {
	// Slug is a short name, not unique.
	Slug string
	// Code is the bank's own in its country, such as the French CIB.
	Code string
	// Siret is the French number of the establishment.
	Siret string
	// Color is hexadecimal, without a hash.
	Color string
	// URLs are the institution's sites.
	URLs []string
	// Beta connectors may be unreliable; Charged ones are billed.
	Beta, Charged bool
}

// Source is one channel of a connector. Its ID is unique within a deployment
// and, like its name, for ever the same.
type Source struct {
	ID   int64
	Name string // openapi, directaccess or fallback
	// Mechanisms are those by which a person lets the connector read through
	// the source, the first one by default; none where it only initiates payments.
	Mechanisms []passerelle.AuthMechanism
	// Priority orders the sources of a connector, the lowest first.
	Priority int
	// Disabled is since when a domain takes no connections and payments through
	// the source, nil when it does.
	Disabled *time.Time
}

// Data reports whether the source can be read through.
func (s Source) Data() bool { return len(s.Mechanisms) > 0 }

// Connector is the duty of every connector: to say what it is.
type Connector interface {
	Profile() Profile
}

// Order is one payment as it goes to a bank.
type Order struct {
	Domain passerelle.DomainID
	// Key is the same for every call about the same order, and different
	// for every other order.
	Key       string
	Payment   payment.Payment
	Mechanism string
	// Fields are the values of the connector's payment fields.
	Fields map[string]string
	// ReturnURL is where the bank sends the payer's browser afterwards.
	ReturnURL string
	// ManualConfirmation asks the bank to wait, once the payer has validated,
	// for the client's confirmation before it executes.
	ManualConfirmation bool
	// Memory is what the last report about the order left, nil before there was one.
	Memory []byte
	// Callback is the query with which the bank sent the payer's browser back; nil
	// when the payer did not just come back.
	Callback url.Values
	// Device is the payer's, empty unless they take part.
	Device Device
	// Now is the present instant of the domain.
	Now time.Time
}

// Initiator is the ability to initiate payments.
type Initiator interface {
	Connector
	// Initiate sends the order once. The context's deadline bounds the whole
	// exchange.
	Initiate(ctx context.Context, o Order) (payment.Report, error)
	// Status asks what became of the order of o.Key. It never sends an order.
	Status(ctx context.Context, o Order) (payment.Report, error)
}

// Answer is what came back for an action that is not a redirect. Only the
// member that belongs to Action is set.
type Answer struct {
	Action payment.Action
	// Fields are the values for additionalInformationNeeded.
	Fields map[string]string
	// Yes is the answer to psuValidation and confirm, and true for decoupled.
	Yes bool
}

// Responder is the ability to carry an order on after an action that is not a
// redirect.
type Responder interface {
	Initiator
	// Answer gives the bank what it waits for. It may be lost, but is never
	// sent twice by the service; a bank that waits for something else, or no
	// more, ignores it and reports where the order stands.
	Answer(ctx context.Context, o Order, a Answer) (payment.Report, error)
}

// Canceller is the ability to cancel an order that a bank has taken.
type Canceller interface {
	Initiator
	// Cancel asks the bank to cancel the order; o.ReturnURL is where the bank
	// sends the payer after approving that. A bank that has been asked already
	// reports where the cancellation stands.
	Cancel(ctx context.Context, o Order) (payment.Report, error)
}

// Registry is the set of connectors of a deployment, in the order they are
// shown. It may be replaced while it is in use: whoever holds a connector goes on
// with it.
type Registry struct{ set atomic.Pointer[set] }

// set is what a registry holds at a time. It does not change.
type set struct {
	list []Connector
	byID map[string]Connector
}

// NewRegistry checks that the connectors have distinct names, sources of their
// own and the abilities their profiles claim.
func NewRegistry(connectors ...Connector) (*Registry, error) {
	r := &Registry{}
	return r, r.Replace(connectors...)
}

// Replace puts other connectors in the place of those there are, or leaves them with
// an error as NewRegistry has it.
func (r *Registry) Replace(connectors ...Connector) error {
	next, err := newSet(connectors)
	if err == nil {
		r.set.Store(next)
	}
	return err
}

func newSet(connectors []Connector) (*set, error) {
	next := &set{list: connectors, byID: map[string]Connector{}}
	sources := map[int64]bool{}
	for _, c := range connectors {
		p := c.Profile()
		for _, s := range p.Sources {
			if sources[s.ID] {
				return nil, fmt.Errorf("connector %s: the number %d of its source %s is taken", p.Name, s.ID, s.Name)
			}
			sources[s.ID] = true
		}
		for _, name := range []string{p.UUID, fmt.Sprint(p.ID)} {
			if _, taken := next.byID[name]; taken {
				return nil, fmt.Errorf("connector %s: the name %s is taken", p.Name, name)
			}
			next.byID[name] = c
		}
		if err := checkAbilities(c, p); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func checkAbilities(c Connector, p Profile) error {
	if _, able := c.(Initiator); able != (p.Payments != nil) {
		return fmt.Errorf("connector %s: payment settings and the ability to initiate go together", p.Name)
	}
	if _, able := c.(DataReader); able != (p.Data != nil) {
		return fmt.Errorf("connector %s: data settings and the ability to read go together", p.Name)
	}
	return checkLabels(p)
}

func checkLabels(p Profile) error {
	if p.Payments == nil || p.Payments.MaxLabel == 0 || p.Payments.MaxLabel >= payment.MaxLabel && p.Payments.MaxLabel <= payment.LongestLabel {
		return nil
	}
	return fmt.Errorf("connector %s: labels of %d characters are not between %d and %d", p.Name, p.Payments.MaxLabel, payment.MaxLabel, payment.LongestLabel)
}

// All lists the connectors, in order. The list is not to be changed.
func (r *Registry) All() []Connector { return r.set.Load().list }

// Initiators lists the connectors that initiate payments, in order.
func (r *Registry) Initiators() []Initiator {
	var able []Initiator
	for _, c := range r.All() {
		if initiator, ok := c.(Initiator); ok {
			able = append(able, initiator)
		}
	}
	return able
}

// Initiator finds a connector that initiates payments by its UUID or its
// numeric id in decimal.
func (r *Registry) Initiator(name string) (Initiator, bool) {
	initiator, ok := r.set.Load().byID[name].(Initiator)
	return initiator, ok
}

// DataReader finds a connector that reads by its UUID or its numeric id in
// decimal.
func (r *Registry) DataReader(name string) (DataReader, bool) {
	reader, ok := r.set.Load().byID[name].(DataReader)
	return reader, ok
}
