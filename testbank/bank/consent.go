package bank

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"passerelle/testbank/ledger"
)

const consentKind = "consent"

// Access is the content of a consent, as the standard represents it. A list that is present but
// empty lets the customer choose the accounts.
type Access struct {
	Accounts             []Reference `json:"accounts,omitzero"`
	Balances             []Reference `json:"balances,omitzero"`
	Transactions         []Reference `json:"transactions,omitzero"`
	Available            string      `json:"availableAccounts,omitempty"`
	AvailableWithBalance string      `json:"availableAccountsWithBalance,omitempty"`
	AllPSD2              string      `json:"allPsd2,omitempty"`
	RestrictedTo         []string    `json:"restrictedTo,omitempty"`
	Additional           any         `json:"additionalInformation,omitempty"`
}

// Consent is a customer's consent for a third party, or the request for it.
type Consent struct {
	ID        string `json:"id"`
	Party     string `json:"party"`
	PSU       string `json:"psu,omitempty"`
	Kind      string `json:"kind"`
	Access    Access `json:"access"`
	Recurring bool   `json:"recurring"`
	// ValidUntil is the last valid day.
	ValidUntil string `json:"valid_until"`
	Frequency  int    `json:"frequency"`
	// Status is the consentStatus of the standard.
	Status string `json:"status"`
	// Shown holds the ids of the accounts that the consent covers. Balances and Transactions hold
	// the ids of the accounts whose balances or transactions the third party may read.
	Shown        []string `json:"shown,omitempty"`
	Balances     []string `json:"balances,omitempty"`
	Transactions []string `json:"transactions,omitempty"`
	Signed       []string `json:"signed,omitempty"`
	// HasToken means that the third party has a token for the consent. The third party must then
	// send the token in calls about the consent's authorisations.
	HasToken   bool      `json:"has_token,omitempty"`
	LastAction string    `json:"last_action"`
	Return     Return    `json:"return"`
	Prefers    Approach  `json:"prefers"`
	Notify     string    `json:"notify,omitempty"`
	Next       time.Time `json:"next,omitzero"`
}

// Key implements [ledger.Document].
func (c *Consent) Key() (string, string) { return consentKind, c.ID }

// Belongs implements [ledger.Document].
func (c *Consent) Belongs() string { return c.Party }

// Due implements [ledger.Document].
func (c *Consent) Due() time.Time { return c.Next }

// Path returns the path of the consent under the address of the API.
func (c *Consent) Path() string { return "/v1/consents/" + c.ID }

// owners reports whether the consent covers the names of the accounts' owners.
func (c *Consent) owners() bool {
	return slices.Contains([]string{c.Access.Available, c.Access.AvailableWithBalance, c.Access.AllPSD2}, "allAccountsWithOwnerName")
}

// consentBody is the body of a request for a consent, as the standard represents it.
type consentBody struct {
	Access     *Access `json:"access"`
	Recurring  *bool   `json:"recurringIndicator"`
	ValidUntil string  `json:"validUntil"`
	Frequency  *int    `json:"frequencyPerDay"`
	Combined   *bool   `json:"combinedServiceIndicator"`
}

// TakeConsent accepts or refuses a request for a consent.
func (b *Bank) TakeConsent(ctx context.Context, c Caller, body []byte) (*Consent, *Authorisation, error) {
	consent, err := b.readConsent(c, body)
	if err != nil {
		return nil, nil, err
	}
	var a *Authorisation
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		if err := b.knowAccounts(tx, consent); err != nil {
			return err
		}
		if err := tx.Put(consent); err != nil {
			return err
		}
		var err error
		a, err = b.beginImplicitly(tx, c, consent.authorisable())
		return err
	})
	return consent, a, err
}

func (b *Bank) readConsent(c Caller, body []byte) (*Consent, error) {
	if !c.Attended {
		return nil, wrongFormat("PSU-IP-Address", "a consent says where the customer is")
	}
	var parsed consentBody
	if err := DecodeBody(body, &parsed); err != nil {
		return nil, err
	}
	if err := b.checkConsent(c, parsed); err != nil {
		return nil, err
	}
	kind, err := parsed.Access.kind()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(b.Profile.Consents, kind) {
		return nil, Refuse("PARAMETER_NOT_SUPPORTED", "access", "the bank does not have consents of the kind "+kind)
	}
	now := b.Now()
	return &Consent{
		ID: newID(), Party: c.Party, PSU: c.PSU, Kind: kind, Access: *parsed.Access, Recurring: *parsed.Recurring,
		ValidUntil: parsed.ValidUntil, Frequency: *parsed.Frequency, Status: "received", LastAction: now.Format(dayLayout),
		Return: c.Return, Prefers: b.Profile.Approach(c.Prefers), Notify: c.Notify, Next: now.Add(b.Profile.Life),
	}, nil
}

func (b *Bank) checkConsent(c Caller, parsed consentBody) error {
	until, err := time.Parse(dayLayout, parsed.ValidUntil)
	often := 0
	if parsed.Frequency != nil {
		often = *parsed.Frequency
	}
	broken := firstBroken(
		rule{parsed.Access == nil, wrongFormat("access", "a consent must name its accounts")},
		rule{parsed.Recurring == nil, wrongFormat("recurringIndicator", "it is missing")},
		rule{parsed.Combined == nil, wrongFormat("combinedServiceIndicator", "it is missing")},
		rule{often < 1, wrongFormat("frequencyPerDay", "it has to be 1 or more")},
		rule{parsed.Recurring != nil && !*parsed.Recurring && often != 1, wrongFormat("frequencyPerDay", "it is 1 where access is not recurring")},
		rule{err != nil, wrongFormat("validUntil", "a date is YYYY-MM-DD")},
		rule{until.Before(day(b.Now())), wrongFormat("validUntil", "the day is over")},
	)
	return cmp.Or(broken, b.checkCustomer(c))
}

// kind returns the kind of the requested consent. It refuses a request with no kind or with
// several.
func (a *Access) kind() (string, error) {
	lists := [][]Reference{a.Accounts, a.Balances, a.Transactions}
	there := func(l []Reference) bool { return l != nil }
	filled := func(l []Reference) bool { return len(l) > 0 }
	byList, byAvailable := slices.ContainsFunc(lists, there), a.Available != "" || a.AvailableWithBalance != ""
	switch {
	case count(byList, byAvailable, a.AllPSD2 != "") != 1:
		return "", wrongFormat("access", "a consent must request exactly one of lists of accounts, available accounts and allPsd2")
	case a.AllPSD2 != "":
		return AllPSD2, oneOfAll("access.allPsd2", a.AllPSD2)
	case byAvailable:
		return Available, oneOfAll("access.availableAccounts", a.Available, a.AvailableWithBalance)
	case slices.ContainsFunc(lists, filled):
		return Detailed, nil
	}
	return Global, nil
}

func oneOfAll(path string, values ...string) error {
	for _, value := range values {
		if value != "" && value != "allAccounts" && value != "allAccountsWithOwnerName" {
			return wrongFormat(path, "it is allAccounts or allAccountsWithOwnerName")
		}
	}
	return nil
}

// knowAccounts checks that the accounts named in the consent belong to the customer.
func (b *Bank) knowAccounts(tx *ledger.Tx, c *Consent) error {
	for _, reference := range slices.Concat(c.Access.Accounts, c.Access.Balances, c.Access.Transactions) {
		account, err := ownAccount(tx, "access", reference.Number(), c.PSU)
		if err != nil {
			return err
		}
		if c.PSU == "" {
			c.PSU = account.Customer
		}
	}
	return nil
}

// consent finds a consent of a third party.
func (b *Bank) consent(tx *ledger.Tx, party, id string) (*Consent, error) {
	var c Consent
	err := tx.Get(consentKind, id, &c)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && c.Party != party {
		return nil, Refuse("CONSENT_UNKNOWN", "consentId", "there is no such consent")
	}
	return &c, err
}

// Consent reads a consent of a third party.
func (b *Bank) Consent(ctx context.Context, c Caller, id string) (*Consent, error) {
	var consent *Consent
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		consent, err = b.consent(tx, c.Party, id)
		return err
	})
	return consent, err
}

// Terminate ends a consent at the request of its third party.
func (b *Bank) Terminate(ctx context.Context, c Caller, id string) error {
	return b.book.Update(ctx, func(tx *ledger.Tx) error {
		consent, err := b.consent(tx, c.Party, id)
		if err != nil {
			return err
		}
		return b.endConsent(tx, consent, "terminatedByTpp")
	})
}

// Revoke ends a consent at the request of its customer.
func (b *Bank) Revoke(ctx context.Context, id string) error {
	return b.book.Update(ctx, func(tx *ledger.Tx) error {
		var consent Consent
		if err := tx.Get(consentKind, id, &consent); err != nil {
			return err
		}
		return b.endConsent(tx, &consent, "revokedByPsu")
	})
}

// endConsent ends a consent unless it has already ended.
func (b *Bank) endConsent(tx *ledger.Tx, c *Consent, status string) error {
	switch c.Status {
	case "received", "partiallyAuthorised", "valid":
	default:
		return nil
	}
	c.Status, c.Next, c.LastAction = status, time.Time{}, b.Now().Format(dayLayout)
	if c.Notify != "" {
		b.note(tx, Note{To: c.Notify, ConsentID: c.ID, Status: c.Status})
	}
	return tx.Put(c)
}

// consentDue ends a valid consent as expired, and a consent that was not authorised in time as
// rejected.
func (b *Bank) consentDue(tx *ledger.Tx, c *Consent) error {
	if c.Status == "valid" {
		return b.endConsent(tx, c, "expired")
	}
	return b.endConsent(tx, c, "rejected")
}

func (b *Bank) reject(tx *ledger.Tx, a *Authorisation) error {
	var c Consent
	if err := tx.Get(consentKind, a.Subject.ID, &c); err != nil {
		return err
	}
	if c.Status == "valid" {
		return nil
	}
	return b.endConsent(tx, &c, "rejected")
}
