package berlingroup

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/identity"
)

// reader reads the accounts at a bank.
type reader struct{ *Bank }

// dataSettings describes the data that the bank offers.
func (f *File) dataSettings() *connector.DataSettings {
	a := f.Profile.Accounts
	s := &connector.DataSettings{
		Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking", "savings", "loan"},
		Usages:        []passerelle.Usage{passerelle.Private, passerelle.Organisation},
		MonthsToFetch: (a.HistoryDays + 29) / 30, ConsentDays: a.ConsentDays,
		UnattendedReads: max(f.Profile.CallsADay/len(a.reports(accountsPath)), 1),
	}
	if a.CardAccounts {
		s.AccountTypes = append(s.AccountTypes, "card")
	}
	s.Fields = append(s.Fields, connectionFields(f.identifications(f.Profile.PSUID || f.mechanism() == passerelle.ByCredentials))...)
	if a.kind() == detailedConsent {
		s.Fields = append(s.Fields, connector.Field{Name: ibanField, Type: "text", Label: "IBAN of your account", Required: true, Regex: "[A-Za-z]{2}[0-9A-Za-z ]{13,40}"})
	}
	return s
}

// ibanField is the connection field for the account of a detailed consent.
const ibanField = "iban"

// mechanism returns the way in which users authorise reads. The bank's preferred SCA approach
// determines the mechanism.
func (f *File) mechanism() passerelle.AuthMechanism {
	if approach := f.Profile.SCA[0]; approach == decoupledSCA || approach == embeddedSCA {
		return passerelle.ByCredentials
	}
	return passerelle.ByWebauth
}

// reports returns the values of bookingStatus that select all transactions, in the order of the
// requests. If the format contains only booked transactions, the values select these. Pending
// transactions come first: a transaction that is booked between two requests is then in both
// reports, and the booked copy is the last. In the other order, the transaction would be in neither
// report.
func (a *Accounts) reports(family string) []string {
	has := func(status string) bool { return slices.Contains(a.BookingStatuses, status) }
	switch {
	case !formats[a.formatOf(family)].groups && has("booked"):
		return []string{"booked"}
	case has("both"):
		return []string{"both"}
	case has("all"):
		return []string{"all"}
	}
	return slices.DeleteFunc([]string{"pending", "booked"}, func(status string) bool { return !has(status) })
}

// readMemory holds the data that a read stores for the next read.
type readMemory struct {
	// Consent is the bank's id of the consent. Valid means that the customer has authorised the
	// consent. Asked is the time of the request.
	Consent string    `json:"consent,omitempty"`
	Valid   bool      `json:"valid,omitempty"`
	Asked   time.Time `json:"asked,omitzero"`
	// Approval is the authorisation of the consent.
	Approval authorisation `json:"approval,omitzero"`
	// Until is the time at which the consent ends.
	Until time.Time `json:"until,omitzero"`
	// Calls contains the times of calls without the customer during the last day. The keys name the
	// calls that the bank counts together.
	Calls map[string][]time.Time `json:"calls,omitempty"`
	// Accounts maps the keys of accounts to the data about these accounts.
	Accounts map[string]accountMemory `json:"accounts,omitempty"`
	// Formers are consents that may still exist at the bank, oldest first. The bank refused a read
	// with them, or another consent replaced them before the customer approved them. Each former
	// consent has only the id, Valid and the grant. Older memories have a single former consent, in
	// Former.
	Formers []readMemory `json:"formers,omitempty"`
	Former  *readMemory  `json:"former,omitempty"`
}

func recall(text []byte) readMemory {
	var m readMemory
	if json.Unmarshal(text, &m) != nil {
		return readMemory{}
	}
	if m.Former != nil {
		m.Former.Valid = true
		m.Formers, m.Former = append(m.Formers, *m.Former), nil
	}
	return m
}

// mostFormers is the maximum number of former consents. Pages of older ones have expired.
const mostFormers = 10

// withFormer returns the former consents with the present one. Above mostFormers, it first drops
// the oldest consent that was not authorised, because such a consent permits no reads.
func (m *readMemory) withFormer() []readMemory {
	all := m.Formers
	if m.Consent != "" {
		all = append(slices.Clip(all), readMemory{Consent: m.Consent, Valid: m.Valid, Approval: authorisation{OAuth: m.Approval.OAuth}})
	}
	for len(all) > mostFormers {
		first := max(0, slices.IndexFunc(all, func(m readMemory) bool { return !m.Valid }))
		all = slices.Delete(slices.Clone(all), first, first+1)
	}
	return all
}

// maxMemory is the maximum size of the memory, in bytes.
const maxMemory = 512 << 10

// encode encodes the memory as text. When the memory is too large, it omits the keys of
// transactions. The next read then does not recognise pending transactions.
func (m *readMemory) encode() ([]byte, error) {
	text, err := json.Marshal(m)
	if len(text) <= maxMemory {
		return text, err
	}
	short := *m // the running read keeps all keys
	short.Accounts = maps.Clone(m.Accounts)
	for key, a := range short.Accounts {
		a.Names = identity.Memory{Unnamed: a.Names.Unnamed}
		short.Accounts[key] = a
	}
	return json.Marshal(short)
}

// afresh returns the part of the memory that is kept when a consent ends: the calls of the day, the
// day of each account's last read, the keys of transactions without an id, and the former consents.
func (m readMemory) afresh() readMemory {
	kept := readMemory{Calls: m.Calls, Accounts: map[string]accountMemory{}, Formers: m.Formers}
	for key, a := range m.Accounts {
		kept.Accounts[key] = accountMemory{Read: a.Read, Names: a.Names}
	}
	return kept
}

// reading is one read of a customer's accounts.
type reading struct {
	*Bank
	connector.DataRequest
	out    connector.Sink
	memory readMemory
	// passed means that the sink has the accounts. The sink takes accounts only once.
	passed bool
}

// interruption ends a read with a state that is not a failure of the connector.
type interruption struct{ connector.Outcome }

// Error returns a text with the state.
func (i *interruption) Error() string { return "the read ends in the state " + string(i.State) }

// Read reads the accounts of a customer if there is a valid consent, and otherwise requests one.
func (r reader) Read(ctx context.Context, request connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	v := &reading{Bank: r.Bank, DataRequest: request, out: out, memory: recall(request.Memory)}
	outcome, err := v.read(ctx)
	if ended, is := errors.AsType[*interruption](err); is {
		outcome, err = ended.Outcome, nil
	}
	memory, encodeErr := v.memory.encode()
	outcome.Memory = memory
	return outcome, errors.Join(err, encodeErr)
}

func (v *reading) read(ctx context.Context) (connector.Outcome, error) {
	err := v.admit(ctx)
	if err == nil {
		err = v.readAccounts(ctx)
	}
	if refused, is := errors.AsType[*readRefusal](err); is && refused.state == passerelle.SCARequired {
		err = v.readAgain(ctx, refused.code)
	}
	if err != nil {
		return v.outcomeOf(err)
	}
	until := v.memory.Until
	return connector.Outcome{ConsentUntil: &until}, nil
}

// readAgain reads the accounts with another consent. If this read has already passed on the accounts,
// it ends, and the next read begins in a minute. After a failure, the refused consent may work later.
func (v *reading) readAgain(ctx context.Context, code string) error {
	before := v.memory
	if !slices.Contains(consentEnded, code) {
		v.memory.Formers = v.memory.withFormer()
	}
	v.memory = v.memory.afresh()
	err := v.askConsent(ctx)
	switch _, interrupted := errors.AsType[*interruption](err); {
	case err == nil && v.passed:
		return &interruption{connector.Outcome{State: passerelle.WebsiteUnavailable, RetryAfter: time.Minute}}
	case err == nil:
		return v.readAccounts(ctx)
	case !interrupted && v.memory.Consent == "":
		before.Calls = v.memory.Calls
		v.memory = before
	}
	return err
}

// outcomeOf converts the error of a read into an outcome or an error of the connector.
func (v *reading) outcomeOf(err error) (connector.Outcome, error) {
	var refused *readRefusal
	if errors.Is(err, errUnfit) {
		return connector.Outcome{State: passerelle.Bug}, err
	}
	if !errors.As(err, &refused) {
		return connector.Outcome{}, err
	}
	outcome := connector.Outcome{State: refused.state, Message: refused.message, RetryAfter: refused.retryAfter}
	if refused.state == passerelle.SCARequired {
		outcome.State = v.renewal()
	}
	return outcome, refused.fault
}

// renewal returns the state in which the service requests a consent from the user.
func (v *reading) renewal() passerelle.ConnectionState {
	if v.file.mechanism() == passerelle.ByWebauth {
		return passerelle.WebauthRequired
	}
	return passerelle.SCARequired
}

// get requests data of the customer from the bank and decodes it.
func (v *reading) get(ctx context.Context, r request, into any) error {
	a, err := v.fetch(ctx, r)
	if err != nil {
		return err
	}
	return v.decode(r, a, into)
}

// fetch requests data of the customer from the bank.
func (v *reading) fetch(ctx context.Context, r request) (answer, error) {
	r.method = http.MethodGet
	a, err := v.callAllowed(ctx, r)
	if err == nil && !a.succeeded() {
		err = v.refused(r, a)
	}
	return a, err
}

// callAllowed makes a request with the customer's consent and token. While the customer is present,
// who can consent again, a bare 401 counts as a refusal of a token without a refresh token. When
// the customer has just returned, the token is new, so the bare 401 has another cause.
func (v *reading) callAllowed(ctx context.Context, r request) (answer, error) {
	r.header = deviceHeader(v.Device)
	if v.memory.Consent != "" {
		r.header.Set("Consent-ID", v.memory.Consent)
	}
	g := v.memory.Approval.OAuth
	a, err := v.callGranted(ctx, g, r, v.save)
	a.ungranted = a.ungranted || v.Present && v.Callback == nil && g != nil && g.Token != "" && g.Refresh == ""
	return a, err
}

// save stores the memory before the read ends.
func (v *reading) save(ctx context.Context) {
	if memory, err := v.memory.encode(); err == nil && v.Save != nil {
		v.Save(ctx, memory)
	}
}

// addressHeader has the address of the customer's device. Reads without it count as unattended.
const addressHeader = "PSU-IP-Address"

// deviceHeader returns headers that describe the device of a customer who is present.
func deviceHeader(d connector.Device) http.Header {
	h := http.Header{}
	if d.Address.IsValid() {
		h.Set(addressHeader, d.Address.String())
	}
	if d.Port > 0 {
		h.Set("PSU-IP-Port", strconv.Itoa(d.Port))
	}
	for name, value := range map[string]string{
		"PSU-User-Agent": d.UserAgent, "PSU-Accept": d.Accept, "PSU-Accept-Language": d.AcceptLanguage, "PSU-Accept-Charset": d.AcceptCharset,
		"PSU-Accept-Encoding": d.AcceptEncoding, "PSU-Http-Method": d.Method, "PSU-Device-ID": d.ID, "PSU-Geo-Location": d.Location,
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	return h
}

// callsWindow is the period in which the connector counts calls without the customer. Banks count
// calls per day, and each bank decides when its day begins. A count over any 24 hours therefore
// satisfies the limit of every bank.
const callsWindow = 24 * time.Hour

// count counts a call without the customer. It ends the read when the bank's daily limit is
// reached.
func (v *reading) count(call string) error {
	if v.Device.Address.IsValid() {
		return nil
	}
	if v.file.Profile.CallsADay == 0 {
		return &interruption{connector.Outcome{State: passerelle.RateLimiting, RetryAfter: callsWindow}}
	}
	made := slices.DeleteFunc(v.memory.Calls[call], func(at time.Time) bool { return v.Now.Sub(at) >= callsWindow })
	if len(made) >= v.file.Profile.CallsADay {
		wait := made[len(made)-v.file.Profile.CallsADay].Add(callsWindow).Sub(v.Now)
		return &interruption{connector.Outcome{State: passerelle.RateLimiting, RetryAfter: wait}}
	}
	if v.memory.Calls == nil {
		v.memory.Calls = map[string][]time.Time{}
	}
	v.memory.Calls[call] = append(made, v.Now)
	return nil
}

// forget drops the kinds of calls that were last made callsWindow ago or earlier.
func (m *readMemory) forget(now time.Time) {
	for call, made := range m.Calls {
		if now.Sub(slices.MaxFunc(made, time.Time.Compare)) >= callsWindow {
			delete(m.Calls, call)
		}
	}
}

// day returns the calendar day of the read.
func (v *reading) day() passerelle.Date { return passerelle.DateOf(v.Now, time.UTC) }
