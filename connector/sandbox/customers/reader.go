package customers

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox/speech"
)

// readPage is the minimum number of transactions in a page that is not the last.
const readPage = 200

// These are the names of the sources of connectors that read.
const (
	openAPI      = "openapi"
	directAccess = "directaccess"
)

// Access gives access to the page of the bank on which a customer allows a connection to read.
type Access struct {
	// Page returns the address of the page. From that page the browser returns to the given URL.
	Page func(domain passerelle.DomainID, connection passerelle.ConnectionID, back string) string
	// Code returns the code with which a customer returns after agreeing.
	Code func(domain passerelle.DomainID, connection passerelle.ConnectionID) string
}

// Reader is a connector that reads the customers' data from one simulated institution.
type Reader struct {
	access  Access
	profile connector.Profile
	// accounts and documents say which kinds of data the institution offers.
	accounts, documents bool
}

// Profile describes the connector to clients. Callers must not change the result, because it is
// shared.
func (r Reader) Profile() connector.Profile { return r.profile }

// OfBank returns the reader of a bank that also accepts payments. It extends the bank's profile
// with the data that the bank offers to readers.
func OfBank(access Access, profile connector.Profile) Reader {
	profile.Sources, profile.Labels.Code = sources(profile.ID), "30001"
	profile.Data = dataSettings("bank", "bankwealth", "document")
	return Reader{access: access, profile: profile, accounts: true, documents: true}
}

// These are the UUIDs of the institutions that accept no payments.
const (
	// ProviderConnector is the simulated provider of documents.
	ProviderConnector = "b7f0e7d4-6c1c-5c0e-9b8a-5a0c7a2f9d11"
	// RestrictedConnector accepts no new connections.
	RestrictedConnector = "4a1f6b0c-98d2-4c57-8e3b-5d6c7f0a2b19"
	// WebsiteConnector is a provider of documents that requires the field website.
	WebsiteConnector = "c2d0a5f6-1b7e-5d43-8f60-9a3e4b7c1d28"
)

// Readers lists the connectors of the institutions that accept no payments, in display order.
func Readers(access Access) []connector.Connector {
	return []connector.Connector{provider(access), restricted(access), website(access)}
}

func provider(access Access) Reader {
	profile := connector.Profile{
		UUID: ProviderConnector, ID: 64, Name: "Fournisseur Exemple", Countries: []string{"FR"}, Sandbox: true, Labels: Labels("Fournisseur Exemple", 64),
		Sources: sources(64)[1:], Data: dataSettings("document"),
	}
	return Reader{access: access, profile: profile, documents: true}
}

func restricted(access Access) Reader {
	profile := connector.Profile{
		UUID: RestrictedConnector, ID: 65, Name: "Sandbox Restricted", Countries: []string{"FR"}, Sandbox: true, Peculiar: true, Labels: Labels("Sandbox Restricted", 65),
		Restricted: true, Sources: sources(65), Data: dataSettings("bank"),
	}
	return Reader{access: access, profile: profile, accounts: true}
}

func website(access Access) Reader {
	profile := connector.Profile{
		UUID: WebsiteConnector, ID: 66, Name: "Sandbox Website", Countries: []string{"FR"}, Sandbox: true, Peculiar: true, Labels: Labels("Sandbox Website", 66),
		Sources: sources(66)[1:], Data: dataSettings("document"),
	}
	profile.Data.Fields[0].Required = true
	return Reader{access: access, profile: profile, documents: true}
}

// Labels returns the labels of a simulated institution: its initials, and a colour that depends on
// its number.
func Labels(name string, id int64) connector.Labels {
	var capitals []rune
	for _, word := range strings.Fields(name) {
		capitals = append(capitals, []rune(strings.ToUpper(word))[0])
	}
	return connector.Labels{Slug: string(capitals), Color: bankColors[id%Colors], URLs: []string{"https://bank.example/"}}
}

// Colors is the number of colours of institutions.
const Colors = int64(len(bankColors))

// bankColors lists the colours of the institutions. An institution's number, modulo the number of
// colours, selects a colour.
var bankColors = [...]string{"0b5cad", "8a3324", "2e6f40", "6b3fa0", "8c5a00", "a0295b", "1f6f78"}

func sources(connectorID int64) []connector.Source {
	return []connector.Source{
		{ID: connectorID*10 + 1, Name: openAPI, Mechanisms: []passerelle.AuthMechanism{passerelle.ByWebauth}, Priority: 1},
		{ID: connectorID*10 + 2, Name: directAccess, Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}, Priority: 0},
	}
}

func dataSettings(capabilities ...string) *connector.DataSettings {
	s := &connector.DataSettings{Capabilities: capabilities, Usages: []passerelle.Usage{passerelle.Private}, Fields: credentialFields(), UnattendedReads: 4}
	if slices.Contains(capabilities, "bank") {
		s.AccountTypes = []passerelle.AccountType{"checking", "card", "livret_a", "savings", "deposit", "mortgage", "market", "pea", "lifeinsurance", "pee"}
	}
	if slices.Contains(capabilities, "document") {
		s.Documents = []string{"bill"}
	}
	return s
}

// credentialFields returns the fields for credentials. The website is a field because existing
// clients of the API send a website.
func credentialFields() []connector.Field {
	direct := []passerelle.AuthMechanism{passerelle.ByCredentials}
	return []connector.Field{
		{Name: "website", Label: "Site", Type: "list", Values: []connector.FieldValue{{Label: "Particuliers", Value: "par"}, {Label: "Professionnels", Value: "pro"}}},
		{Name: "login", Label: "Login", Type: "text", Required: true, Mechanisms: direct, Sources: []string{directAccess}},
		{Name: "password", Label: "Password", Type: "password", Required: true, Mechanisms: direct, Sources: []string{directAccess}},
	}
}

// memory is stored between reads. Passed is the number of steps that the user has done. Last is the
// time of the last read with the user present. Access means that the user agreed on the bank's
// page. Login is the login that the user entered on that page.
type memory struct {
	Passed int       `json:"passed"`
	Last   time.Time `json:"last"`
	Access bool      `json:"access,omitempty"`
	Login  string    `json:"login,omitempty"`
}

// Read reads the simulated institution. Messages and fields are in the language of the user's
// device.
func (r Reader) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	outcome, err := r.read(ctx, req, out)
	says := speech.For(req.Device.AcceptLanguage)
	outcome.Message, outcome.Fields = says.Say(outcome.Message), says.Questions(outcome.Fields)
	return outcome, err
}

func (r Reader) read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	m := recall(req.Memory)
	if r.cameByPage(req) {
		m.Access, m.Login = true, req.Callback.Get("login")
	}
	how := mannerOf(m.login(req))
	if how.renews && req.Callback == nil && req.Now.Sub(m.Last) > 24*time.Hour {
		m.Access = false
	}
	if refused, yes := r.admit(req, m); yes {
		refused.Memory = m.encode()
		return refused, nil
	}
	if outcome, waits := how.stop(req, &m); waits {
		outcome.Memory = m.encode()
		return outcome, nil
	}
	if how.ends != "" {
		return connector.Outcome{State: how.ends, Message: how.message}, nil
	}
	c := customer{login: m.login(req), manner: how, today: passerelle.DateOf(req.Now, time.UTC)}
	if err := r.sendData(ctx, c, out); err != nil {
		return connector.Outcome{}, err
	}
	if req.Present {
		m.Last = req.Now
	}
	return connector.Outcome{Memory: m.encode()}, nil
}

func (r Reader) sendData(ctx context.Context, c customer, out connector.Sink) error {
	if r.accounts {
		if err := c.show(ctx, out); err != nil {
			return err
		}
	}
	if r.documents {
		return c.showSubscriptions(out)
	}
	return nil
}

// login returns the login whose data is read. A user who comes from the bank's page has entered the
// login there.
func (m memory) login(req connector.DataRequest) string {
	return cmp.Or(req.Values["login"], m.Login, "guest")
}

func recall(text []byte) memory {
	var m memory
	if json.Unmarshal(text, &m) != nil {
		return memory{}
	}
	return m
}

func (m memory) encode() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a number and an instant can always be encoded
	}
	return text
}

// admit refuses a wrong password. If access requires the bank's page, it also refuses a user who
// has not agreed on that page.
func (r Reader) admit(req connector.DataRequest, m memory) (connector.Outcome, bool) {
	if req.Source == directAccess && req.Values["password"] != Password {
		fields := slices.DeleteFunc(credentialFields(), func(f connector.Field) bool { return f.Type == "list" })
		return connector.Outcome{State: passerelle.Wrongpass, Message: "The login or password is wrong.", Fields: fields}, true
	}
	if req.Source != openAPI || m.Access && req.Callback.Get("error") == "" {
		return connector.Outcome{}, false
	}
	wanted := connector.Outcome{State: passerelle.WebauthRequired, URL: r.access.Page(req.Domain, req.Connection, req.ReturnURL)}
	if req.Callback != nil {
		wanted.Message = "Access was refused."
	}
	return wanted, true
}

// cameByPage reports whether the user has come from the bank's page and has allowed this connection
// to read.
func (r Reader) cameByPage(req connector.DataRequest) bool {
	return req.Source == openAPI && hmac.Equal([]byte(req.Callback.Get("code")), []byte(r.access.Code(req.Domain, req.Connection)))
}

// stop ends a read that waits for the user. It begins no step while the user is absent.
func (m manner) stop(req connector.DataRequest, at *memory) (connector.Outcome, bool) {
	if m.renews && !req.Present && req.Now.Sub(at.Last) > 24*time.Hour {
		return connector.Outcome{State: passerelle.SCARequired}, true
	}
	for at.Passed < len(m.steps) {
		if !req.Present {
			return connector.Outcome{State: passerelle.SCARequired}, true
		}
		outcome, waits := m.steps[at.Passed](&req)
		if waits {
			return outcome, true
		}
		at.Passed++
	}
	return connector.Outcome{}, false
}

// hurdle is one step for the user. It may change the request, so that one approval in the app does
// not count for a later step.
type hurdle func(req *connector.DataRequest) (outcome connector.Outcome, waits bool)

func byCode(req *connector.DataRequest) (connector.Outcome, bool) {
	code := connector.Field{Name: "otp", Label: "Code received by SMS", Type: "text", Regex: "[0-9]{6}", Required: true}
	supplied := req.Answers["otp"]
	if supplied == "123456" {
		return connector.Outcome{}, false
	}
	asked := connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{code}}
	if supplied != "" {
		asked.Message = "The code is wrong."
	}
	return asked, true
}

func byDevice(req *connector.DataRequest) (connector.Outcome, bool) {
	devices := []connector.FieldValue{{Label: "Jeanne’s phone", Value: "phone"}, {Label: "Tablet", Value: "tablet"}}
	for _, d := range devices {
		if req.Answers["device"] == d.Value {
			return connector.Outcome{}, false
		}
	}
	field := connector.Field{Name: "device", Label: "Device to approve with", Type: "list", Required: true, Values: devices}
	return connector.Outcome{State: passerelle.AdditionalInformationNeeded, Fields: []connector.Field{field}}, true
}

func byApp(req *connector.DataRequest) (connector.Outcome, bool) {
	if req.Resumed {
		req.Resumed = false
		return connector.Outcome{}, false
	}
	return connector.Outcome{State: passerelle.Decoupled, Message: "Please confirm in your bank’s app."}, true
}

var errBroken = errors.New("the connection to the sandbox bank broke")

// show passes on all accounts, and the transactions of the wanted ones.
func (c customer) show(ctx context.Context, out connector.Sink) error {
	accounts := c.accounts()
	var details []passerelle.AccountDetails
	for _, h := range accounts {
		details = append(details, c.details(h))
	}
	if c.manner.fault == talksNonsense {
		details = append(details, details[0])
	}
	if err := out.Accounts(details); err != nil {
		return err
	}
	for _, h := range accounts {
		if from, wanted := out.Wanted(h.key); wanted {
			if err := c.showAccount(ctx, h, from, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// accounts returns the accounts of the customer on the day of the read.
func (c customer) accounts() []holding {
	all := usual()
	if c.manner.accounts != nil {
		all = c.manner.accounts()
	}
	if c.manner.changes && c.odd() {
		all[0].name = "Compte principal"
		all = append(all[:2], holding{key: "new", name: "Nouveau livret", kind: "savings", currency: "EUR", opening: 100})
	}
	return all
}

// odd reports whether the day of the read has an odd number. The result alternates from day to day.
func (c customer) odd() bool { return c.today.In(time.UTC).Unix()/86400%2 == 1 }

// showAccount passes on the transactions of an account, and then its assets. The coming
// transactions are first. The others follow, newest first. The argument from is the earliest day.
func (c customer) showAccount(ctx context.Context, h holding, from passerelle.Date, out connector.Sink) error {
	if from.IsZero() || from.Compare(beginning) < 0 {
		from = beginning
	}
	p := pages{customer: c, account: h.key, out: out, page: c.coming(h)}
	for day := c.today; day.Compare(from) >= 0 && !p.full(); day = day.AddDays(-1) {
		p.page = append(p.page, c.day(h, day)...)
		if len(p.page) < readPage {
			continue
		}
		if err := errors.Join(ctx.Err(), p.handOver()); err != nil {
			return err
		}
	}
	if err := p.handOver(); err != nil {
		return err
	}
	if err := c.showAssets(h, out); err != nil {
		return err
	}
	return out.AccountRead(h.key, from)
}

// pages passes on the data of a customer page by page. It simulates the faults of the customer's
// manner.
type pages struct {
	customer
	account    string
	out        connector.Sink
	page       []passerelle.TransactionDetails
	handedOver int
}

// full reports whether the limit of the customer's manner is reached.
func (p *pages) full() bool { return p.manner.most > 0 && p.handedOver+len(p.page) >= p.manner.most }

func (p *pages) handOver() error {
	switch {
	case p.manner.fault == breaksOff && p.handedOver > 0:
		return errBroken
	case p.manner.fault == panics:
		panic("the sandbox bank has orders to panic")
	case p.full():
		p.page = p.page[:p.manner.most-p.handedOver]
	}
	p.handedOver += len(p.page)
	err := p.out.Transactions(p.account, p.page)
	if p.manner.repeats && err == nil {
		err = p.out.Transactions(p.account, p.page)
	}
	p.page = nil
	return err
}

// day returns the transactions of a day. If the customer's data changes, reads on every other day
// correct the label of the first transaction of each of the last 20 days. If such a day has several
// transactions, these reads omit the last one.
func (c customer) day(h holding, day passerelle.Date) []passerelle.TransactionDetails {
	list := c.transactionsOn(h, day)
	if !c.manner.changes || !c.odd() || len(list) == 0 || day.Compare(c.today.AddDays(-20)) <= 0 {
		return list
	}
	list[0].Wording += fmt.Sprintf(" CORRIGE %02d", dayOf(day))
	return list[:max(1, len(list)-1)]
}
