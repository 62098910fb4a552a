package bank

import (
	"context"
	"errors"
	"time"

	"passerelle/testbank/ledger"
)

const authorisationKind = "authorisation"

// Subjects of authorisations, as the paths of the standard name them.
const (
	OfPayment      = "authorisations"
	OfCancellation = "cancellation-authorisations"
	OfConsent      = "consent-authorisations"
)

// Subject is what is authorised.
type Subject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Path is that of the thing, under the address of the API.
	Path string `json:"path"`
}

// Authorisation is one customer's, of one subject.
type Authorisation struct {
	ID string `json:"id"`
	// Secret is in the address of the page, and nowhere else.
	Secret   string   `json:"secret"`
	Subject  Subject  `json:"subject"`
	Party    string   `json:"party"`
	Approach Approach `json:"approach"`
	PSU      string   `json:"psu,omitempty"`
	// Status is an scaStatus.
	Status string `json:"status"`
	Method string `json:"method,omitempty"`
	// Round counts the codes that were right, Wrong the passwords and codes that were not.
	Round int `json:"round,omitempty"`
	Wrong int `json:"wrong,omitempty"`
	// Confirmation is the code that the third party has to bring.
	Confirmation string `json:"confirmation,omitempty"`
	// Application is what OAuth asked for.
	Application *Application `json:"application,omitempty"`
	Return      Return       `json:"return"`
	LinkEnds    time.Time    `json:"link_ends"`
	Next        time.Time    `json:"next,omitzero"`
}

// Key implements [ledger.Document].
func (a *Authorisation) Key() (kind, id string) { return authorisationKind, a.ID }

// Belongs implements [ledger.Document].
func (a *Authorisation) Belongs() string { return a.Subject.Kind + " " + a.Subject.ID }

// Due implements [ledger.Document].
func (a *Authorisation) Due() time.Time { return a.Next }

// Path is where the authorisation is, under the address of the API.
func (a *Authorisation) Path() string {
	if a.Subject.Kind == OfConsent {
		return a.Subject.Path + "/authorisations/" + a.ID
	}
	return a.Subject.Path + "/" + a.Subject.Kind + "/" + a.ID
}

// Open says that the customer has still to do something.
func (a *Authorisation) Open() bool {
	return a.Status != "finalised" && a.Status != "failed" && a.Status != "unconfirmed"
}

// Ticket opens the customer's page.
func (a *Authorisation) Ticket() string { return a.ID + "-" + a.Secret }

func (a *Authorisation) end(status string) { a.Status, a.Next = status, time.Time{} }

func subjectOf(o *Order) Subject { return Subject{OfPayment, o.ID, o.Path()} }

// begin starts an authorisation.
func (b *Bank) begin(tx *ledger.Tx, c Caller, s Subject, approach Approach) (*Authorisation, error) {
	now := b.Now()
	a := &Authorisation{
		ID: newID(), Secret: newID(), Subject: s, Party: c.Party, Approach: approach, PSU: c.PSU, Return: c.Return,
		Status: "received", LinkEnds: now.Add(b.Profile.LinkLife), Next: now.Add(b.Profile.Life),
	}
	switch {
	case a.PSU != "" && approach == Decoupled:
		a.Status = "started"
	case a.PSU != "" && approach == Embedded:
		a.Status = "psuIdentified"
	}
	return a, tx.Put(a)
}

// beginImplicitly starts the authorisation where the third party need not.
func (b *Bank) beginImplicitly(tx *ledger.Tx, c Caller, s Subject, approach Approach) (*Authorisation, error) {
	if b.Profile.Explicit || c.Prefers.Explicit || b.Profile.Signatories > 1 || approach == Embedded || approach == Decoupled && c.PSU == "" {
		return nil, nil //nolint:nilnil // the order goes on without
	}
	return b.begin(tx, c, s, approach)
}

// Begin starts an authorisation that the third party asks for. A password that comes
// along counts as the first step.
func (b *Bank) Begin(ctx context.Context, c Caller, s Subject, body []byte) (*Authorisation, error) {
	step, err := readStep(c, body)
	if err != nil {
		return nil, err
	}
	var a *Authorisation
	var refusal error
	err = b.update(ctx, func(tx *ledger.Tx) error {
		subject, approach, ret, err := b.authorisable(tx, c, s)
		if err != nil {
			return err
		}
		if c.Return.OK == "" {
			c.Return = ret
		}
		if _, known := CustomerByID(c.PSU); c.PSU != "" && !known {
			return Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "the bank has no such customer")
		}
		if approach == Decoupled && c.PSU == "" {
			return wrongFormat("PSU-ID", "the bank wants to know whom to ask")
		}
		if a, err = b.begin(tx, c, subject, approach); err != nil || step.Password == "" {
			return err
		}
		refusal, err = b.step(tx, a, step)
		return err
	})
	return a, errors.Join(err, refusal)
}

// authorisable finds what is to be authorised, and how.
func (b *Bank) authorisable(tx *ledger.Tx, c Caller, s Subject) (Subject, Approach, Return, error) {
	closed := Refuse("STATUS_INVALID", "", "there is nothing to authorise any more")
	if s.Kind == OfConsent {
		consent, err := b.consent(tx, c.Party, s.ID)
		if err == nil && consent.Status != "received" {
			err = closed
		}
		if err != nil {
			return s, "", Return{}, err
		}
		return Subject{s.Kind, s.ID, consent.Path()}, consent.Prefers, consent.Return, nil
	}
	order, err := b.order(tx, c.Party, s.ID)
	if err != nil {
		return s, "", Return{}, err
	}
	waits := order.waits()
	if s.Kind == OfCancellation {
		waits = order.Cancelling
	}
	if !waits {
		return s, "", Return{}, closed
	}
	return Subject{s.Kind, s.ID, order.Path()}, order.Prefers, order.Return, nil
}

// order finds a third party's order.
func (b *Bank) order(tx *ledger.Tx, party, id string) (*Order, error) {
	var o Order
	err := tx.Get(orderKind, id, &o)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && o.Party != party {
		return nil, Refuse("RESOURCE_UNKNOWN", "paymentId", "there is no such order")
	}
	return &o, err
}

// authorisation finds one of a subject.
func (b *Bank) authorisation(tx *ledger.Tx, party string, s Subject, id string) (*Authorisation, error) {
	var a Authorisation
	err := tx.Get(authorisationKind, id, &a)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (a.Party != party || a.Subject.Kind != s.Kind || a.Subject.ID != s.ID) {
		return nil, Refuse("RESOURCE_UNKNOWN", "authorisationId", "there is no such authorisation")
	}
	return &a, err
}

// Authorisation reads one of a subject.
func (b *Bank) Authorisation(ctx context.Context, c Caller, s Subject, id string) (*Authorisation, error) {
	var a *Authorisation
	err := b.update(ctx, func(tx *ledger.Tx) error {
		var err error
		a, err = b.authorisation(tx, c.Party, s, id)
		return err
	})
	return a, err
}

// Authorisations lists the ids of those of a subject.
func (b *Bank) Authorisations(ctx context.Context, c Caller, s Subject) ([]string, error) {
	ids := []string{}
	err := b.update(ctx, func(tx *ledger.Tx) error {
		if err := b.mustExist(tx, c, s); err != nil {
			return err
		}
		all, err := ledger.List[Authorisation](tx, authorisationKind, s.Kind+" "+s.ID)
		for _, a := range all {
			ids = append(ids, a.ID)
		}
		return err
	})
	return ids, err
}

func (b *Bank) mustExist(tx *ledger.Tx, c Caller, s Subject) error {
	if s.Kind == OfConsent {
		_, err := b.consent(tx, c.Party, s.ID)
		return err
	}
	_, err := b.order(tx, c.Party, s.ID)
	return err
}
