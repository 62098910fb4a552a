// Package initiation contains the use cases of payments. It creates payments, validates them with
// the payer, answers the bank's questions, cancels payments, follows them at the bank, and expires
// them. It also recovers work that a crash interrupted.
//
// It owns the sequence of steps. Before each call to a bank that may change an order, it commits
// its intention as an attempt. It calls no bank inside a transaction. It commits a change of state
// together with its transition, its event and its deliveries. It does not own the rules of a
// payment (package payment), the protocols of banks (their connectors) or the sending of events
// (package delivery).
//
// Its methods fail with *passerelle.Error for mistakes of the caller. A missing or invalid response
// from a bank does not reject the payment. In this case, the attempt stays recorded and blocks
// other acts on the payment. A loop asks the bank for the state of the order. The service sends an
// order again only under three conditions. First, the connector declares that its bank recognises a
// repeated key. Second, the bank says that it does not know the key. Third, the bank still
// remembers keys of the order's age. The service never repeats an answer or a cancellation.
package initiation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/notification"
	"passerelle/internal/search"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/tracing"
	"passerelle/internal/wire"
	"passerelle/payment"
	"passerelle/webhook"
)

// Initiation contains the use cases of payments. Every field is required unless its comment says
// otherwise.
type Initiation struct {
	DB         *store.DB
	Connectors *connector.Registry
	// Random is the source of reference ids and attempt keys.
	Random io.Reader
	// Now returns the real time. The clock of a sandbox domain converts it to the domain's time.
	Now func() time.Time
	// MAC returns the message authentication code of data for a purpose. The code protects the
	// return links, which pass through the payer's browser.
	MAC func(purpose string, data []byte) []byte
	// Notifications creates the addresses to which banks send reports. Nil means no addresses.
	Notifications *notification.Notifications
	// Wake wakes the sender of webhooks after the commit of an event.
	Wake func()
	Log  *slog.Logger
	// Tracer continues the trace of an order when a loop or a caller asks about the order. Nil
	// means no traces.
	Tracer *tracing.Tracer
	// AnswerTime is the time for which a caller waits for a bank. Lease is the time for which an
	// attempt belongs to the process that opened it or took it over. Lease must be longer than
	// AnswerTime. A response that arrives in time is then stored before another process asks the
	// bank. Zero means 20 seconds for AnswerTime and 30 seconds for Lease.
	AnswerTime, Lease time.Duration
	// PassTime is the time for which Follow waits for the calls of one pass. Zero means a second.
	PassTime time.Duration
	// FollowAgain makes the next pass of Follow due now. Nil leaves the passes to their schedule.
	FollowAgain func()
	// Callers limits the callers that wait for banks.
	Callers *bankcall.Callers

	followed followed
}

// addition adds statements to the transaction of an act.
type addition func(*store.Tx) error

// onRecord returns an addition that stores the record of an act in the act's transaction. The
// record consists of entries of the audit log and, unless seen is nil, the page that the payer saw.
// An act that the service refuses before this transaction leaves no record.
func (i *Initiation) onRecord(d passerelle.Domain, seen *payment.Evidence, acts []store.Audit) addition {
	return func(tx *store.Tx) error {
		if err := tx.Audit(acts...); err != nil || seen == nil {
			return err
		}
		evidence := *seen
		evidence.Domain, evidence.At = d.ID, i.now(d)
		return tx.Witness(evidence)
	}
}

// nothingElse adds nothing to a transaction.
func nothingElse(*store.Tx) error { return nil }

func (i *Initiation) answerTime() time.Duration { return cmp.Or(i.AnswerTime, 20*time.Second) }

func (i *Initiation) lease() time.Duration { return cmp.Or(i.Lease, store.AttemptLease) }

// now returns the present instant of a domain with the precision of the database. A response
// therefore contains the same instant as later reads.
func (i *Initiation) now(d passerelle.Domain) time.Time {
	return d.Clock.Now(i.Now()).Truncate(time.Microsecond)
}

// Creation is a client's request for a payment.
type Creation struct {
	By passerelle.ClientID
	// RedirectURIs are the redirect URIs of this client, as read during the request. Create reads them
	// if they are nil.
	RedirectURIs []string
	// Settings are the settings of the domain.
	Settings settings.Values
	Draft    payment.Draft
	// Strict makes Create fail for fields that it would otherwise drop.
	Strict bool
	// Execution is the right to execute the request under its idempotency key, if it has one.
	// Response renders the response for repetitions of the request.
	Execution store.Execution
	Response  func(*payment.Payment) ([]byte, error)
}

// Create stores a payment in state created. It stores the acts of an operator in the audit log, in
// the same transaction. It fails with an Invalid error that names the field when the draft breaks a
// rule.
func (i *Initiation) Create(ctx context.Context, d passerelle.Domain, request Creation, acts ...store.Audit) (*payment.Payment, error) {
	policy := payment.Policy{MaxAmount: request.Settings.Valid(settings.MaxAmount), Periodic: request.Settings.On(settings.PeriodicEnabled), MaxLabel: i.maxLabel(request.Draft.Connector), Strict: request.Strict}
	p, first, err := payment.New(request.Draft, policy, i.Random, i.now(d))
	if err != nil {
		return nil, err
	}
	p.Domain, p.Client = d.ID, request.By
	if err := i.checkDraft(ctx, d, p, request.RedirectURIs); err != nil {
		return nil, err
	}
	err = i.DB.Write(ctx, func(tx *store.Tx) error {
		i.name(tx, p)
		if err := tx.CreatePayment(p, first); err != nil {
			return err
		}
		search.Add(tx, p)
		if err := request.keepResponse(tx, p); err != nil {
			return err
		}
		return tx.AuditOf(int64(p.ID), acts...)
	})
	if errors.Is(err, store.ErrConstraint) {
		err = cmp.Or(i.checkUsers(ctx, p), err) // a user may have been deleted in the meantime
	}
	if err != nil {
		return nil, fmt.Errorf("store a payment: %w", err)
	}
	return p, nil
}

// keepResponse stores the payment's id and, unless Response is nil, the response under the
// idempotency key.
func (c Creation) keepResponse(tx *store.Tx, p *payment.Payment) error {
	if c.Execution.ID == 0 || c.Response == nil {
		return tx.Executed(c.Execution, int64(p.ID))
	}
	response, err := c.Response(p)
	if err != nil {
		return err
	}
	return tx.Responded(c.Execution, int64(p.ID), response)
}

// maxLabel returns the MaxLabel in a connector's profile, or payment.MaxLabel for an unknown
// connector.
func (i *Initiation) maxLabel(name string) int {
	c, known := i.Connectors.Initiator(name)
	if !known {
		return payment.MaxLabel
	}
	return c.Profile().Payments.MaxLabel
}

// checkDraft checks the parts of a draft that depend on stored data: the client's redirect URIs,
// which it reads if `registered` is nil, the users of the domain and the chosen connector.
func (i *Initiation) checkDraft(ctx context.Context, d passerelle.Domain, p *payment.Payment, registered []string) error {
	if registered == nil {
		var err error
		if registered, err = i.redirectURIs(ctx, d, p.Client); err != nil {
			return err
		}
	}
	if err := checkRegistered(d, p.Client, "client_redirect_uri", p.ClientRedirectURI, registered); err != nil {
		return err
	}
	if err := i.checkUsers(ctx, p); err != nil {
		return err
	}
	if p.Connector == "" {
		return nil
	}
	_, chosen, err := i.eligible(ctx, d, p, p.Connector)
	if err != nil {
		return err
	}
	p.Connector = chosen.UUID
	return nil
}

// CheckRedirect fails with an Invalid error that names the field when a URI is not registered with
// the client. For a client without registered URIs, it accepts any URI in a sandbox domain and no
// URI in a live domain.
func (i *Initiation) CheckRedirect(ctx context.Context, d passerelle.Domain, by passerelle.ClientID, field, uri string) error {
	registered, err := i.redirectURIs(ctx, d, by)
	if err != nil {
		return err
	}
	return checkRegistered(d, by, field, uri, registered)
}

func (i *Initiation) redirectURIs(ctx context.Context, d passerelle.Domain, by passerelle.ClientID) ([]string, error) {
	registered, err := i.DB.RedirectURIs(ctx, d.ID, by)
	if err != nil {
		return nil, fmt.Errorf("load the redirect URIs of client %d: %w", by, err)
	}
	return registered, nil
}

func checkRegistered(d passerelle.Domain, by passerelle.ClientID, field, uri string, registered []string) error {
	if len(registered) == 0 && d.Kind == passerelle.Sandbox || slices.Contains(registered, uri) {
		return nil
	}
	return passerelle.InvalidField(field, "%q is not registered with client %d; registered are %q", uri, by, registered)
}

// checkReturn fails unless webview_url is on the site of one of the client's redirect URIs, or on
// the domain's own site. The holder of a payment token can set this URL, and the domain's callback
// then redirects payers to it. In a sandbox, a client without registered URIs may use any site.
func checkReturn(d passerelle.Domain, p *payment.Payment, client store.Client) error {
	if len(client.RedirectURIs) == 0 && d.Kind == passerelle.Sandbox {
		return nil
	}
	for _, known := range append(client.RedirectURIs, d.BaseURL) {
		if site(known) == site(p.WebviewURL) {
			return nil
		}
	}
	return passerelle.InvalidField("webview_url", "must be on the site of a redirect URI registered with client %d, or on %s; registered are %q",
		p.Client, site(d.BaseURL), client.RedirectURIs)
}

// site returns the scheme and the host of a valid URL.
func site(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// checkUsers fails when the user of an identity does not exist in the domain.
func (i *Initiation) checkUsers(ctx context.Context, p *payment.Payment) error {
	type named struct {
		path string
		user passerelle.UserID
	}
	var all []named
	add := func(path string, identity *passerelle.Identity) {
		if identity != nil && identity.IDUser != 0 {
			all = append(all, named{path + ".id_user", identity.IDUser})
		}
	}
	add("payer_identity", p.PayerIdentity)
	add("operator_identity", p.OperatorIdentity)
	for n, in := range p.Instructions {
		add(fmt.Sprintf("instructions[%d].beneficiary_identity", n), in.BeneficiaryIdentity)
	}
	ids := make([]passerelle.UserID, len(all))
	for n, one := range all {
		ids[n] = one.user
	}
	known, err := i.DB.KnownUsers(ctx, p.Domain, ids)
	if err != nil {
		return fmt.Errorf("find the users of a payment: %w", err)
	}
	for _, one := range all {
		if !known[one.user] {
			return passerelle.InvalidField(one.path, "no such user in this domain")
		}
	}
	return nil
}

// Offered lists the connectors that payers can choose: the visible connectors that can make the
// payment.
func (i *Initiation) Offered(ctx context.Context, d passerelle.Domain, p *payment.Payment) ([]connector.Profile, error) {
	profiles, err := i.initiatorsFor(ctx, d, p)
	return slices.DeleteFunc(profiles, func(profile connector.Profile) bool {
		return profile.Hidden || !p.Carries(*profile.Payments, i.now(d))
	}), err
}

// Chosen returns the connector that the client or the payer has already chosen, if it can make the
// payment. The connector may be hidden.
func (i *Initiation) Chosen(ctx context.Context, d passerelle.Domain, p *payment.Payment) (connector.Profile, bool, error) {
	if p.Connector == "" {
		return connector.Profile{}, false, nil
	}
	_, profile, err := i.eligible(ctx, d, p, p.Connector)
	if errors.Is(err, passerelle.Invalid) {
		return connector.Profile{}, false, nil
	}
	if err != nil {
		return connector.Profile{}, false, err
	}
	return profile, true, nil
}

// eligible finds a connector by UUID or numeric id. It fails with an Invalid error when the
// connector cannot make the payment. The error contains the reason.
func (i *Initiation) eligible(ctx context.Context, d passerelle.Domain, p *payment.Payment, name string) (connector.Initiator, connector.Profile, error) {
	profiles, err := i.initiatorsFor(ctx, d, p)
	if err != nil {
		return nil, connector.Profile{}, err
	}
	c, known := i.Connectors.Initiator(name)
	offers := func(profile connector.Profile) bool { return known && profile.UUID == c.Profile().UUID }
	at := slices.IndexFunc(profiles, offers)
	if at < 0 {
		return nil, connector.Profile{}, passerelle.InvalidField("connector_uuid", "no connector with this id initiates payments")
	}
	profile := profiles[at]
	if long := p.LongLabel(*profile.Payments); long >= 0 {
		return nil, profile, passerelle.InvalidField("connector_uuid", "%s does not support this payment: the label of instructions[%d] is longer than it accepts", profile.Name, long)
	}
	reasons := p.Incompatibilities(*profile.Payments, i.now(d))
	if payment.Eligible(reasons) {
		return c, profile, nil
	}
	for _, reason := range reasons {
		if reason.Severity == payment.Incompatible {
			return nil, profile, passerelle.InvalidField("connector_uuid", "%s does not support this payment: %s (%s)", profile.Name, reason.Description, reason.Code)
		}
	}
	return c, profile, nil
}

// commit stores a changed payment, its transitions, an event for each transition, and the addition,
// in one transaction. It fails with store.ErrConflict when the payment has changed since it was
// loaded.
func (i *Initiation) commit(ctx context.Context, d passerelle.Domain, p *payment.Payment, steps []payment.Step, check *time.Time, also addition) error {
	events, err := i.events(ctx, d, steps)
	if err != nil {
		return err
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		transitions := make([]payment.Transition, len(steps))
		for n, step := range steps {
			transitions[n] = step.Transition
		}
		if err := tx.UpdatePayment(p, transitions, check); err != nil {
			return err
		}
		if err := also(tx); err != nil {
			return err
		}
		for _, e := range events {
			if err := tx.Emit(e); err != nil {
				return err
			}
		}
		if p.State.Final() {
			tx.EndPaymentTokens(d.ID, p.ID)
			tx.EndCallback(p)
		}
		if len(steps) > 0 {
			tx.AfterCommit(i.Wake)
		}
		return nil
	})
}

// events returns the events of a change. It stores the body of a large payment in parts before the
// change, so that requests to receivers do not hold the whole body in memory. If the change is not
// stored, a loop removes the parts.
func (i *Initiation) events(ctx context.Context, d passerelle.Domain, steps []payment.Step) ([]store.EmittedEvent, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	all := make([]store.EmittedEvent, len(steps))
	for n, step := range steps {
		all[n] = i.event(d, values, step)
		if err := i.DB.InParts(ctx, &all[n]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// event returns the event of one transition. The body of the event is the payment right after the
// transition, without the sensitive part of its identities.
func (i *Initiation) event(d passerelle.Domain, values settings.Values, step payment.Step) store.EmittedEvent {
	p := &step.Payment
	return store.EmittedEvent{
		Domain: p.Domain, Name: webhook.PaymentStateUpdated, Subject: subject, SubjectID: int64(p.ID),
		Version: step.Transition.Seq, Created: step.Transition.At, NotBefore: heldUntil(d, values, step),
		Body: wire.Encode(wire.NewPayment(p, wire.View{Location: values.Location(), ConnectorID: i.ConnectorID})),
	}
}

// subject is the subject of payment events.
const subject = "payment"

// ConnectorID returns the deprecated numeric id of a connector. The second result is false when no
// connector with the UUID initiates payments.
func (i *Initiation) ConnectorID(uuid string) (int64, bool) {
	c, known := i.Connectors.Initiator(uuid)
	if !known {
		return 0, false
	}
	return c.Profile().ID, true
}

// load reads a payment without the sensitive part of its identities. It fails with NotFound when
// the payment does not exist.
func (i *Initiation) load(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (*payment.Payment, error) {
	return loadBy(ctx, &i.DB.Reader, d, id)
}

func loadBy(ctx context.Context, r *store.Reader, d passerelle.Domain, id passerelle.PaymentID) (*payment.Payment, error) {
	p, err := r.Payment(ctx, d.ID, id, false)
	if errors.Is(err, store.ErrNotFound) {
		return nil, passerelle.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", id, err)
	}
	return p, nil
}
