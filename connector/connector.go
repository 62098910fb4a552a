// Package connector defines what a connector to a bank must do and may do, and which connectors a
// deployment has.
//
// A connector owns the communication with one kind of bank: it translates an order into a request
// to the bank, and the bank's responses into a payment.Report. It stores nothing. It returns the
// data that its next call about an order needs. The service stores this data as the memory of the
// order. A connector changes no payment and decides nothing about retries. The rules of package
// payment check its reports.
//
// Callers must tell four failures apart. A *payment.Refusal means that the bank refused the order.
// ErrNotSent means that the call had no effect at the bank: a new order with this error is
// rejected. ErrUnknownOrder means that the bank or the connector does not know the order. After
// every other error, the outcome is unknown, and the service asks the bank.
package connector

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/payment"
)

// ErrNotSent means that a call had no effect: it failed before it sent data to the bank, or the
// bank was closed or busy.
var ErrNotSent = errors.New("nothing was sent to the bank")

// ErrUnknownOrder means that the bank has no order with the key, or that the connector cannot
// identify the order.
var ErrUnknownOrder = errors.New("the bank knows no such order")

// Profile describes what a connector can do and what clients see of it.
type Profile struct {
	// UUID identifies the connector and never changes. Its letters are in lower case.
	UUID string
	// ID is the deprecated numeric id, unique within a deployment.
	ID int64
	// Name is the name for people.
	Name string
	// Countries are ISO 3166-1 alpha-2 codes.
	Countries []string
	// Sources are the channels by which the connector reaches its bank.
	Sources []Source
	// Hidden connectors are not offered to people.
	Hidden bool
	// Sandbox connectors move no money. Live domains cannot use them.
	Sandbox bool
	// Payments is nil when the connector initiates no payments.
	Payments *payment.Settings
	// Data is nil when the connector reads nothing.
	Data *DataSettings
	// PaymentFields are the fields that the payer or the client fills in at validation.
	PaymentFields []payment.Field
	// Idempotent declares that the bank recognises an order's key. When the service does not know
	// whether an order arrived, it may send the same order again until the order is KeyLife old. A
	// KeyLife of zero means DefaultKeyLife.
	Idempotent bool
	KeyLife    time.Duration
	// ApprovalLife is the time during which a payer can still approve an abandoned order that the
	// bank did not cancel. During this time, the service asks the bank, and does not end the
	// payment itself. Afterwards, a payment still waits for the bank if its report is Unproved.
	// Zero means that the bank accepts no such approval.
	ApprovalLife time.Duration
	// ExecutesAtOnce declares that the bank executes an order as soon as the payer has validated,
	// without waiting for the client's confirmation.
	ExecutesAtOnce bool
	// Mechanism is the default mechanism of connections. SyncDays is the domain's number of days
	// between two syncs, in decimal. Empty means the default.
	Mechanism passerelle.AuthMechanism
	SyncDays  string
	// Restricted connectors accept no new connections. Existing connections continue.
	Restricted bool
	// Disturbed connectors have failed several times in a row. Pages say so before a person chooses
	// such a connector.
	Disturbed bool
	// Peculiar connectors lead to a simulated bank with special behaviour. Pages list these
	// connectors separately.
	Peculiar bool
	Labels   Labels
}

// UsableIn reports whether a domain may use the connector. A live domain cannot use a simulated
// bank.
func (p Profile) UsableIn(d passerelle.Domain) bool {
	return d.Kind == passerelle.Sandbox || !p.Sandbox
}

// DefaultKeyLife is how long a bank recognises a key when its connector does not say so. The time
// is short because a bank that has forgotten the key would execute a repeated order again.
const DefaultKeyLife = time.Hour

// Labels describe a connector to people and programs, in addition to its name. Each may be
// empty.
type Labels struct {
	// Slug is a short name, not unique.
	Slug string
	// Code is the bank's code in its country, such as the French CIB.
	Code string
	// Siret is the French number of the establishment.
	Siret string
	// Color is hexadecimal, without a hash.
	Color string
	// URLs are the institution's sites.
	URLs []string
	// Beta connectors may be unreliable. Charged connectors are billed.
	Beta, Charged bool
}

// Source is one channel of a connector. Its ID is unique within a deployment. Its ID and name never
// change.
type Source struct {
	ID   int64
	Name string // openapi, directaccess or fallback
	// Mechanisms are the ways in which a person can authorise reading through the source, the
	// default first. A source that only initiates payments has no mechanisms.
	Mechanisms []passerelle.AuthMechanism
	// Priority orders the sources of a connector, the lowest first.
	Priority int
	// Disabled is the time at which a domain switched the source off, nil when it is on.
	Disabled *time.Time
}

// Data reports whether data can be read through the source.
func (s Source) Data() bool { return len(s.Mechanisms) > 0 }

// Connector is the interface that every connector implements.
type Connector interface {
	Profile() Profile
}

// Order is a payment as it is sent to a bank.
type Order struct {
	Domain passerelle.DomainID
	// Key identifies the order: it is the same in every call about an order, and different for
	// every other order.
	Key       string
	Payment   payment.Payment
	Mechanism string
	// Fields are the values of the connector's payment fields.
	Fields map[string]string
	// ReturnURL is the address to which the bank sends the payer's browser back.
	ReturnURL string
	// NotificationURL is the address at which the bank may report, with a POST, that the order has
	// changed. The service then asks for the status and ignores the body of the POST.
	NotificationURL string
	// ManualConfirmation asks the bank to execute the order only after the client has confirmed the
	// payer's validation.
	ManualConfirmation bool
	// Abandoned means that the payer has abandoned the order in this service. The connector must
	// not give the payer a new way to approve it.
	Abandoned bool
	// Repeated means that an earlier call may already have sent the order, and that its outcome is
	// unknown. The service repeats an order only at a connector with Profile.Idempotent. Initiate
	// may then return a *payment.Refusal only if the bank certainly has no order with this key.
	Repeated bool
	// Memory is the memory of the last report about the order, nil before the first report.
	Memory []byte
	// Save stores a memory in the middle of a call, before the report. A connector calls it after
	// the bank has issued data that the bank issues only once, such as a refresh token. A failure
	// later in the call then does not lose this memory. Save is nil when the caller stores only
	// reports.
	Save func(ctx context.Context, memory []byte)
	// Callback is the query with which the bank sent the payer's browser back. It is nil unless the
	// payer has just returned from the bank. If a call fails and neither saves nor returns a
	// memory, the next call contains the query again.
	Callback url.Values
	// Device is the payer's device, empty when the payer is not present. In a repeated order, it is
	// the device that was stored with the first order.
	Device Device
	// Now is the present instant of the domain.
	Now time.Time
}

// Initiator is a connector that initiates payments.
type Initiator interface {
	Connector
	// Initiate sends the order once. The context's deadline covers the complete exchange. If the
	// outcome is unknown, CheckAfter of the report can lengthen the wait until the next call.
	Initiate(ctx context.Context, o Order) (payment.Report, error)
	// Status returns the state of the order with o.Key. It never sends an order. If it fails, CheckAfter
	// of the report can lengthen the wait until the next call.
	Status(ctx context.Context, o Order) (payment.Report, error)
}

// Answer is the answer to an action that is not a redirect. Only the field that belongs to Action
// is set.
type Answer struct {
	Action payment.Action
	// Fields are the values for additionalInformationNeeded.
	Fields map[string]string
	// Yes is the answer to psuValidation and confirm. It is true for decoupled.
	Yes bool
}

// Responder is a connector that can continue an order after an action that is not a
// redirect.
type Responder interface {
	Initiator
	// Answer sends the bank the answer that the bank waits for. An answer may get lost, but the
	// service never sends it twice. If the bank does not wait for this answer, the answer has no
	// effect, and Answer reports the state of the order. During a cancellation, a *payment.Refusal
	// means that the bank refuses only the cancellation.
	Answer(ctx context.Context, o Order, a Answer) (payment.Report, error)
}

// Canceller is a connector that can cancel an order that a bank has accepted.
type Canceller interface {
	Initiator
	// Cancel asks the bank to cancel the order. o.ReturnURL is the address to which the bank sends
	// the payer after the payer approves the cancellation. If the bank has already been asked to
	// cancel, Cancel reports the state of the cancellation.
	Cancel(ctx context.Context, o Order) (payment.Report, error)
}

// Registry is the ordered set of connectors of a deployment. Replace does not affect callers that
// already have a connector.
type Registry struct{ set atomic.Pointer[set] }

// set is a snapshot of a registry. Its connectors never change.
type set struct {
	list []Connector
	byID map[string]Connector
	// unhealthy holds the results of the last check of all banks.
	unhealthy unhealthy
}

// NewRegistry makes a registry. It fails when connectors share a UUID, a numeric id or the id of a
// source. It also fails when the abilities of a connector differ from its profile, and when a
// profile's limit for labels is out of range.
func NewRegistry(connectors ...Connector) (*Registry, error) {
	r := &Registry{}
	return r, r.Replace(connectors...)
}

// Replace replaces the connectors. It fails like NewRegistry. On failure it changes nothing.
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
		for _, id := range []string{p.UUID, fmt.Sprint(p.ID)} {
			if other, taken := next.byID[id]; taken {
				return nil, fmt.Errorf("connectors %s and %s have the same UUID or number %s", other.Profile().Name, p.Name, id)
			}
			next.byID[id] = c
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

// All lists the connectors in order. Callers must not change the list.
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

// Initiator finds a connector that initiates payments, by its UUID or its numeric id in decimal.
func (r *Registry) Initiator(name string) (Initiator, bool) {
	initiator, ok := r.set.Load().named(name).(Initiator)
	return initiator, ok
}

// DataReader finds a connector that reads data, by its UUID or its numeric id in decimal.
func (r *Registry) DataReader(name string) (DataReader, bool) {
	reader, ok := r.set.Load().named(name).(DataReader)
	return reader, ok
}

// Find finds a connector by its UUID or its numeric id in decimal.
func (r *Registry) Find(name string) (Connector, bool) {
	c := r.set.Load().named(name)
	return c, c != nil
}

// named returns the connector that passerelle.NamesConnector finds, or nil.
func (s *set) named(name string) Connector { return s.byID[strings.ToLower(name)] }

// Agreed returns the first name that is not empty, in lower case. It fails with Invalid when this
// name means a connector, and another name of the same request does not mean this connector.
func (r *Registry) Agreed(all ...passerelle.NamedConnector) (passerelle.NamedConnector, error) {
	known := r.set.Load()
	all = slices.DeleteFunc(all, func(n passerelle.NamedConnector) bool { return n.Name == "" })
	if len(all) == 0 {
		return passerelle.NamedConnector{}, nil
	}
	for i := range all {
		all[i].Name = strings.ToLower(all[i].Name)
	}
	first := known.named(all[0].Name)
	for _, other := range all[1:] {
		second := known.named(other.Name)
		if first != nil && (second == nil || first.Profile().UUID != second.Profile().UUID) {
			return all[0], passerelle.InvalidField(other.Field, "names another connector than %s; send only one of them", all[0].Field)
		}
	}
	return all[0], nil
}
