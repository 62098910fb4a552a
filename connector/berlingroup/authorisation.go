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

	"passerelle/connector"
	"passerelle/payment"
)

// step is what an authorisation waits for.
type step string

// The steps of authorisations. The empty one is that of an authorisation of which
// nothing is known.
const (
	atStart          step = "start"          // us, to start the authorisation
	atPage           step = "page"           // the person, at the bank's page
	atServer         step = "server"         // the person, at the authorisation server's page
	inApp            step = "app"            // the person, in the bank's app
	atIdentification step = "identification" // the person's user name
	atPassword       step = "password"       // the person's password
	atAdditional     step = "additional"     // their second password
	atMethod         step = "method"         // the choice of a way to get a code
	atCode           step = "code"           // the code
	atConfirmation   step = "confirmation"   // us, to confirm after the person came back
	authorised       step = "authorised"
	failed           step = "failed"
)

// over reports whether nobody has to do anything any more.
func (s step) over() bool { return s == authorised || s == failed }

// authorisation is how far a person is with approving something at the bank: a payment,
// its cancellation, or a consent. It is part of what the caller remembers between calls.
type authorisation struct {
	Step step `json:"step,omitempty"`
	// At is where the step is told, by POST if Post is set and by PUT otherwise; Own is
	// the authorisation itself, Confirm where it is confirmed. They follow the address of
	// the bank, or are addresses there; empty where they are not known.
	At      string `json:"at,omitempty"`
	Post    bool   `json:"post,omitempty"`
	Own     string `json:"own,omitempty"`
	Confirm string `json:"confirm,omitempty"`
	// Sealed says that the bank wants the password encrypted.
	Sealed bool `json:"sealed,omitempty"`
	// First, FirstStep and FirstSealed are how the authorisation began, where that was for us
	// to do.
	First       string `json:"first,omitempty"`
	FirstStep   step   `json:"first_step,omitempty"`
	FirstSealed bool   `json:"first_sealed,omitempty"`
	// Page is where the person's browser goes.
	Page string `json:"page,omitempty"`
	// Opened is when the bank gave the page to a payer.
	Opened time.Time `json:"opened,omitzero"`
	// Message is what the bank says to the person about the step.
	Message string `json:"message,omitempty"`
	// Person is their user name at the bank, once it was told on the way.
	Person    string      `json:"person,omitempty"`
	Methods   []scaMethod `json:"methods,omitempty"`
	Challenge *challenge  `json:"challenge,omitempty"`
	// Back says that the person came back from a page, and Declined that they came back
	// by the address for those who did not approve. Code is what they brought to confirm
	// with.
	Back     bool   `json:"back,omitempty"`
	Declined bool   `json:"declined,omitempty"`
	Code     string `json:"code,omitempty"`
	OAuth    *grant `json:"oauth,omitempty"`
}

// startAt is an authorisation that we have yet to start, at a path.
func startAt(at string) authorisation {
	return authorisation{Step: atStart, At: at, Post: true, First: at, FirstStep: atStart}
}

// scaMethod is a way to get a code.
type scaMethod struct {
	ID          string `json:"authenticationMethodId"`
	Type        string `json:"authenticationType"`
	Name        string `json:"name"`
	Explanation string `json:"explanation"`
}

// challenge is what a person needs for a code.
type challenge struct {
	Image       []byte   `json:"image"`
	ImageLink   string   `json:"imageLink"`
	Data        []string `json:"data"`
	MaxLength   int      `json:"otpMaxLength"`
	Format      string   `json:"otpFormat"`
	Information string   `json:"additionalInformation"`
}

// scaAnswer is what the bank says of an authorisation, also in the answer to an order or
// a consent.
type scaAnswer struct {
	Status    string      `json:"scaStatus"`
	Methods   []scaMethod `json:"scaMethods"`
	Challenge *challenge  `json:"challengeData"`
	Message   string      `json:"psuMessage"`
	Links     links       `json:"_links"`
}

// person is who authorises, as requests tell the bank.
type person struct {
	device connector.Device
	// name is their user name at the bank, as far as it is known.
	name string
	// corporate is the identification of their company, if any.
	corporate string
	// back is where their browser returns to, with a parameter state of ours.
	back string
	// scope is what access is asked for at the authorisation server, such as PIS:id.
	scope string
}

// header tells the bank who takes part and where they go afterwards.
func (p person) header() http.Header {
	h := deviceHeader(p.device)
	if p.name != "" {
		h.Set("PSU-ID", p.name)
	}
	if p.corporate != "" {
		h.Set("PSU-Corporate-ID", p.corporate)
	}
	if p.back != "" {
		h.Set("TPP-Redirect-URI", p.back)
		h.Set("TPP-Nok-Redirect-URI", p.back+"&"+nokParameter+"=1")
	}
	return h
}

// nokParameter tells the address for those who did not approve from the other.
const nokParameter = "nok"

// prefer adds to a header how the person is to authorise, as the profile has it.
func (p *Profile) prefer(h http.Header) {
	first := p.SCA[0]
	h.Set("TPP-Redirect-Preferred", fmt.Sprint(first == redirectSCA || first == oauthSCA))
	h.Set("TPP-Decoupled-Preferred", fmt.Sprint(first == decoupledSCA))
	h.Set("TPP-Explicit-Authorisation-Preferred", fmt.Sprint(p.Start == "explicit"))
}

// notify adds to a header where the bank tells of changes, if it does.
func (p *Profile) notify(h http.Header, address string) {
	if p.Notifications && address != "" {
		h.Set("TPP-Notification-URI", address)
		h.Set("TPP-Notification-Content-Preferred", "status=SCA,PROCESS,LAST")
	}
}

// stepLinks are the links by which a bank says what it waits for. The first that is there
// counts; those for encrypted passwords only where there is a key for them. Those that begin
// with start are posted to.
var stepLinks = []struct {
	name string
	step step
}{
	{"scaRedirect", atPage},
	{"scaOAuth", atServer},
	{"authoriseTransaction", atCode},
	{"selectAuthenticationMethod", atMethod},
	{"updateEncryptedPsuAuthentication", atPassword},
	{"updatePsuAuthentication", atPassword},
	{"updateAdditionalEncryptedPsuAuthentication", atAdditional},
	{"updateAdditionalPsuAuthentication", atAdditional},
	{"updatePsuIdentification", atIdentification},
	{"startAuthorisationWithTransactionAuthorisation", atCode},
	{"startAuthorisationWithAuthenticationMethodSelection", atMethod},
	{"startAuthorisationWithEncryptedPsuAuthentication", atPassword},
	{"startAuthorisationWithPsuAuthentication", atPassword},
	{"startAuthorisationWithPsuIdentification", atIdentification},
	{"startAuthorisation", atStart},
	{"confirmation", atConfirmation},
}

// ended are the statuses by which an authorisation is over.
var ended = map[string]step{"finalised": authorised, "exempted": authorised, "failed": failed}

// errNoStep is that the bank wants something that the connector does not know.
var errNoStep = errors.New("it wants the person to authorise in a way that the connector does not know: look at profile.sca and passwords.certificate")

// update takes over what the bank says of the authorisation. The approach is that of the
// header ASPSP-SCA-Approach.
func (b *Bank) update(r request, into *authorisation, said scaAnswer, header http.Header) error {
	next := authorisation{
		Own: into.Own, Confirm: into.Confirm, Person: into.Person, Back: into.Back, Declined: into.Declined, Code: into.Code, OAuth: into.OAuth,
		First: into.First, FirstStep: into.FirstStep, FirstSealed: into.FirstSealed, Message: said.Message, Methods: said.Methods, Challenge: said.Challenge,
	}
	for link, place := range map[string]*string{"scaStatus": &next.Own, "confirmation": &next.Confirm} {
		if err := b.place(r, said.Links[link].Href, place); err != nil {
			return err
		}
	}
	if c := next.Challenge; c != nil && len(c.Image) > payment.MaxFieldImage {
		c.Image = nil // it would not be shown, and fill the memory
	}
	if err := b.nextStep(r, &next, said); err != nil {
		return err
	}
	if next.Step == "" && (strings.EqualFold(header.Get("ASPSP-SCA-Approach"), decoupledSCA) || into.Step == inApp || next.Own != "") {
		next.Step = inApp
	}
	*into = next
	if next.Step == "" {
		return b.fault(r, errNoStep, errNoStep.Error())
	}
	return nil
}

// nextStep has the authorisation end, or wait for the first step that the bank links to.
func (b *Bank) nextStep(r request, next *authorisation, said scaAnswer) error {
	if next.Step = ended[said.Status]; next.Step != "" {
		return nil
	}
	for _, one := range stepLinks {
		if href := said.Links[one.name].Href; href != "" && (b.material.passwords != nil || !encrypts(one.name)) {
			return b.wait(r, next, one.name, one.step, href)
		}
	}
	return nil
}

// encrypts reports whether a link is for an encrypted password.
func encrypts(link string) bool { return strings.Contains(link, "Encrypted") }

// wait has the authorisation wait for a step.
func (b *Bank) wait(r request, next *authorisation, link string, wanted step, href string) error {
	next.Step, next.Post, next.Sealed = wanted, strings.HasPrefix(link, "start"), encrypts(link)
	if wanted == atServer {
		next.OAuth = cmp.Or(next.OAuth, newGrant())
		return nil
	}
	if wanted == atPage && !b.page(href) {
		return b.fault(r, errNoPage, errNoPage.Error())
	}
	if wanted == atPage {
		next.Page = href
		return nil
	}
	if err := b.place(r, href, &next.At); err != nil || !next.Post {
		return err
	}
	next.First, next.FirstStep, next.FirstSealed = next.At, wanted, next.Sealed
	return nil
}

// passed are the statuses that an authorisation has only after a step, of the steps whose
// answer has what is needed for the next one.
var passed = map[step][]string{
	atIdentification: {"psuIdentified", "psuAuthenticated", "scaMethodSelected", "started"},
	atPassword:       {"psuAuthenticated", "scaMethodSelected", "started"},
	atAdditional:     {"psuAuthenticated", "scaMethodSelected", "started"},
	atMethod:         {"scaMethodSelected", "started"},
}

// restart begins the authorisation anew where the bank has taken a step and its answer
// was lost, and with it what the next step needs.
func (a *authorisation) restart(status string) {
	if a.First != "" && slices.Contains(passed[a.Step], status) {
		*a = authorisation{
			Step: a.FirstStep, At: a.First, Post: true, Sealed: a.FirstSealed, First: a.First, FirstStep: a.FirstStep, FirstSealed: a.FirstSealed,
			Person: a.Person, OAuth: a.OAuth,
		}
	}
}

// errNoPage is that of a link that a browser cannot be sent to.
var errNoPage = errors.New("its page for the person has no https address")

// place keeps where a link of the interface leads; one that is empty leads nowhere.
func (b *Bank) place(r request, href string, into *string) error {
	if href == "" {
		return nil
	}
	address, err := b.follow(r, href)
	if err != nil {
		return err
	}
	*into = strings.TrimPrefix(address, b.base)
	return nil
}

// aim sends a request to a place.
func (r *request) aim(place string) {
	r.path, r.address = place, ""
	if strings.HasPrefix(place, "https://") {
		r.path, r.address = "", place
	}
}

// denied is that a bank did not do what it was asked to, or did not say so. What that
// means depends on what it was asked.
type denied struct {
	r request
	a answer
}

// Error is without what the bank says, which may be personal.
func (d *denied) Error() string {
	return fmt.Sprintf("the call %s was answered with status %d", d.r.call, d.a.status)
}

// callAbout makes a call about an authorisation. Its error is *denied where the bank does
// not do what it was asked to.
func (b *Bank) callAbout(ctx context.Context, a *authorisation, r request) (scaAnswer, http.Header, error) {
	var said scaAnswer
	if a.OAuth != nil {
		a.OAuth.bear(r.header)
	}
	got, err := b.call(ctx, r)
	if err != nil {
		return said, nil, err
	}
	if !got.good() {
		return said, nil, &denied{r, got}
	}
	err = b.decode(r, got, &said)
	return said, got.header, err
}

// tell makes a call about an authorisation and takes over the answer.
func (b *Bank) tell(ctx context.Context, a *authorisation, r request) error {
	said, header, err := b.callAbout(ctx, a, r)
	if err != nil {
		return err
	}
	if at := header.Get("Location"); a.Own == "" && r.method == http.MethodPost && at != "" {
		if err := b.place(r, at, &a.Own); err != nil {
			return err
		}
	}
	return b.update(r, a, said, header)
}

// proceed does what is for us to do and not for the person: it starts the authorisation,
// and finds the page of the authorisation server.
func (b *Bank) proceed(ctx context.Context, a *authorisation, p person) error {
	if a.Step == atStart {
		r := request{call: "authorise", method: http.MethodPost, header: p.header(), body: struct{}{}}
		b.file.Profile.prefer(r.header)
		r.aim(a.At)
		if err := b.tell(ctx, a, r); err != nil {
			return err
		}
	}
	if a.Step == atServer && a.Page == "" {
		return b.openServer(ctx, a, p)
	}
	return nil
}

// brings are what each step wants, and the body that brings it.
var brings = map[step]struct {
	field string
	body  func(value string) any
}{
	atIdentification: {psuIDField, func(string) any { return struct{}{} }},
	atPassword:       {passwordField, psuData("password")},
	atAdditional:     {additionalField, psuData("additionalPassword")},
	atMethod:         {methodField, func(value string) any { return map[string]string{"authenticationMethodId": value} }},
	atCode:           {codeField, func(value string) any { return map[string]string{"scaAuthenticationData": value} }},
}

// psuData brings a password as a member of the data of that name.
func psuData(member string) func(string) any {
	return func(value string) any { return map[string]any{"psuData": map[string]string{member: value}} }
}

// sealed are the members for encrypted passwords, by step.
var sealed = map[step]string{atPassword: "encryptedPassword", atAdditional: "additionalEncryptedPassword"}

// bring is the body that brings what a step wants.
func (b *Bank) bring(a *authorisation, value string) (any, error) {
	if !a.Sealed {
		return brings[a.Step].body(value), nil
	}
	encrypted, err := encrypt(b.material.passwords, value)
	return psuData(sealed[a.Step])(encrypted), err
}

// The fields by which a person is asked for what a step wants.
const (
	passwordField   = "password"
	additionalField = "additional_password"
	methodField     = "method"
	codeField       = "code"
)

// give brings the bank what the person was asked for. Where the bank does not take it, the
// error is a *denied, and the authorisation stays where it was or has failed.
func (b *Bank) give(ctx context.Context, a *authorisation, p person, values map[string]string) error {
	wanted, asks := brings[a.Step]
	if !asks {
		return nil
	}
	if name := values[psuIDField]; name != "" {
		a.Person = name
	}
	p.name = cmp.Or(a.Person, p.name)
	body, err := b.bring(a, values[wanted.field])
	if err != nil {
		return err
	}
	r := request{call: "authorise", method: http.MethodPut, header: p.header(), body: body}
	if a.Post {
		r.method = http.MethodPost
		b.file.Profile.prefer(r.header)
	}
	r.aim(a.At)
	if err := b.tell(ctx, a, r); err != nil {
		return err
	}
	return b.proceed(ctx, a, p)
}

// back takes over the query with which the person came back from a page. What it says is
// not believed: the bank is asked, and only by a code that it gave.
func (a *authorisation) back(query url.Values) {
	if query == nil || a.Step != atPage && a.Step != atServer {
		return
	}
	a.Back, a.Declined = true, query.Get("error") != "" || query.Get(nokParameter) != ""
	if a.Declined {
		return
	}
	if code := query.Get("confirmationCode"); code != "" && a.Step == atPage {
		a.Code = code
	}
	if code := query.Get("code"); code != "" && a.OAuth != nil {
		a.OAuth.Code = code
	}
}

// redeem does what is for us to do after the person came back: it trades a code for a
// token and, where the bank wants that, confirms. The codes stay until the bank has
// taken or refused them.
func (b *Bank) redeem(ctx context.Context, a *authorisation, p person) error {
	if a.OAuth != nil && a.OAuth.Code != "" {
		if err := b.trade(ctx, a, p); err != nil {
			return err
		}
		if a.OAuth.Token != "" && a.Confirm != "" {
			return b.confirm(ctx, a, p, struct{}{})
		}
	}
	if a.Code == "" || a.Step.over() {
		return nil
	}
	err := b.confirm(ctx, a, p, map[string]string{"confirmationCode": a.Code})
	var denial *denied
	if err == nil || errors.As(err, &denial) && denial.a.status < http.StatusInternalServerError {
		a.Code = ""
	}
	return err
}

// confirm confirms an authorisation.
func (b *Bank) confirm(ctx context.Context, a *authorisation, p person, body any) error {
	r := request{call: "confirm", method: http.MethodPut, header: p.header(), body: body}
	r.aim(cmp.Or(a.Confirm, a.Own))
	return b.tell(ctx, a, r)
}

// ask asks the bank how far the authorisation is. One of which the bank says no more
// than that it goes on is left as it is.
func (b *Bank) ask(ctx context.Context, a *authorisation, p person) error {
	if a.Own == "" || a.Step.over() {
		return nil
	}
	r := request{call: "authorisation", method: http.MethodGet, header: deviceHeader(p.device)}
	r.aim(a.Own)
	said, _, err := b.callAbout(ctx, a, r)
	if err != nil {
		return err
	}
	if end := ended[said.Status]; end != "" {
		a.Step, a.Message = end, said.Message
	}
	a.restart(said.Status)
	return nil
}
