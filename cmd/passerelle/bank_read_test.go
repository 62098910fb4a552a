package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

type banksOf struct {
	servicetest.TestBanks

	t testing.TB
}

func newBanks(t testing.TB, profiles string) *banksOf {
	t.Helper()
	const free = "127.0.0.1:0"
	data := t.TempDir()
	furnish(t, filepath.Join(data, "certs"))
	said, stop := started(t, "testbank", "--json", "--data", data, "--listen", free, "--pages", free, "--control", free, "--profile", profiles)
	t.Cleanup(func() { stop() })
	folder, _ := said["folder"].(string)
	control, _ := said["control"].(string)
	banks := &banksOf{servicetest.TestBanks{Folder: folder, Control: control}, t}
	if v := validating(); v != nil {
		v.between(banks)
	}
	return banks
}

// furnish writes the same certificates for all banks, because making them takes a second.
func furnish(t testing.TB, folder string) {
	t.Helper()
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range certificates() {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var certificates = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{}
	folder, err := os.MkdirTemp("", "passerelle-certificates")
	if err == nil {
		defer func() { _ = os.RemoveAll(folder) }()
		run(context.Background(), []string{"testbank", "certs", folder}, nil, io.Discard, os.Stderr)
		err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files[name], err = os.ReadFile(filepath.Join(folder, name))
			}
			return err
		})
	}
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("the certificates of the test bank: %d files, %v", len(files), err))
	}
	return files
})

func (b *banksOf) steer(method, path string, body any, into any) {
	b.t.Helper()
	if err := b.Steer(method, path, body, into); err != nil {
		b.t.Fatal(err)
	}
}

func (b *banksOf) with(bank, old, replacement string) {
	b.t.Helper()
	path := filepath.Join(b.Folder, bank+".toml")
	content, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(content, []byte(old)) {
		b.t.Fatalf("the file of %s: %v, or it does not have %q", bank, err, old)
	}
	if err := os.WriteFile(path, bytes.Replace(content, []byte(old), []byte(replacement), 1), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *banksOf) uuid(bank string) string {
	b.t.Helper()
	return b.UUID(b.t, bank)
}

const landing = "https://app.example/back"

type customer struct {
	*servicetest.Instance
	t       *testing.T
	banks   *banksOf
	token   string
	browser *http.Client
	// method is the id of the authentication method with which the bank sends the next code.
	method string
	codes  int
}

func newCustomer(t *testing.T, s *servicetest.Instance, banks *banksOf) *customer {
	t.Helper()
	s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{landing}}))
	var out struct {
		Token string `json:"auth_token"`
	}
	s.JSON(s.OK(s.Call("POST", "/auth/init", "", map[string]any{"client_id": s.ClientID, "client_secret": s.Secret})), &out)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.Device = "192.0.2.7"
	return &customer{Instance: s, t: t, banks: banks, token: out.Token, browser: &http.Client{Jar: jar, CheckRedirect: stay}}
}

func (c *customer) browse(address string, form url.Values) string {
	c.t.Helper()
	answer, err := c.browser.Get(address)
	if form != nil {
		answer, err = c.browser.PostForm(address, form)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if to := answer.Header.Get("Location"); to != "" {
		return to
	}
	body, _ := io.ReadAll(answer.Body)
	c.t.Fatalf("%s: %d without a way on: %s", address, answer.StatusCode, body)
	return ""
}

func (c *customer) begin(q url.Values) string {
	c.t.Helper()
	q.Set("client_id", c.ClientID)
	q.Set("redirect_uri", landing)
	var out struct{ URL string }
	c.JSON(c.OK(c.Call("GET", "/webauth-url?"+q.Encode(), c.token, nil)), &out)
	return c.browse(out.URL, nil)
}

func (c *customer) decide(page, decision string) url.Values {
	c.t.Helper()
	return c.decideAs(page, decision, "anna")
}

func (c *customer) decideAs(page, decision, as string) url.Values {
	c.t.Helper()
	if strings.Contains(page, "/authorize?") {
		origin, err := url.Parse(page)
		if err != nil {
			c.t.Fatal(err)
		}
		page = origin.ResolveReference(&url.URL{Path: c.browse(page, nil)}).String()
	}
	back := c.browse(page, url.Values{"decision": {decision}, "customer": {as}})
	to, err := url.Parse(c.browse(back, nil))
	if err != nil || to.Scheme+"://"+to.Host+to.Path != landing {
		c.t.Fatalf("the customer came to %v, %v", to, err)
	}
	return to.Query()
}

type seenConnection struct {
	ID     int64
	State  *string
	Fields []struct {
		Name   string
		Image  string
		Values []struct{ Value string }
	}
}

type seenAccount struct {
	ID      int64
	Number  string
	Balance json.Number
}

type seenTransaction struct {
	ID     int64
	Value  json.Number
	Coming bool
}

func (c *customer) accounts() (all []seenAccount) {
	c.t.Helper()
	var out struct{ Accounts []seenAccount }
	c.JSON(c.OK(c.Call("GET", "/users/me/accounts?all", c.token, nil)), &out)
	return out.Accounts
}

func (c *customer) connect(uuid string) {
	c.t.Helper()
	c.decide(c.begin(url.Values{"connector_uuid": {uuid}}), "approve")
	c.share(c.accounts())
}

func (c *customer) share(all []seenAccount) {
	c.t.Helper()
	for _, a := range all {
		c.OK(c.Call("POST", "/users/me/accounts/"+itoa(a.ID)+"?all", c.token, map[string]any{"disabled": false}))
	}
	c.OK(c.Call("POST", "/sandbox/run", c.ConfigToken, nil))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func (c *customer) transactions() (all []seenTransaction) {
	c.t.Helper()
	for next := "/users/me/transactions?limit=1000"; next != ""; {
		var out struct {
			Transactions []seenTransaction
			Links        struct{ Next *struct{ Href string } } `json:"_links"`
		}
		c.JSON(c.OK(c.Call("GET", next, c.token, nil)), &out)
		if all = append(all, out.Transactions...); out.Links.Next == nil {
			break
		}
		next = strings.TrimPrefix(out.Links.Next.Href, c.Base)
	}
	return all
}

func (c *customer) connection() seenConnection {
	c.t.Helper()
	var out struct{ Connections []seenConnection }
	c.JSON(c.OK(c.Call("GET", "/users/me/connections", c.token, nil)), &out)
	if len(out.Connections) != 1 {
		c.t.Fatalf("%d connections", len(out.Connections))
	}
	return out.Connections[0]
}

func (c *customer) sync(present string) {
	c.t.Helper()
	c.OK(c.Call("PUT", "/users/me/connections/"+itoa(c.connection().ID)+"?psu_requested="+present, c.token, nil))
}

type bookedAccount struct {
	ID, Number string
	Booked     int64
}

func (b *banksOf) books(bank string) []bookedAccount {
	b.t.Helper()
	var out struct{ Accounts []bookedAccount }
	b.steer("GET", bank+"/accounts?customer=anna", nil, &out)
	slices.SortFunc(out.Accounts, func(a, b bookedAccount) int { return strings.Compare(b.Number, a.Number) }) // cards are last
	return out.Accounts
}

func cents(t *testing.T, amount json.Number) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.Replace(amount.String(), ".", "", 1), 10, 64)
	if err != nil {
		t.Fatalf("%s is not with two digits", amount)
	}
	return n
}

func (c *customer) matchesBooks(bank string, transactions int) {
	c.t.Helper()
	want, got := map[string]int64{}, map[string]int64{}
	sum, moved := int64(0), int64(0)
	for _, a := range c.banks.books(bank) {
		want[a.Number], sum = a.Booked, sum+a.Booked
	}
	for _, a := range c.accounts() {
		got[a.Number] = cents(c.t, a.Balance)
	}
	maps.DeleteFunc(want, func(number string, booked int64) bool { _, shown := got[number]; return !shown && booked == 0 }) // a card account
	if !maps.Equal(want, got) {
		c.t.Errorf("the balances are %v, in the books %v", got, want)
	}
	all := c.transactions()
	for _, one := range all {
		if !one.Coming {
			moved += cents(c.t, one.Value)
		}
	}
	if len(all) != transactions || moved != sum {
		c.t.Errorf("%d transactions of %d in all, want %d of %d", len(all), moved, transactions, sum)
	}
}

// TestAccountsOfABankAreRead: the service stores a bank's transactions, and reads them again
// without the customer.
func TestAccountsOfABankAreRead(t *testing.T) {
	banks := newBanks(t, "redirect,delta")
	for _, bank := range []string{"redirect", "delta"} {
		t.Run(bank, func(t *testing.T) { accountsAreRead(t, banks, bank) })
	}
}

func accountsAreRead(t *testing.T, banks *banksOf, bank string) {
	uuid, first := banks.uuid(bank), banks.books(bank)[0]
	total := 2
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		banks.steer("POST", bank+"/accounts/"+first.ID+"/fill", map[string]any{"count": 250, "amount": "-1.50", "text": "Coffee", "days_ago": 40}, nil)
		total += 250
		c := newCustomer(t, s, banks)
		reported := c.decide(c.begin(url.Values{"connector_uuid": {uuid}}), "approve")
		if reported.Get("error") != "" || reported.Get("id_connection") == "" {
			t.Fatalf("the application was told %v\n%s", reported, s.Logs)
		}
		c.share(c.accounts())
		c.matchesBooks(bank, total)
		banks.steer("POST", bank+"/accounts/"+first.ID+"/fill", map[string]any{"count": 3, "amount": "20.00", "text": "Refund"}, nil)
		total += 3
		banks.steer("POST", bank+"/accounts/"+first.ID+"/fill", map[string]any{"count": 1, "amount": "-7.00", "text": "Reserved", "pending": true}, nil)
		total++
		c.sync("false")
		c.matchesBooks(bank, total)
		for range 5 {
			c.sync("true") // more often than the bank allows without the customer
		}
		if state := c.connection().State; state != nil {
			t.Errorf("the connection is in the state %s\n%s", *state, s.Logs)
		}
	})
}

// TestReadsWithoutADevice: when an application does not name the customer's device, its reads count
// as unattended, although it says that the customer is present.
func TestReadsWithoutADevice(t *testing.T) {
	banks := newBanks(t, "redirect")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		c.connect(banks.uuid("redirect"))
		s.Device = ""
		for range 4 {
			if c.sync("true"); c.connection().State != nil {
				t.Fatalf("the connection is in the state %s\n%s", *c.connection().State, s.Logs)
			}
		}
		if c.sync("true"); c.connection().State == nil || *c.connection().State != "rateLimiting" {
			t.Errorf("after five reads without a device: %+v\n%s", c.connection(), s.Logs)
		}
		s.Device = "192.0.2.7"
		if c.sync("true"); c.connection().State != nil {
			t.Errorf("with the device: %+v\n%s", c.connection(), s.Logs)
		}
	})
}

// TestRefusedConsent: a customer who refuses the consent can try again.
func TestRefusedConsent(t *testing.T) {
	banks := newBanks(t, "redirect-explicit")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		reported := c.decide(c.begin(url.Values{"connector_uuid": {banks.uuid("redirect-explicit")}}), "refuse")
		if reported.Get("error") == "" {
			t.Errorf("the application was told %v", reported)
		}
		if state := c.connection().State; state == nil || *state != "webauthRequired" {
			t.Fatalf("the connection is in the state %v", state)
		}
		reported = c.decide(c.begin(url.Values{"id_connection": {itoa(c.connection().ID)}}), "approve")
		if reported.Get("error") != "" || len(c.accounts()) != 3 {
			t.Errorf("the application was told %v, and there are %d accounts", reported, len(c.accounts()))
		}
	})
}

// TestRevokedConsent: when the customer ends the consent at the bank, the service asks for a new
// consent.
func TestRevokedConsent(t *testing.T) {
	banks := newBanks(t, "signed")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		c.connect(banks.uuid("signed"))
		var out struct{ Consents []struct{ ID, Status string } }
		banks.steer("GET", "signed/consents", nil, &out)
		for _, consent := range out.Consents {
			banks.steer("POST", "signed/consents/"+consent.ID+"/revoke", nil, nil)
		}
		c.sync("false")
		if state := c.connection().State; state == nil || *state != "webauthRequired" {
			t.Fatalf("the connection is in the state %v", state)
		}
		reported := c.decide(c.begin(url.Values{"id_connection": {itoa(c.connection().ID)}}), "approve")
		if reported.Get("error") != "" || c.connection().State != nil {
			t.Errorf("the application was told %v", reported)
		}
		if len(c.accounts()) != 3 {
			t.Errorf("%d accounts after the second consent", len(c.accounts()))
		}
	})
}

// TestDeletedConnectionEndsItsConsent: the service ends the consent at the bank, even when the bank
// responds with 503 at first.
func TestDeletedConnectionEndsItsConsent(t *testing.T) {
	banks := newBanks(t, "redirect")
	uuid := banks.uuid("redirect")
	valid := func() (n int) {
		var out struct{ Consents []struct{ Status string } }
		banks.steer("GET", "redirect/consents", nil, &out)
		for _, one := range out.Consents {
			if one.Status == "valid" {
				n++
			}
		}
		return n
	}
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder, Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		for _, gone := range []string{"/users/me/connections/", "/users/me"} {
			c := newCustomer(t, s, banks)
			c.decide(c.begin(url.Values{"connector_uuid": {uuid}}), "approve")
			if n := valid(); n != 1 {
				t.Fatalf("%d consents are valid", n)
			}
			banks.steer("POST", "redirect/faults", map[string]any{"call": "DELETE /v1/consents", "status": 503, "times": 1}, nil)
			if strings.HasSuffix(gone, "/") {
				gone += itoa(c.connection().ID)
			}
			c.OK(c.Call("DELETE", gone, c.token, nil))
			c.OK(c.Call("POST", "/sandbox/run", c.ConfigToken, nil))
			if n := valid(); n != 1 {
				t.Errorf("%d consents are valid although the bank received no request to end them", n)
			}
			c.OK(c.Call("POST", "/sandbox/clock", c.ConfigToken, map[string]any{"advance": "2m"}))
			c.OK(c.Call("POST", "/sandbox/run", c.ConfigToken, nil))
			if n := valid(); n != 0 {
				t.Errorf("%d consents are valid after the deletion of %s\n%s", n, gone, s.Logs)
			}
		}
	})
}

// TestThousandsOfTransactions: no transaction is missing or stored twice after the second read.
// Entries are booked between pages, and pending transactions are booked later.
// PASSERELLE_TEST_BANK_TRANSACTIONS sets the number of transactions before the first read.
func TestThousandsOfTransactions(t *testing.T) {
	const openings = 2 // one for each account that is not a card account
	many := 2500
	if n, err := strconv.Atoi(os.Getenv("PASSERELLE_TEST_BANK_TRANSACTIONS")); err == nil {
		many = n - n%2
	}
	// pages is the number of pages between two bookings during the first read. A page has 100
	// transactions. The bank named idempotent sends a download, which is a single page.
	pages := max(1, many/2500)
	apart := map[string]int{"redirect": pages, "old": pages, "rewording": pages, "shifting": pages}
	// first is the number of transactions beyond openings+many that the first read of a bank finds.
	// During this read, the test books 100 further transactions. The banks named old, rewording and
	// shifting have no transaction ids, so the service reads again and finds these 100. The bank
	// named old does not report the 10 pending transactions.
	first := map[string]int{"old": 90, "rewording": 100, "shifting": 100}
	storetest.Each(t, func(t *testing.T, database string) {
		banks := newBanks(t, "redirect,old,idempotent,rewording,shifting") // each database needs banks without these transactions
		s := servicetest.Start(t, database, servicetest.Options{Banks: banks.Folder})
		for _, bank := range []string{"redirect", "old", "idempotent", "rewording", "shifting"} {
			t.Run(bank, func(t *testing.T) {
				account := bank + "/accounts/" + banks.books(bank)[0].ID
				fill := func(count int, change map[string]any) {
					body := map[string]any{"count": count, "amount": "-0.01", "text": "Alike"}
					maps.Copy(body, change)
					banks.steer("POST", account+"/fill", body, nil)
				}
				fill(many/2, map[string]any{"days_ago": 60})
				fill(many/2-10, nil)
				fill(10, map[string]any{"pending": true, "text": "Pending"})
				c := newCustomer(t, s, banks)
				c.decide(c.begin(url.Values{"connector_uuid": {banks.uuid(bank)}}), "approve")
				for i := range 20 {
					fill(5, map[string]any{"after_pages": 1 + i*apart[bank]})
				}
				all := c.accounts()
				slices.SortFunc(all, func(a, b seenAccount) int { return strings.Compare(a.Number, b.Number) }) // sharing an account reads all shared accounts: only the last account, which is the filled one, is read once
				c.share(all)
				if n, want := len(c.transactions()), openings+many+first[bank]; n != want {
					t.Errorf("after the first read, there are %d transactions, want %d", n, want)
				}
				pending := c.coming()
				banks.steer("POST", account+"/book", nil, nil)
				fill(7, map[string]any{"amount": "3.00"})
				c.sync("true")
				c.matchesBooks(bank, openings+many+100+7)
				for _, one := range c.transactions() {
					delete(pending, one.ID)
				}
				if left := c.coming(); len(pending) > 0 || len(left) > 0 {
					t.Errorf("%d transactions have lost their ids when they were booked, and %d are pending", len(pending), len(left))
				}
			})
		}
	})
}

// TestStatementsOfABank: the service reads transactions to the cent, from pages, requested
// statements and downloaded statements. A transaction keeps its id when a later list has more
// transactions or a different format.
func TestStatementsOfABank(t *testing.T) {
	banks, total := newBanks(t, "statements"), 2
	path := filepath.Join(banks.Folder, "statements.toml")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		for _, formats := range []string{`["json", "camt"]`, `["camt", "json"]`, `["mt940", "camt"]`} {
			if err := os.WriteFile(path, bytes.Replace(whole, []byte(`["json", "camt", "mt940"]`), []byte(formats), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			s.ReloadBanks(t.Context())
			account := "statements/accounts/" + banks.books("statements")[0].ID
			fill := func(count int) {
				banks.steer("POST", account+"/fill", map[string]any{"count": count, "amount": "-1.50", "text": "Coffee & cake <at> the corner, which is rather far"}, nil)
				total += count
			}
			c := newCustomer(t, s, banks)
			fill(30)
			c.connect(banks.uuid("statements"))
			c.matchesBooks("statements", total)
			for _, more := range []int{150, 5} { // 150 more do not fit on a page, so a list in JSON becomes a download
				before := c.transactions()
				fill(more)
				c.sync("true")
				c.matchesBooks("statements", total)
				now := map[int64]bool{}
				for _, one := range c.transactions() {
					now[one.ID] = true
				}
				if slices.ContainsFunc(before, func(one seenTransaction) bool { return !now[one.ID] }) {
					t.Errorf("%s: transactions have other ids after %d more", formats, more)
				}
			}
		}
	})
}

func (c *customer) coming() map[int64]bool {
	c.t.Helper()
	ids := map[int64]bool{}
	for _, one := range c.transactions() {
		if one.Coming {
			ids[one.ID] = true
		}
	}
	return ids
}

// TestDisturbedBankIsMarked: the API and the webview mark a failing bank before the user chooses
// it.
func TestDisturbedBankIsMarked(t *testing.T) {
	banks := newBanks(t, "redirect")
	uuid := banks.uuid("redirect")
	storetest.Each(t, func(t *testing.T, database string) {
		s := servicetest.Start(t, database, servicetest.Options{Banks: banks.Folder})
		c := newCustomer(t, s, banks)
		c.decide(c.begin(url.Values{"connector_uuid": {uuid}}), "approve")
		banks.steer("POST", "redirect/faults", map[string]any{"status": 503, "times": 5}, nil)
		for range 6 {
			c.sync("true")
		}
		h, _ := s.Aggregation.Connectors.Health(uuid)
		if state := c.connection().State; state == nil || *state != "websiteUnavailable" || !h.Open || len(h.Certificates) != 1 {
			t.Errorf("the state is %v, the health %+v", state, h)
		}
		var shown struct{ Stability struct{ Status string } }
		if c.JSON(c.OK(c.Call("GET", "/connectors/"+uuid, c.token, nil)), &shown); shown.Stability.Status != "unstable" {
			t.Errorf("the connector is %q", shown.Stability.Status)
		}
		var code struct{ Code string }
		c.JSON(c.OK(c.Call("GET", "/auth/token/code", c.token, nil)), &code)
		page := s.Base + "/auth/webview/connect?" + url.Values{"client_id": {c.ClientID}, "redirect_uri": {landing}, "code": {code.Code}, "connector_uuids": {uuid}}.Encode()
		if !c.shows(page, "not working well at the moment") {
			t.Error("the person is not told")
		}
	})
}

// TestReplicasAgreeOnABank: when one replica marks a bank as failing, users of every replica see
// the mark.
func TestReplicasAgreeOnABank(t *testing.T) {
	banks, now := newBanks(t, "redirect"), time.Now()
	uuid := banks.uuid("redirect")
	first := servicetest.Start(t, storetest.Postgres(t), servicetest.Options{Banks: banks.Folder, Quiet: true, Now: func() time.Time { return now }})
	second := first.Replica()
	c := newCustomer(t, first, banks)
	c.decide(c.begin(url.Values{"connector_uuid": {uuid}}), "approve")
	banks.steer("POST", "redirect/faults", map[string]any{"status": 503, "times": 5}, nil)
	for range 6 {
		c.sync("true")
	}
	agree := func(what string, disturbed bool) {
		t.Helper()
		for i, s := range []*servicetest.Instance{first, second, first} {
			if err := s.ShareBankHealth(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h, _ := s.Aggregation.Connectors.Health(uuid); h.Disturbed() != disturbed || h.Elsewhere != (disturbed && s == second) {
				t.Errorf("%s: replica %d has %+v", what, i, h)
			}
		}
		var code struct{ Code string }
		c.JSON(c.OK(c.Call("GET", "/auth/token/code", c.token, nil)), &code)
		page := second.Origin + "/2.0/auth/webview/connect?" + url.Values{"client_id": {c.ClientID}, "redirect_uri": {landing}, "code": {code.Code}, "connector_uuids": {uuid}}.Encode()
		if c.shows(page, "not working well at the moment") != disturbed {
			t.Errorf("%s: the person sees something else", what)
		}
	}
	agree("a bank that fails", true)
	c.Instance = second
	if c.sync("true"); c.connection().State != nil {
		t.Errorf("calls of the other replica end in %s", *c.connection().State)
	}
	now = now.Add(time.Minute) // as if the first replica had stopped
	if err := second.ShareBankHealth(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, _ := second.Aggregation.Connectors.Health(uuid); h.Disturbed() {
		t.Errorf("what a replica said that is gone is believed: %+v", h)
	}
}

func (c *customer) shows(address, text string) bool {
	c.t.Helper()
	return strings.Contains(c.page(address), text)
}

func (c *customer) page(address string) string {
	c.t.Helper()
	browser := *c.browser
	browser.CheckRedirect = nil
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Accept-Language", "en")
	answer, err := browser.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d %v %s", address, answer.StatusCode, err, body)
	}
	return string(body)
}

// TestSharingOneByOne: the first read of a newly shared account counts as a read with the customer,
// not as an unattended read.
func TestSharingOneByOne(t *testing.T) {
	banks := newBanks(t, "redirect")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		c.decide(c.begin(url.Values{"connector_uuid": {banks.uuid("redirect")}}), "approve")
		for _, one := range c.accounts() {
			c.share([]seenAccount{one})
		}
		for range 4 {
			c.sync("false")
			if state := c.connection().State; state != nil {
				t.Fatalf("the state is %s", *state)
			}
		}
	})
}

// TestFailuresOfReads: after a failed read, the log names the bank and the reason, and the next
// read is complete.
func TestFailuresOfReads(t *testing.T) {
	banks := newBanks(t, "redirect")
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		c.connect(banks.uuid("redirect"))
		for _, fault := range []struct{ call, wire, says string }{
			{"GET /v1/accounts", "huge", "its response is larger than the limit"},
			{"GET /transactions", "deep", "its response is not valid JSON of the standard"},
			{"GET /transactions", "malformed", "its response is not valid JSON of the standard"},
			{"GET /transactions", "cut", "the connection was lost"},
			{"GET /transactions", "elsewhere", "it redirects to another address"},
		} {
			logged := len(s.Logs.String())
			banks.steer("POST", "redirect/faults", map[string]any{"call": fault.call, "wire": fault.wire, "times": 1}, nil)
			c.sync("true")
			said := s.Logs.String()[logged:]
			if state := c.connection().State; state == nil || *state != "websiteUnavailable" || !strings.Contains(said, "Example Bank (Berlin Group, redirect) (") || !strings.Contains(said, fault.says) {
				t.Errorf("%s of %s: the state is %v, and the log says %s", fault.wire, fault.call, state, said)
			}
			c.sync("true")
			if state := c.connection().State; state != nil {
				t.Errorf("after %s of %s the state is %s", fault.wire, fault.call, *state)
			}
			c.matchesBooks("redirect", 2)
		}
	})
}

// TestALostReadIsRepeated: when the bank closes the connection without a response, the service
// repeats the request in the same sync.
func TestALostReadIsRepeated(t *testing.T) {
	banks, booked := newBanks(t, "redirect"), 2 // both databases read the same bank
	servicetest.Each(t, servicetest.Options{Banks: banks.Folder}, func(t *testing.T, s *servicetest.Instance) {
		c := newCustomer(t, s, banks)
		c.connect(banks.uuid("redirect"))
		booked += 5
		banks.steer("POST", "redirect/accounts/anna-current/fill", map[string]any{"count": 5, "amount": "-0.25", "text": "After the loss"}, nil)
		banks.steer("POST", "redirect/faults", map[string]any{"call": "GET /v1/accounts", "wire": "lost", "times": 1}, nil)
		logged := len(s.Logs.String())
		c.sync("true")
		if state, said := c.connection().State, s.Logs.String()[logged:]; state != nil || strings.Contains(said, "broke off") {
			t.Errorf("the state is %v, and the log says %s", state, said)
		}
		c.matchesBooks("redirect", booked)
		var left struct{ Faults []any }
		banks.steer("GET", "redirect/faults", nil, &left)
		if len(left.Faults) > 0 {
			t.Errorf("the bank lost no response: %v", left.Faults)
		}
	})
}
