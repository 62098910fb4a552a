package berlingroup

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
)

// The kinds of consents, in the order in which they are preferred: those by which the
// person chooses among all accounts first.
const (
	globalConsent    = "global"
	allPSD2Consent   = "all-psd2"
	detailedConsent  = "detailed"
	availableConsent = "available-accounts"
)

// kind is the kind of consent that is asked for.
func (a *Accounts) kind() string {
	for _, kind := range []string{globalConsent, allPSD2Consent, detailedConsent} {
		if slices.Contains(a.Consents, kind) {
			return kind
		}
	}
	return availableConsent
}

// accountReference names an account.
type accountReference struct {
	IBAN      string `json:"iban,omitempty"`
	BBAN      string `json:"bban,omitempty"`
	MaskedPAN string `json:"maskedPan,omitempty"`
	MSISDN    string `json:"msisdn,omitempty"`
	Currency  string `json:"currency,omitempty"`
}

// consentAccess is what a consent is for. Lists that are empty leave the choice to the
// person at the bank.
type consentAccess struct {
	Accounts             []accountReference `json:"accounts,omitzero"`
	Balances             []accountReference `json:"balances,omitzero"`
	Transactions         []accountReference `json:"transactions,omitzero"`
	AvailableWithBalance string             `json:"availableAccountsWithBalance,omitempty"`
	AllPSD2              string             `json:"allPsd2,omitempty"`
}

type consentWish struct {
	Access     consentAccess `json:"access"`
	Recurring  bool          `json:"recurringIndicator"`
	ValidUntil string        `json:"validUntil"`
	Frequency  int           `json:"frequencyPerDay"`
	Combined   bool          `json:"combinedServiceIndicator"`
}

func (v *reading) access() consentAccess {
	switch v.file.Profile.Accounts.kind() {
	case globalConsent:
		none := []accountReference{}
		return consentAccess{Accounts: none, Balances: none, Transactions: none}
	case allPSD2Consent:
		return consentAccess{AllPSD2: "allAccounts"}
	case detailedConsent:
		own := []accountReference{{IBAN: strings.ToUpper(strings.ReplaceAll(v.Values[ibanField], " ", ""))}}
		return consentAccess{Balances: own, Transactions: own}
	}
	return consentAccess{AvailableWithBalance: "allAccounts"}
}

// consentAnswer is what the bank says of a consent.
type consentAnswer struct {
	Status     string `json:"consentStatus"`
	ID         string `json:"consentId"`
	ValidUntil string `json:"validUntil"`
	Message    string `json:"psuMessage"`
	Links      links  `json:"_links"`
}

const consentsPath = "/v1/consents"

// path is where the bank has the consent.
func (m *readMemory) path() string { return consentsPath + "/" + url.PathEscape(m.Consent) }

// admit sees to it that there is a consent that is valid, or ends the read with what the
// person has to do for one.
func (v *reading) admit(ctx context.Context) error {
	v.memory.forget(v.Now)
	if v.memory.Valid && v.Now.Before(v.memory.Until) {
		return nil
	}
	if v.memory.Consent != "" && !v.memory.Valid {
		if decided, err := v.decided(ctx); decided || err != nil {
			return err
		}
	}
	if !v.Present {
		return &interruption{connector.Outcome{State: v.renewal()}}
	}
	if v.memory.Page != "" && v.Now.Sub(v.memory.Asked) < time.Duration(v.file.Profile.RedirectSeconds)*time.Second {
		return v.toPage("")
	}
	return v.wish(ctx)
}

// decided asks what became of a consent that the person was to authorise, and notes it
// when it is valid.
func (v *reading) decided(ctx context.Context) (bool, error) {
	var state consentAnswer
	path := v.memory.path()
	if err := v.get(ctx, request{call: "consent status", path: path + "/status"}, &state); err != nil {
		return false, err
	}
	switch state.Status {
	case "valid":
		return true, v.granted(ctx, path)
	case "received", "partiallyAuthorised":
		if v.Callback == nil {
			return false, nil
		}
		return false, v.toPage(state.Message)
	}
	v.memory = readMemory{}
	if v.Callback == nil {
		return false, nil
	}
	return false, &interruption{connector.Outcome{State: v.renewal(), Message: cmp.Or(state.Message, "Access was refused.")}}
}

// granted notes a consent that is valid, and until when.
func (v *reading) granted(ctx context.Context, path string) error {
	var granted consentAnswer
	if err := v.get(ctx, request{call: "consent", path: path}, &granted); err != nil {
		return err
	}
	until := v.day().AddDays(v.file.Profile.Accounts.ConsentDays)
	if reported, err := passerelle.ParseDate("validUntil", granted.ValidUntil); err == nil && reported.Compare(until) < 0 {
		until = reported
	}
	v.memory = readMemory{Consent: v.memory.Consent, Valid: true, Until: until.AddDays(1).In(time.UTC), Calls: v.memory.Calls}
	return nil
}

// wish asks the bank for a consent.
func (v *reading) wish(ctx context.Context) error {
	v.memory = readMemory{Calls: v.memory.Calls}
	r := request{call: "consent", method: http.MethodPost, path: consentsPath, header: v.header(), body: consentWish{
		Access: v.access(), Recurring: true, ValidUntil: v.day().AddDays(v.file.Profile.Accounts.ConsentDays).String(), Frequency: v.file.Profile.CallsADay,
	}}
	v.addWayBack(r.header)
	var created consentAnswer
	if err := v.post(ctx, r, &created); err != nil {
		return err
	}
	if created.ID == "" || len(created.ID) > maxID {
		return v.fault(r, errMalformed, "its answer has no consentId")
	}
	v.memory.Consent, v.memory.Asked = created.ID, v.Now
	if start := created.Links.first("startAuthorisation"); start != "" && created.Links["scaRedirect"].Href == "" {
		if err := v.start(ctx, start, &created); err != nil {
			return err
		}
	}
	v.memory.Page = created.Links["scaRedirect"].Href
	return v.toPage(created.Message)
}

// start begins the authorisation where the bank wants to be asked for it.
func (v *reading) start(ctx context.Context, link string, into *consentAnswer) error {
	r := request{call: "authorise", method: http.MethodPost, header: v.header(), body: struct{}{}}
	v.addWayBack(r.header)
	var err error
	if r.address, err = v.follow(r, link); err != nil {
		return err
	}
	return v.post(ctx, r, into)
}

// addWayBack tells the bank where the person goes afterwards, and who they are where the
// bank wants to know.
func (v *reading) addWayBack(h http.Header) {
	if v.ReturnURL != "" {
		h.Set("TPP-Redirect-URI", v.ReturnURL)
		h.Set("TPP-Nok-Redirect-URI", v.ReturnURL+"&nok=1")
	}
	if id := v.Values[psuIDField]; id != "" {
		h.Set("PSU-ID", id)
	}
}

func (v *reading) post(ctx context.Context, r request, into any) error {
	a, err := v.call(ctx, r)
	if err != nil {
		return err
	}
	if !a.good() {
		return v.refused(r, a)
	}
	return v.decode(r, a, into)
}

// toPage ends the read with the bank's page.
func (v *reading) toPage(message string) error {
	if !v.page(v.memory.Page) {
		r := request{call: "consent"}
		return v.fault(r, errMalformed, "its answer has no scaRedirect with an https address, and the connector knows no other way to authorise")
	}
	return &interruption{connector.Outcome{State: passerelle.WebauthRequired, URL: v.memory.Page, Message: message}}
}

// maxID is how long an id of the bank's may be.
const maxID = 200

// links are those of an answer, by the names of the standard.
type links map[string]struct {
	Href string `json:"href"`
}

// first is the first link whose name begins so, by name.
func (l links) first(prefix string) string {
	var names []string
	for name, link := range l {
		if strings.HasPrefix(name, prefix) && link.Href != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return l[slices.Min(names)].Href
}

// follow is where a link of the bank's interface leads. One to another host is not
// followed, because the request has what is secret.
func (b *Bank) follow(r request, href string) (string, error) {
	address, err := b.resolve(href)
	if err != nil {
		return "", b.fault(r, errElsewhere, fmt.Sprintf("its link to %s leads to another host, which is not followed", r.call))
	}
	return address, nil
}

// Terminate ends the consent that a deleted connection had.
func (r reader) Terminate(ctx context.Context, of connector.DataRequest) error {
	m := recall(of.Memory)
	if m.Consent == "" {
		return nil
	}
	end := request{call: "end consent", method: http.MethodDelete, path: m.path()}
	a, err := r.bank.call(ctx, end)
	if err != nil || a.good() || a.status == http.StatusNotFound || readState(a.status, r.bank.messages(end, a)) == passerelle.SCARequired {
		return err
	}
	return r.bank.refused(end, a)
}
