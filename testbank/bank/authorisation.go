package bank

import (
	"cmp"
	"context"
	"errors"
	"time"

	"passerelle/testbank/ledger"
)

const authorisationKind = "authorisation"

// These are the kinds of subjects. OfPayment and OfCancellation are path segments of the standard.
const (
	OfPayment      = "authorisations"
	OfCancellation = "cancellation-authorisations"
	OfConsent      = "consent-authorisations"
)

// Subject is the order, cancellation or consent that is authorised.
type Subject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Path is the path of the subject under the address of the API.
	Path string `json:"path"`
}

// Authorisation is the authorisation of one subject by one customer.
type Authorisation struct {
	ID string `json:"id"`
	// Secret is the second part of Ticket.
	Secret   string   `json:"secret"`
	Subject  Subject  `json:"subject"`
	Party    string   `json:"party"`
	Approach Approach `json:"approach"`
	PSU      string   `json:"psu,omitempty"`
	// Status is an scaStatus.
	Status string `json:"status"`
	Method string `json:"method,omitempty"`
	// SecondDue means that the first of two passwords was correct.
	SecondDue bool `json:"second_due,omitempty"`
	// CodesEntered is the number of correct codes. Wrong is the number of wrong passwords and
	// codes.
	CodesEntered int `json:"round,omitempty"`
	Wrong        int `json:"wrong,omitempty"`
	// Confirmation is the code that the third party has to send.
	Confirmation string `json:"confirmation,omitempty"`
	// Application is the request for an authorisation code. Only OAuth sets it.
	Application *Application `json:"application,omitempty"`
	Return      Return       `json:"return"`
	LinkEnds    time.Time    `json:"link_ends"`
	Next        time.Time    `json:"next,omitzero"`
}

// Key implements [ledger.Document].
func (a *Authorisation) Key() (string, string) { return authorisationKind, a.ID }

// Belongs implements [ledger.Document].
func (a *Authorisation) Belongs() string { return a.Subject.Kind + " " + a.Subject.ID }

// Due implements [ledger.Document].
func (a *Authorisation) Due() time.Time { return a.Next }

// Path returns the path of the authorisation under the address of the API.
func (a *Authorisation) Path() string {
	if a.Subject.Kind == OfConsent {
		return a.Subject.Path + "/authorisations/" + a.ID
	}
	return a.Subject.Path + "/" + a.Subject.Kind + "/" + a.ID
}

// Open reports whether the customer still has something to do.
func (a *Authorisation) Open() bool {
	return a.Status != "finalised" && a.Status != "failed" && a.Status != "unconfirmed"
}

// Ticket returns the ticket that opens the customer's page.
func (a *Authorisation) Ticket() string { return a.ID + "-" + a.Secret }

func (a *Authorisation) end(status string) { a.Status, a.Next = status, time.Time{} }

// authorisable is an order, cancellation or consent that waits for authorisation.
type authorisable struct {
	subject  Subject
	approach Approach
	ret      Return
	// psu is the customer that the subject belongs to, if the bank knows the customer.
	psu string
}

func (o *Order) authorisable(kind string) authorisable {
	return authorisable{Subject{kind, o.ID, o.Path()}, o.Prefers, o.Return, o.PSU}
}

func (c *Consent) authorisable() authorisable {
	return authorisable{Subject{OfConsent, c.ID, c.Path()}, c.Prefers, c.Return, c.PSU}
}

// begin starts an authorisation.
func (b *Bank) begin(tx *ledger.Tx, c Caller, of authorisable) (*Authorisation, error) {
	now := b.Now()
	a := &Authorisation{
		ID: newID(), Secret: newID(), Subject: of.subject, Party: c.Party, Approach: of.approach, PSU: c.PSU, Return: of.ret,
		Status: "received", LinkEnds: now.Add(b.Profile.LinkLife), Next: now.Add(b.Profile.Life),
	}
	if c.Return.OK != "" {
		a.Return = c.Return
	}
	switch {
	case of.approach == Redirect || of.approach == OAuth:
		// On its own page, the bank does not ask who the customer is if the order or consent names
		// the customer. In the other approaches, the third party must send the PSU-ID.
		a.PSU = cmp.Or(c.PSU, of.psu)
	case a.PSU != "" && of.approach == Decoupled:
		a.Status = "started"
	case a.PSU != "" && of.approach == Embedded:
		a.Status = "psuIdentified"
	}
	return a, tx.Put(a)
}

// beginImplicitly starts the authorisation, or returns nil if the third party must start it.
func (b *Bank) beginImplicitly(tx *ledger.Tx, c Caller, of authorisable) (*Authorisation, error) {
	if b.Profile.Explicit || c.Prefers.Explicit || b.Profile.Signatories > 1 || of.approach == Embedded || of.approach == Decoupled && c.PSU == "" {
		return nil, nil //nolint:nilnil // the order goes on without an authorisation
	}
	return b.begin(tx, c, of)
}

// Begin starts an authorisation at the request of the third party. A password in the request is the
// first step.
func (b *Bank) Begin(ctx context.Context, c Caller, s Subject, body []byte) (*Authorisation, error) {
	step, err := b.readStep(c, body)
	if err != nil {
		return nil, err
	}
	var a *Authorisation
	var refusal error
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		of, err := b.waiting(tx, c, s)
		if err != nil {
			return err
		}
		if err := b.mayAuthorise(c, of); err != nil {
			return err
		}
		if a, err = b.begin(tx, c, of); err != nil || step.Password == "" {
			return err
		}
		refusal, err = b.step(tx, a, step)
		return err
	})
	return a, errors.Join(err, refusal)
}

// mayAuthorise checks that the customer named by the third party may authorise.
func (b *Bank) mayAuthorise(c Caller, of authorisable) error {
	_, known := CustomerByID(c.PSU)
	switch {
	case c.PSU == "" && of.approach == Decoupled:
		return wrongFormat("PSU-ID", "the bank requires the customer's user name")
	case c.PSU != "" && (!known || of.psu != "" && of.psu != c.PSU && b.Profile.Signatories == 1):
		return Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "The bank does not know this user name, or it is not the name of the payer.")
	}
	return nil
}

// waiting finds the order, cancellation or consent that waits for authorisation.
func (b *Bank) waiting(tx *ledger.Tx, c Caller, s Subject) (authorisable, error) {
	closed := Refuse("STATUS_INVALID", "", "there is nothing left to authorise")
	if s.Kind == OfConsent {
		consent, err := b.consent(tx, c.Party, s.ID)
		switch {
		case err != nil:
			return authorisable{}, err
		case consent.Status != "received" && consent.Status != "partiallyAuthorised":
			return authorisable{}, closed
		}
		return consent.authorisable(), nil
	}
	order, err := b.order(tx, c.Party, s.ID)
	switch {
	case err != nil:
		return authorisable{}, err
	case s.Kind == OfPayment && !order.waits(), s.Kind == OfCancellation && !order.Cancelling:
		return authorisable{}, closed
	}
	return order.authorisable(s.Kind), nil
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

// authorisation finds an authorisation of a subject.
func (b *Bank) authorisation(tx *ledger.Tx, party string, s Subject, id string) (*Authorisation, error) {
	var a Authorisation
	err := tx.Get(authorisationKind, id, &a)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (a.Party != party || a.Subject.Kind != s.Kind || a.Subject.ID != s.ID) {
		return nil, Refuse("RESOURCE_UNKNOWN", "authorisationId", "there is no such authorisation")
	}
	return &a, err
}

// Authorisation reads an authorisation of a subject.
func (b *Bank) Authorisation(ctx context.Context, c Caller, s Subject, id string) (*Authorisation, error) {
	var a *Authorisation
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		a, err = b.authorisation(tx, c.Party, s, id)
		return err
	})
	return a, err
}

// Authorisations lists the ids of the authorisations of a subject.
func (b *Bank) Authorisations(ctx context.Context, c Caller, s Subject) ([]string, error) {
	ids := []string{}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
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
