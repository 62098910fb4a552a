package berlingroup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
	"passerelle/connector/berlingroup/links"
	"passerelle/payment"
)

// step is the action that an authorisation waits for.
type step string

// These are the steps of an authorisation. The comment of a step says what the authorisation waits
// for. The empty step means that the state of the authorisation is unknown.
const (
	atStart          step = "start"          // this service starts the authorisation
	atPage           step = "page"           // the person acts at the bank's page
	atServer         step = "server"         // the person acts at the authorisation server's page
	inApp            step = "app"            // the person acts in the bank's app
	atIdentification step = "identification" // the person's user name
	atPassword       step = "password"       // the person's password
	atAdditional     step = "additional"     // the person's second password
	atMethod         step = "method"         // the person's choice of how to receive a code
	atCode           step = "code"           // the code that the person received
	atConfirmation   step = "confirmation"   // this service confirms after the person came back
	authorised       step = "authorised"
	failed           step = "failed"
)

// ended reports whether the authorisation has ended.
func (s step) ended() bool { return s == authorised || s == failed }

// authorisation is the state of an approval at the bank. A customer approves a payment, its
// cancellation, or a consent. The state is part of the memory that the caller stores between calls.
type authorisation struct {
	Step step `json:"step,omitempty"`
	// At is the address of the step, called with POST if Post is set and with PUT otherwise. Own is
	// the address of the authorisation. Confirm is the address at which the connector confirms the
	// authorisation. Each is a path at the bank or a full address, or empty when unknown.
	At      string `json:"at,omitempty"`
	Post    bool   `json:"post,omitempty"`
	Own     string `json:"own,omitempty"`
	Confirm string `json:"confirm,omitempty"`
	// Sealed means that the bank requires an encrypted password.
	Sealed bool `json:"sealed,omitempty"`
	// First, FirstStep and FirstSealed are the initial values of At, Step and Sealed. The connector
	// uses them when it has to start the authorisation again.
	First       string `json:"first,omitempty"`
	FirstStep   step   `json:"first_step,omitempty"`
	FirstSealed bool   `json:"first_sealed,omitempty"`
	// Page is the address for the customer's browser.
	Page string `json:"page,omitempty"`
	// Opened is the time from which the page's life counts: the time of the first report with the
	// page, or of the last failure to replace the page. Approved is the time of the first report after
	// the approval of a cancellation.
	Opened   time.Time `json:"opened,omitzero"`
	Approved time.Time `json:"approved,omitzero"`
	// Message is the bank's text for the person.
	Message string `json:"message,omitempty"`
	// Person is the customer's user name at the bank, once the customer has entered it.
	Person    string      `json:"person,omitempty"`
	Methods   []scaMethod `json:"methods,omitempty"`
	Challenge *challenge  `json:"challenge,omitempty"`
	// Further means that the bank accepted a value for the step and asks for another value.
	Further bool `json:"further,omitempty"`
	// Back means that the customer has returned from a page. Declined means that the customer
	// returned to the address for refusals. Code is the confirmation code of that return.
	Back     bool   `json:"back,omitempty"`
	Declined bool   `json:"declined,omitempty"`
	Code     string `json:"code,omitempty"`
	OAuth    *grant `json:"oauth,omitempty"`
	// Confirmation is the outcome of the request that confirms the authorisation, or confirmRefused
	// when the client does not confirm. It is empty before the outcome is final.
	Confirmation string `json:"confirmation,omitempty"`
	// Earlier are other authorisations in which the customer can still approve: those that this one
	// replaced, and those that the bank lists. Unlisted means that the bank may have started an
	// authorisation whose response never arrived. Only the bank's list of authorisations names such
	// an authorisation.
	Earlier  []authorisation `json:"earlier,omitempty"`
	Unlisted bool            `json:"unlisted,omitempty"`
	// Resumed counts how often an earlier authorisation replaced a failed one.
	Resumed int `json:"resumed,omitempty"`
}

// These are the outcomes of our confirmation of an approval.
const (
	confirmTaken   = "taken"
	confirmRefused = "refused"
)

// unconfirmed reports whether the bank waits for our confirmation after the customer's approval.
func (a *authorisation) unconfirmed() bool {
	return a.Step == atServer && a.Confirm != "" && a.Confirmation == "" && a.OAuth != nil && a.OAuth.Token != ""
}

// startAt returns an authorisation that the connector must start with a request to a path.
func startAt(at string) authorisation {
	return authorisation{Step: atStart, At: at, Post: true, First: at, FirstStep: atStart}
}

// replace makes the argument `next` the present authorisation. If the former authorisation has an
// address, replace adds the former authorisation to Earlier, because the customer may still use it.
// Without an address, only the bank's list can name the former authorisation.
func (a *authorisation) replace(next authorisation) {
	former := *a
	former.Earlier, former.Unlisted, former.Resumed = nil, false, 0
	next.Earlier, next.Unlisted, next.Resumed = a.Earlier, a.Unlisted, a.Resumed
	switch {
	case former.Own != "":
		next.Earlier = append(slices.Clip(next.Earlier), former)
	case former.Page != "" || former.Step == inApp:
		next.Unlisted = true
	}
	*a = next
}

// resume makes a.Earlier[i] the present authorisation, and applies the customer's return to it.
func (a *authorisation) resume(i int) {
	next := a.Earlier[i]
	next.Back, next.Declined, next.Code = a.Back, a.Declined, a.Code
	a.Earlier = slices.Delete(slices.Clone(a.Earlier), i, i+1)
	if a.Code = ""; a.Step == failed {
		a.Own, a.Page = "", "" // a failed authorisation cannot be used again
	}
	a.replace(next)
}

// scaMethod is a way to receive a code.
type scaMethod struct {
	ID          string `json:"authenticationMethodId"`
	Type        string `json:"authenticationType"`
	Name        string `json:"name"`
	Explanation string `json:"explanation"`
}

// challenge is the data that a customer needs to produce a code.
type challenge struct {
	Image       []byte `json:"image"`
	ImageLink   string `json:"imageLink"`
	Data        texts  `json:"data"`
	MaxLength   number `json:"otpMaxLength"`
	Format      string `json:"otpFormat"`
	Information string `json:"additionalInformation"`
}

// number is a whole number. Some banks send it as a text. It is zero in any other form.
type number int

// UnmarshalJSON reads both forms.
func (n *number) UnmarshalJSON(form []byte) error {
	_ = json.Unmarshal(bytes.Trim(form, `"`), (*int)(n)) // the service works without the number
	return nil
}

// texts is a list of texts. Before version 1.3.4 of the standard, it is a single text.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(form []byte) error {
	var single string
	if json.Unmarshal(form, &single) == nil {
		*t = texts{single}
		return nil
	}
	return json.Unmarshal(form, (*[]string)(t))
}

// scaAnswer is the bank's response about an authorisation, an order or a consent.
type scaAnswer struct {
	Status    string      `json:"scaStatus"`
	Methods   []scaMethod `json:"scaMethods"`
	Challenge *challenge  `json:"challengeData"`
	Message   string      `json:"psuMessage"`
	Links     links.Set   `json:"_links"`
	// IDs is the list of the order's authorisations. Only the response to a request for this list
	// contains it.
	IDs []string `json:"authorisationIds"`
}

// person describes the customer who authorises, with the data that requests must contain.
type person struct {
	device connector.Device
	// name is the customer's user name at the bank, if it is known. nameType is its type, if the bank
	// requires one.
	name, nameType string
	// corporate identifies the customer's company, if any.
	corporate string
	// back is the address to which the customer's browser returns. The address contains the
	// service's state parameter.
	back string
	// scope is the scope to request from the authorisation server, such as PIS:id.
	scope string
	// save stores the memory with the authorisation.
	save func(context.Context)
	// granted is the grant for the order, in use while the authorisation has no token of its own.
	granted *grant
}

// grant returns the grant for requests about an authorisation: the authorisation's own grant if it
// has a token, and otherwise the grant for the order, which may be nil.
func (p person) grant(a *authorisation) *grant {
	if a.OAuth != nil && a.OAuth.Token != "" {
		return a.OAuth
	}
	return p.granted
}

// header returns the headers about the customer, the customer's device and the return addresses.
func (p person) header() http.Header {
	h := deviceHeader(p.device)
	if p.name != "" {
		h.Set("PSU-ID", p.name)
	}
	if p.name != "" && p.nameType != "" {
		h.Set("PSU-ID-Type", p.nameType)
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

// nokParameter marks the return address for refusals.
const nokParameter = "nok"

// prefer sets headers for the preferred way of authorisation, from the profile.
func (f *File) prefer(h http.Header) {
	first := f.Profile.SCA[0]
	h.Set("TPP-Redirect-Preferred", fmt.Sprint(first == redirectSCA || first == oauthSCA))
	if f.Standard.minor() >= sinceDecoupled {
		h.Set("TPP-Decoupled-Preferred", fmt.Sprint(first == decoupledSCA))
	}
	h.Set("TPP-Explicit-Authorisation-Preferred", fmt.Sprint(f.Profile.Start == "explicit"))
}

// notify sets the header with the address for notifications, if the bank sends notifications.
func (p *Profile) notify(h http.Header, address string) {
	if p.Notifications && address != "" {
		h.Set("TPP-Notification-URI", address)
		h.Set("TPP-Notification-Content-Preferred", "status=SCA,PROCESS,LAST")
	}
}

// stepLinks lists the links that name the next step, in order of preference. The connector uses the
// first link that the response contains. It uses links for encrypted passwords only when the bank
// file names a certificate for passwords. If the name of a link begins with start, the connector
// calls it with POST, except for a link to an authorisation that the bank has already started.
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
	{"startAuthorisationWithPsuIdentfication", atIdentification}, // the OpenAPI file of the standard has this spelling mistake
	{"startAuthorisation", atStart},
	{"confirmation", atConfirmation},
}

// ended maps the final statuses of an authorisation to steps.
var ended = map[string]step{"finalised": authorised, "exempted": authorised, "failed": failed}

// errNoStep means that the bank requires a step that the connector does not support.
var errNoStep = errors.New("it requires a way of authorisation that the connector does not know: check profile.sca and passwords.certificate")

// update applies the bank's response to the authorisation. The SCA approach is in the header
// ASPSP-SCA-Approach.
func (b *Bank) update(r request, into *authorisation, said scaAnswer, header http.Header) error {
	next := authorisation{
		Own: into.Own, Confirm: into.Confirm, Person: into.Person, Back: into.Back, Declined: into.Declined, Code: into.Code, OAuth: into.OAuth, Confirmation: into.Confirmation,
		First: into.First, FirstStep: into.FirstStep, FirstSealed: into.FirstSealed, Earlier: into.Earlier, Unlisted: into.Unlisted, Resumed: into.Resumed, Message: said.Message, Methods: said.Methods, Challenge: said.Challenge,
	}
	b.placeOwn(r, said.Links["scaStatus"].Href, &next)
	if err := b.place(r, said.Links["confirmation"].Href, &next.Confirm); err != nil {
		return err
	}
	if c := next.Challenge; c != nil && len(c.Image) > payment.MaxFieldImage {
		c.Image = nil // pages cannot show the image, and the image would fill the stored memory
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

// nextStep ends the authorisation, or sets the next step from the links in the response.
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

// wait makes the authorisation wait for a step.
func (b *Bank) wait(r request, next *authorisation, link string, wanted step, href string) error {
	next.Step, next.Sealed = wanted, encrypts(link)
	switch {
	case wanted == atServer:
		next.OAuth = cmp.Or(next.OAuth, newGrant())
		return nil
	case wanted == atPage && !b.page(href):
		return b.fault(r, errNoPage, errNoPage.Error())
	case wanted == atPage:
		next.Page = href
		return nil
	}
	if err := b.place(r, href, &next.At); err != nil {
		return err
	}
	if next.Post = strings.HasPrefix(link, "start") && next.At != next.Own; next.Post {
		next.First, next.FirstStep, next.FirstSealed = next.At, wanted, next.Sealed
	}
	return nil
}

// passed lists, by step, the statuses which show that the bank has done the step. It contains only
// steps after which the bank sends data for the next step.
var passed = map[step][]string{
	atIdentification: {"psuIdentified", "psuAuthenticated", "scaMethodSelected", "started"},
	atPassword:       {"psuAuthenticated", "scaMethodSelected", "started"},
	atAdditional:     {"psuAuthenticated", "scaMethodSelected", "started"},
	atMethod:         {"scaMethodSelected", "started"},
}

// restart returns the authorisation to its first step when the status shows that the bank has done
// the present step. In that case, the bank's response with the data for the next step was lost.
func (a *authorisation) restart(status string) {
	if a.First != "" && slices.Contains(passed[a.Step], status) {
		a.replace(authorisation{
			Step: a.FirstStep, At: a.First, Post: true, Sealed: a.FirstSealed, First: a.First, FirstStep: a.FirstStep, FirstSealed: a.FirstSealed,
			Person: a.Person, OAuth: a.OAuth,
		})
	}
}

// errNoPage means that a browser must not follow the link to the bank's page.
var errNoPage = errors.New("its approval page has no https address")

// place stores the target of a link to the API. It stores nothing for an empty link.
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

// placeOwn stores the address of the authorisation. If the link leads to another host, such as one
// behind the bank's gateway, placeOwn stores the same path at the bank if it is below the request's.
func (b *Bank) placeOwn(r request, href string, into *authorisation) {
	if name := links.Below(r.path, href); b.place(r, href, &into.Own) != nil && name != "" {
		into.Own = r.path + "/" + name
	}
}

// setTarget sets the target of a request.
func (r *request) setTarget(place string) {
	r.path, r.address = place, ""
	if strings.HasPrefix(place, "https://") {
		r.path, r.address = "", place
	}
}

// denied means that a bank refused a request, or did not confirm that it had executed the request.
// The effect on the order or consent depends on the request.
type denied struct {
	r request
	a answer
}

// Error omits the bank's text, which may contain personal data.
func (d *denied) Error() string {
	return fmt.Sprintf("the call %s got the status %d", d.r.call, d.a.status)
}

// callAbout sends a request about an authorisation. It fails with *denied when the bank refuses it.
func (b *Bank) callAbout(ctx context.Context, a *authorisation, p person, r request) (scaAnswer, http.Header, error) {
	var said scaAnswer
	got, err := b.callGranted(ctx, p.grant(a), r, p.save)
	if err != nil {
		return said, nil, err
	}
	if !got.succeeded() {
		return said, nil, &denied{r, got}
	}
	err = b.decode(r, got, &said)
	return said, got.header, err
}

// perform sends the request of the present step, with a body, and applies the response. Before a
// request that starts an authorisation, it stores Unlisted, because this process may end before the
// response arrives.
func (b *Bank) perform(ctx context.Context, a *authorisation, p person, body any) error {
	r := request{call: "authorise", method: http.MethodPut, header: p.header(), body: body}
	r.setTarget(a.At)
	before, posts := a.Unlisted, a.Post
	if posts {
		r.method, a.Unlisted = http.MethodPost, true
		b.file.prefer(r.header)
		p.save(ctx)
	}
	said, header, err := b.callAbout(ctx, a, p, r)
	if err == nil && a.Own == "" && posts {
		b.placeOwn(r, header.Get("Location"), a)
	}
	if err == nil {
		err = b.update(r, a, said, header)
	}
	if posts {
		a.Unlisted = before || mayHaveStarted(err)
	}
	return err
}

// mayHaveStarted reports whether the bank may have started an authorisation despite the error.
func mayHaveStarted(err error) bool {
	if denial, found := errors.AsType[*denied](err); found {
		return denial.a.status >= http.StatusInternalServerError
	}
	return err != nil && !errors.Is(err, connector.ErrNotSent)
}

// proceed does the steps that do not involve the customer: it starts the authorisation, finds the
// page of the authorisation server, and gets the picture of a challenge.
func (b *Bank) proceed(ctx context.Context, a *authorisation, p person) error {
	if a.Step == atStart {
		if err := b.perform(ctx, a, p, struct{}{}); err != nil {
			return err
		}
	}
	if a.Step == atServer && a.Page == "" {
		return b.openServer(ctx, a, p)
	}
	if a.Step == atCode {
		b.fetchPicture(ctx, a, p)
	}
	return nil
}

// fetchPicture gets the picture of a challenge if the challenge links to one. If that fails, the
// customer still sees the rest of the challenge and can start again.
func (b *Bank) fetchPicture(ctx context.Context, a *authorisation, p person) {
	c := a.Challenge
	if c == nil || c.ImageLink == "" || len(c.Image) > 0 {
		return
	}
	r := request{call: "picture", method: http.MethodGet, header: deviceHeader(p.device), accept: "image/*"}
	var place string
	if b.place(r, c.ImageLink, &place) != nil {
		return
	}
	r.setTarget(place)
	got, err := b.callGranted(ctx, p.grant(a), r, p.save)
	if err == nil && got.succeeded() && len(got.body) <= payment.MaxFieldImage && strings.HasPrefix(http.DetectContentType(got.body), "image/") {
		c.Image, c.ImageLink = got.body, ""
	}
}

// stepInputs maps a step to the field that the customer fills in and to the body of the request.
var stepInputs = map[step]struct {
	field string
	body  func(value string) any
}{
	atIdentification: {psuIDField, func(string) any { return struct{}{} }},
	atPassword:       {passwordField, psuData("password")},
	atAdditional:     {additionalField, psuData("additionalPassword")},
	atMethod:         {methodField, func(value string) any { return map[string]string{"authenticationMethodId": value} }},
	atCode:           {codeField, func(value string) any { return map[string]string{"scaAuthenticationData": value} }},
}

// psuData returns a function that puts a password into a member of the JSON object psuData.
func psuData(member string) func(string) any {
	return func(value string) any { return map[string]any{"psuData": map[string]string{member: value}} }
}

// sealed maps steps to the members for encrypted passwords.
var sealed = map[step]string{atPassword: "encryptedPassword", atAdditional: "additionalEncryptedPassword"}

// stepBody returns the body for a step with the customer's value.
func (b *Bank) stepBody(a *authorisation, value string) (any, error) {
	if !a.Sealed {
		return stepInputs[a.Step].body(value), nil
	}
	encrypted, err := encrypt(b.material.passwords, value)
	return psuData(sealed[a.Step])(encrypted), err
}

// encrypt returns a password as a compact JWE that only the bank can decrypt. The standard
// leaves the format to the bank.
func encrypt(key *rsa.PublicKey, password string) (string, error) {
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key}, nil)
	if err != nil {
		return "", fmt.Errorf("prepare to encrypt a password: %w", err)
	}
	sealed, err := encrypter.Encrypt([]byte(password))
	if err != nil {
		return "", fmt.Errorf("encrypt a password: %w", err)
	}
	return sealed.CompactSerialize()
}

// These are the names of the fields in which the customer enters the values for steps.
const (
	passwordField   = "password"
	additionalField = "additional_password"
	methodField     = "method"
	codeField       = "code"
)

// sendAnswer sends the customer's answer to the bank. It fails with *denied when the bank refuses
// the answer. It stores a new user name only if the bank accepts the answer.
func (b *Bank) sendAnswer(ctx context.Context, a *authorisation, p person, values map[string]string) error {
	wanted, asks := stepInputs[a.Step]
	if !asks {
		return nil
	}
	p.name = cmp.Or(values[psuIDField], a.Person, p.name)
	body, err := b.stepBody(a, values[wanted.field])
	if err != nil {
		return err
	}
	before := a.Step
	a.Further = false
	if err := b.perform(ctx, a, p, body); err != nil {
		return err
	}
	a.Person = cmp.Or(values[psuIDField], a.Person)
	a.Further = a.Step == before
	return b.proceed(ctx, a, p)
}

// back stores the query with which the customer returned from a page. The connector does not trust
// the query to say that the customer approved: it asks the bank. The query can say that the
// customer refused. If the query shows a fault that the operator can remove, back returns its text.
func (a *authorisation) back(query url.Values) string {
	if query == nil || a.Step != atPage && a.Step != atServer {
		return ""
	}
	if fault, undecided := codes.Undecided(query.Get("error")); undecided && a.Step == atServer {
		return fault
	}
	a.Back, a.Declined = true, query.Get("error") != "" || query.Get(nokParameter) != ""
	if a.Declined {
		return ""
	}
	if code := query.Get("confirmationCode"); code != "" && a.Step == atPage {
		a.Code = code
	}
	if code := query.Get("code"); code != "" && a.OAuth != nil {
		a.OAuth.Code = code
	}
	return ""
}

// redeem does the steps after the customer's return: it exchanges a code for a token and, if the
// bank requires it, confirms the authorisation. It tries again at the next call until the bank has
// accepted or refused.
func (b *Bank) redeem(ctx context.Context, a *authorisation, p person) error {
	if a.OAuth != nil && a.OAuth.Code != "" {
		if err := b.exchangeCode(ctx, a, p); err != nil {
			return err
		}
	}
	switch {
	case a.Step.ended():
	case a.Code != "":
		return b.confirm(ctx, a, p, map[string]string{"confirmationCode": a.Code})
	case a.unconfirmed():
		return b.confirm(ctx, a, p, struct{}{})
	}
	return nil
}

// confirm asks the bank to confirm an authorisation. A refusal is not final if it is temporary or
// if the operator can remove its cause.
func (b *Bank) confirm(ctx context.Context, a *authorisation, p person, body any) error {
	r := request{call: "confirm", method: http.MethodPut, header: p.header(), body: body}
	r.setTarget(cmp.Or(a.Confirm, a.Own))
	said, _, err := b.callAbout(ctx, a, p, r)
	var denial *denied
	switch {
	case err == nil:
		a.Code, a.Confirmation = "", confirmTaken
	case errors.As(err, &denial) && !b.passes(denial):
		a.Code, a.Confirmation = "", confirmRefused
	}
	if end := ended[said.Status]; end != "" {
		a.Step, a.Message = end, said.Message
	}
	return err
}

// passes reports whether the bank may later accept a request that it has denied.
func (b *Bank) passes(d *denied) bool {
	return d.a.busy() || b.judge(d.r, d.a).what.Code == payment.Bug && d.a.status <= http.StatusForbidden
}

// ask asks the bank for the states of the present authorisation and of the earlier ones. When a
// state shows that a response of the bank was lost, ask prepares a restart of the present
// authorisation. When the present one has failed, the customer continues with the last of the
// earlier pages, unless the customer refused. For a payment, renew starts one new authorisation if
// that page is too old.
func (b *Bank) ask(ctx context.Context, a *authorisation, p person) error {
	if err := b.askEarlier(ctx, a, p); err != nil {
		return err
	}
	if a.Own != "" && !a.Step.ended() {
		said, err := b.askState(ctx, a, p)
		if err != nil {
			return err
		}
		if end := ended[said.Status]; end != "" {
			a.Step, a.Message = end, said.Message
		}
		a.restart(said.Status)
	}
	if last := a.lastPage(); last >= 0 && a.Step == failed && !a.Declined {
		a.resume(last)
		a.Back = false
		a.Resumed++
	}
	return nil
}

// lastPage returns the position of the last earlier authorisation with a page, or -1.
// Authorisations that come only from the bank's list have no page.
func (a *authorisation) lastPage() int {
	last := len(a.Earlier) - 1
	for last >= 0 && a.Earlier[last].Page == "" {
		last--
	}
	return last
}

func (b *Bank) askState(ctx context.Context, a *authorisation, p person) (scaAnswer, error) {
	r := request{call: "authorisation", method: http.MethodGet, header: deviceHeader(p.device)}
	r.setTarget(a.Own)
	said, _, err := b.callAbout(ctx, a, p, r)
	return said, err
}

// askEarlier asks the bank for the states of the earlier authorisations. An earlier authorisation
// replaces the present one when the customer has approved in the earlier one or has returned with
// its code. askEarlier drops earlier authorisations that have failed.
func (b *Bank) askEarlier(ctx context.Context, a *authorisation, p person) error {
	var denial *denied
	for i := len(a.Earlier) - 1; i >= 0 && a.Step != authorised; i-- {
		said, err := b.askState(ctx, &a.Earlier[i], p)
		switch end := ended[said.Status]; {
		case err != nil && !errors.As(err, &denial):
			return err
		case end == authorised:
			a.resume(i)
			a.Step, a.Message = authorised, said.Message
		case said.Status == "unconfirmed" && a.Code != "":
			a.resume(i)
			return nil
		case end == failed:
			a.Earlier = slices.Delete(a.Earlier, i, i+1)
		}
	}
	return nil
}
