package berlingroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
	"passerelle/connector/berlingroup/links"
	"passerelle/payment"
)

// These are the kinds of consents in order of preference.
const (
	globalConsent    = "global"
	allPSD2Consent   = "all-psd2"
	detailedConsent  = "detailed"
	availableConsent = "available-accounts"
)

// kind returns the kind of consent that the connector requests.
func (a *Accounts) kind() string {
	for _, kind := range []string{globalConsent, allPSD2Consent, detailedConsent} {
		if slices.Contains(a.Consents, kind) {
			return kind
		}
	}
	return availableConsent
}

// accountReference identifies an account.
type accountReference struct {
	IBAN      string `json:"iban,omitempty"`
	BBAN      string `json:"bban,omitempty"`
	MaskedPAN string `json:"maskedPan,omitempty"`
	MSISDN    string `json:"msisdn,omitempty"`
	Currency  string `json:"currency,omitempty"`
}

// consentAccess is the scope of a consent. Empty lists let the customer choose at the bank.
type consentAccess struct {
	Accounts             []accountReference `json:"accounts,omitzero"`
	Balances             []accountReference `json:"balances,omitzero"`
	Transactions         []accountReference `json:"transactions,omitzero"`
	AvailableWithBalance string             `json:"availableAccountsWithBalance,omitempty"`
	Available            string             `json:"availableAccounts,omitempty"`
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
	if v.file.Standard.minor() < sinceWithBalance {
		return consentAccess{Available: "allAccountsWithBalances"}
	}
	return consentAccess{AvailableWithBalance: "allAccounts"}
}

// consentAnswer is the bank's response about a consent and its authorisation.
type consentAnswer struct {
	scaAnswer
	Status     string `json:"consentStatus"`
	ID         string `json:"consentId"`
	ValidUntil string `json:"validUntil"`
}

// open reports whether the customer can still approve the consent.
func (c *consentAnswer) open() bool {
	return c.Status == "received" || c.Status == "partiallyAuthorised"
}

const consentsPath = "/v1/consents"

// path returns the path of the consent at the bank.
func (m *readMemory) path() string { return consentsPath + "/" + url.PathEscape(m.Consent) }

// person returns the customer who consents.
func (v *reading) person() person {
	return person{device: v.Device, name: v.Values[psuIDField], nameType: v.file.Profile.PSUIDType, corporate: v.Values[corporateIDField], back: v.ReturnURL, scope: "AIS:" + v.memory.Consent, save: v.save}
}

// admit returns nil when there is a valid consent, if necessary after the last steps of its
// authorisation. Otherwise it ends the read with the customer's next action.
func (v *reading) admit(ctx context.Context) error {
	v.memory.forget(v.Now)
	switch {
	case v.memory.Valid && v.Now.Before(v.memory.Until):
		return nil
	case v.memory.Consent != "" && !v.memory.Valid:
		return v.authorise(ctx)
	}
	return v.askConsent(ctx)
}

// askConsent requests a consent when the customer is present and has not approved a former one.
func (v *reading) askConsent(ctx context.Context) error {
	if v.approvedFormer(ctx) {
		return v.granted(ctx)
	}
	if !v.Present {
		return &interruption{connector.Outcome{State: v.renewal()}}
	}
	return v.wish(ctx)
}

// authorise continues the authorisation of a consent. Without a valid consent, it ends the read.
func (v *reading) authorise(ctx context.Context) error {
	a, p := &v.memory.Approval, v.person()
	if fault := a.back(v.Callback); fault != "" {
		return &readRefusal{state: passerelle.Bug, fault: v.fault(request{call: "authorise"}, errRefused, fault)}
	}
	err := v.redeem(ctx, a, p)
	if err == nil && len(v.Answers) > 0 {
		err = v.sendAnswer(ctx, a, p, v.Answers)
	}
	message, err := v.unlessDenied(err)
	if err != nil {
		return err
	}
	state, err := v.consentStatus(ctx)
	if err != nil {
		return err
	}
	open := state.open()
	switch {
	case state.Status == "valid", v.approvedFormer(ctx):
		return v.granted(ctx)
	case open:
		if _, err := v.unlessDenied(v.ask(ctx, a, p)); err != nil {
			return err
		}
		if a.Step != failed && !a.Declined {
			return v.prepareNextStep(ctx, state.Status, message)
		}
	}
	if open {
		v.memory.Formers = v.memory.withFormer() // the customer can still approve it
	}
	return v.consentRefused(ctx, cmp.Or(message, state.Message, a.Message))
}

// consentStatus asks for the status of the present consent. A consent that the bank does not know
// counts as expired.
func (v *reading) consentStatus(ctx context.Context) (consentAnswer, error) {
	var state consentAnswer
	err := v.get(ctx, request{call: "consent status", path: v.memory.path() + "/status"}, &state)
	if refused, is := errors.AsType[*readRefusal](err); is && refused.code == codes.UnknownResource {
		return consentAnswer{Status: "expired"}, nil
	}
	return state, err
}

// approvedFormer makes a former consent the present one if the customer has approved it, for example
// on a page that was still open. It drops former consents that the customer can no longer approve.
// It ignores failures, because the read can continue with the present consent.
func (v *reading) approvedFormer(ctx context.Context) bool {
	present := v.memory
	for i, m := range slices.Backward(present.Formers) {
		if m.Valid {
			continue
		}
		v.memory.Consent, v.memory.Approval, v.memory.Formers = m.Consent, m.Approval, present.withFormer() // a token refresh in v.get saves this memory
		state, err := v.consentStatus(ctx)
		if err == nil && !state.open() {
			present.Formers = slices.Delete(slices.Clone(present.Formers), i, i+1)
		}
		if err == nil && state.Status == "valid" {
			v.memory.Formers = present.withFormer()
			return true
		}
		v.memory = present
	}
	return false
}

// unlessDenied converts a *denied that the customer can correct into a message to the customer, and
// any other *denied into the refusal of the read. It returns all other errors unchanged.
func (v *reading) unlessDenied(err error) (string, error) {
	denial, found := errors.AsType[*denied](err)
	if !found {
		return "", err
	}
	all := v.messages(denial.r, denial.a)
	state := codes.ReadState(denial.a.status, all)
	if state != passerelle.Wrongpass && state != passerelle.SCARequired && denial.a.status != http.StatusBadRequest {
		return "", v.refused(denial.r, denial.a)
	}
	return cmp.Or(codes.Text(all), "The bank does not accept this."), nil
}

// prepareNextStep prepares the customer's next step. It requests a new consent when the customer is
// present and the page is too old. When several people must authorise, the next person enters their
// user name.
func (v *reading) prepareNextStep(ctx context.Context, status, message string) error {
	a := &v.memory.Approval
	if status == "partiallyAuthorised" && a.Step == authorised {
		*a = authorisation{Step: atIdentification, At: v.memory.path() + "/authorisations", Post: true}
		message = "Another person must agree as well."
	}
	toPage := a.Step == atPage || a.Step == atServer
	if v.Present && toPage && v.Callback == nil && v.Now.Sub(v.memory.Asked) >= v.file.Profile.pageLife() {
		return v.wish(ctx)
	}
	if a.Step == atServer && a.OAuth.Back != v.ReturnURL { // a return address is valid only once
		if err := v.openServer(ctx, a, v.person()); err != nil {
			return err
		}
	}
	return v.waitForPerson(message)
}

// waitForPerson ends the read with the action that the customer must do.
func (v *reading) waitForPerson(message string) error {
	a := &v.memory.Approval
	o := connector.Outcome{Message: cmp.Or(message, a.Message)}
	switch a.Step {
	case atPage, atServer:
		o.State, o.URL = passerelle.WebauthRequired, a.Page
	case inApp:
		o.State = passerelle.Decoupled
	case atIdentification, atPassword, atAdditional, atMethod, atCode:
		o.State, o.Fields = passerelle.AdditionalInformationNeeded, connectionFields(a.fields(v.profile.Name, v.Values[psuIDField]))
	default: // the person has done everything, but the bank has not noticed it yet
		o.State, o.RetryAfter = passerelle.WebsiteUnavailable, time.Minute
	}
	return &interruption{o}
}

// connectionFields converts fields of payments to fields of connections.
func connectionFields(fields []payment.Field) []connector.Field {
	all := make([]connector.Field, len(fields))
	for i, f := range fields {
		all[i] = connector.Field{Name: f.Name, Label: f.Label, Type: f.Type, Regex: f.Regex, Required: f.Required, Image: payment.Picture(f.Image)}
		if f.Name == passwordField || f.Name == additionalField {
			all[i].Type = "password"
		}
		for _, value := range f.Values {
			all[i].Values = append(all[i].Values, connector.FieldValue(value))
		}
	}
	return all
}

// consentRefused ends the read because the customer did not consent. If this read contains no
// response of the customer, the refusal is old and consentRefused requests a new consent.
func (v *reading) consentRefused(ctx context.Context, message string) error {
	v.memory = v.memory.afresh()
	if v.Callback == nil && len(v.Answers) == 0 && !v.Resumed {
		return v.askConsent(ctx)
	}
	return &interruption{connector.Outcome{State: v.renewal(), Message: cmp.Or(message, "Access was refused.")}}
}

// granted stores a valid consent with its end, and ends the former consents at the bank.
func (v *reading) granted(ctx context.Context) error {
	var state consentAnswer
	if err := v.get(ctx, request{call: "consent", path: v.memory.path()}, &state); err != nil {
		return err
	}
	until := v.day().AddDays(v.file.Profile.Accounts.ConsentDays)
	if reported, err := passerelle.ParseDate("validUntil", state.ValidUntil); err == nil && reported.Compare(until) < 0 && reported.Compare(v.day()) >= 0 {
		until = reported
	}
	v.memory = readMemory{
		Consent: v.memory.Consent, Valid: true, Until: until.AddDays(1).In(time.UTC), Calls: v.memory.Calls, Accounts: v.memory.Accounts,
		Approval: authorisation{OAuth: v.memory.Approval.OAuth}, Formers: v.memory.Formers,
	}
	var kept []readMemory // Terminate tries again to end these
	for _, m := range v.memory.Formers {
		if m.Consent != v.memory.Consent && v.end(ctx, &m) != nil {
			kept = append(kept, m)
		}
	}
	v.memory.Formers = kept
	return nil
}

// wish requests a consent from the bank and begins its authorisation.
func (v *reading) wish(ctx context.Context) error {
	if !v.memory.Valid || v.Now.Before(v.memory.Until) {
		v.memory.Formers = v.memory.withFormer()
	}
	v.memory = v.memory.afresh()
	v.memory.Asked = v.Now
	r := request{call: "consent", method: http.MethodPost, path: consentsPath, header: v.person().header(), body: consentWish{
		Access: v.access(), Recurring: true, ValidUntil: v.day().AddDays(v.file.Profile.Accounts.ConsentDays).String(), Frequency: max(v.file.Profile.CallsADay, 1),
	}}
	v.file.prefer(r.header)
	v.file.Profile.notify(r.header, v.NotificationURL)
	got, err := v.call(ctx, r)
	if err != nil {
		return err
	}
	if !got.succeeded() {
		return v.refused(r, got)
	}
	var created consentAnswer
	if err := v.decode(r, got, &created); err != nil {
		return err
	}
	if created.ID == "" || len(created.ID) > maxID {
		return v.fault(r, errMalformed, "its response has no consentId")
	}
	v.memory.Consent = created.ID
	if created.Status == "valid" {
		return v.granted(ctx)
	}
	a := &v.memory.Approval
	if err := v.update(r, a, created.scaAnswer, got.header); err != nil {
		return err
	}
	err = v.proceed(ctx, a, v.person())
	if denial, found := errors.AsType[*denied](err); found {
		return v.refused(denial.r, denial.a)
	}
	if err != nil {
		return err
	}
	return v.waitForPerson("")
}

// maxID is the maximum length of an id from the bank, in bytes.
const maxID = 200

// follow returns the address of a link within the bank's API. It fails for a link to another host,
// because the request would send secrets there.
func (b *Bank) follow(r request, href string) (string, error) {
	address, err := links.Target(b.base, href)
	if err != nil {
		return "", b.fault(r, err, fmt.Sprintf("its link to %s leads to another host, which is not followed", r.call))
	}
	return address, nil
}

// Terminate ends the consent of a deleted connection at the bank. It returns nil when the consent
// has already ended or never existed.
func (r reader) Terminate(ctx context.Context, of connector.DataRequest) error {
	v := &reading{Bank: r.Bank, DataRequest: of, memory: recall(of.Memory)}
	var err error
	for _, m := range append([]readMemory{v.memory}, v.memory.Formers...) {
		if m.Consent != "" {
			err = errors.Join(err, v.end(ctx, &m))
		}
	}
	return err
}

// end ends a consent at the bank. It returns nil when the consent has already ended.
func (v *reading) end(ctx context.Context, m *readMemory) error {
	r := request{call: "end consent", method: http.MethodDelete, path: m.path(), header: deviceHeader(v.Device)}
	r.header.Set("Consent-ID", m.Consent)
	a, err := v.callAnyhow(ctx, m.Approval.OAuth, r, v.save)
	if err != nil || a.succeeded() || a.status == http.StatusNotFound || slices.Contains(consentEnded, codes.Known(v.messages(r, a))) {
		return err
	}
	return v.refused(r, a)
}

// consentEnded are the codes of a consent that has already ended. Codes for a refused token are not
// among them, because the consent may still be valid for months.
var consentEnded = []string{"CONSENT_UNKNOWN", "CONSENT_INVALID", "CONSENT_EXPIRED", "STATUS_INVALID"}
