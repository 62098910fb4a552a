package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	exact "github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

// holdings is a user with two connections. One connection has the accounts a and b, and an account
// that is not shared. The other connection has the account c.
type holdings struct {
	user         passerelle.UserID
	connections  []passerelle.ConnectionID
	accounts     map[string]bankstore.StoredAccount
	transactions []passerelle.TransactionID
}

// booked lists the transactions of the accounts: the booking day, the day of the transaction if
// known, the value, the label, and whether the institution no longer lists the transaction.
var booked = []struct{ account, day, made, value, wording, gone string }{
	{"a", "2026-11-02", "2026-10-31", "-12.50", "CARTE CAFE DE LA GARE", ""},
	{"a", "2026-11-05", "", "2450.00", "VIR SALAIRE", ""},
	{"a", "2026-10-31", "", "-780", "PRLV ÉCOLE 100%", ""},
	{"b", "2026-11-05", "", "12.50", "REMBOURSEMENT", ""},
	{"b", "2025-12-31", "", "-2.000", "FRAIS", ""},
	{"c", "2026-11-10", "", "-99.99", "HOTEL", ""},
	{"a", "2026-11-07", "", "-1.00", "ANNULE", "gone"},
}

// holdings creates the test accounts once for each user.
func (s *fixture) holdings(t testing.TB, domainName string) *holdings {
	t.Helper()
	s.token(t, domainName, "user", 0)
	who := s.domainOf(domainName)
	if who.holdings == nil || who.holdings.user != who.user {
		who.holdings = s.hold(t, who)
	}
	return who.holdings
}

func (s *fixture) hold(t testing.TB, who *testDomain) *holdings {
	t.Helper()
	h := &holdings{user: who.user, accounts: map[string]bankstore.StoredAccount{}}
	for range 2 {
		c := bankstore.Connection{Domain: who.domain.ID, User: who.user, Connector: testConnector, Created: opening, Active: true}
		s.write(t, func(tx *store.Tx) error {
			if err := bankstore.In(tx).CreateConnection(&c, map[string]string{}, "test", time.Minute); err != nil {
				return err
			}
			bankstore.In(tx).ReleaseConnection(who.domain.ID, c.ID, "test", false)
			return bankstore.In(tx).CreateSource(who.domain.ID, &bankstore.ConnectionSource{Connection: c.ID, ConnectorSource: 401, Name: "directaccess", Created: opening})
		})
		h.connections = append(h.connections, c.ID)
	}
	for i, key := range []string{"a", "b", "withheld", "c"} {
		h.accounts[key] = s.account(t, who, h.connections[i/3], key)
	}
	for i, one := range booked {
		s.write(t, func(tx *store.Tx) error { return h.book(tx, who.domain.ID, i, one.gone != "") })
	}
	return h
}

func (s *fixture) account(t testing.TB, who *testDomain, connection passerelle.ConnectionID, key string) bankstore.StoredAccount {
	t.Helper()
	at := opening
	a := bankstore.StoredAccount{BankAccount: passerelle.BankAccount{
		User: who.user, Connection: connection, Disabled: &at, Display: true,
		AccountDetails: passerelle.AccountDetails{Key: key, Name: "Account " + key, Type: "checking", Currency: "EUR"},
	}}
	if key == "c" {
		a.Currency = "USD"
	}
	var err error
	if a.ID, err = bankstore.NewAccountID(t.Context(), s.DB); err != nil {
		t.Fatal(err)
	}
	s.write(t, func(tx *store.Tx) error { return bankstore.In(tx).CreateAccount(who.domain.ID, &a) })
	if key != "withheld" {
		s.write(t, func(tx *store.Tx) error { bankstore.In(tx).EnableAccount(who.domain.ID, who.user, a.ID); return nil })
	}
	return a
}

func (h *holdings) book(tx *store.Tx, domain passerelle.DomainID, i int, gone bool) error {
	one := booked[i]
	read := func(text string) passerelle.Date {
		d, _ := passerelle.ParseDate("date", text)
		return d
	}
	d := passerelle.TransactionDetails{
		Key: fmt.Sprint("k", i), Date: read(one.day), RDate: read(one.day), Value: exact.MustParse(one.value), Type: "card",
		Wording: one.wording, SimplifiedWording: strings.ToLower(one.wording),
	}
	if one.made != "" {
		d.RDate = read(one.made)
	}
	at := opening.Add(time.Duration(i) * time.Hour)
	t := passerelle.Transaction{TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: opening, LastUpdate: at, Categories: []string{"food.groceries"}}
	account := h.accounts[one.account]
	if err := bankstore.In(tx).CreateTransactions(domain, account, 1, bankstore.NewTransaction{Transaction: &t}); err != nil {
		return err
	}
	bankstore.In(tx).CountTransactions(domain, account, 1, 0)
	if gone {
		bankstore.In(tx).LoseTransaction(domain, account, t.ID, at, 1)
		bankstore.In(tx).CountTransactions(domain, account, -1, 1)
	}
	h.transactions = append(h.transactions, t.ID)
	return nil
}

func (s *fixture) held(t testing.TB, domainName, what string) string {
	h := s.holdings(t, domainName)
	return fmt.Sprint(map[string]int64{
		"holder": int64(h.connections[0]), "holding": int64(h.accounts["a"].ID), "transaction": int64(h.transactions[0]),
	}[what])
}

func TestTransactionScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
	change := func(body string) ask {
		return ask{method: "POST", path: "/users/me/transactions/{transaction}", token: "user", body: body}
	}
	strictly := func(path string) ask {
		a := get(path)
		a.header = map[string]string{"Prefer": "handling=strict"}
		return a
	}
	play(t, "transactions", []scenario{
		{name: "list of nobody who shares", status: 409, ask: ask{domain: "live", method: "GET", path: "/transactions", token: "user"}},
		{name: "read", status: 200, ask: get("/transactions/{transaction}")},
		{name: "read with its account", status: 200, ask: get("/users/me/transactions/{transaction}?expand=account,documents,categories,nonsense")},
		{name: "read none", status: 404, ask: get("/transactions/" + noID)},
		{name: "read another domain's", status: 404, ask: get("/transactions/{other:transaction}")},
		{name: "read another user's", status: 404, ask: get("/users/" + noID + "/transactions/{transaction}")},
		{name: "read with a users token", status: 403, ask: ask{method: "GET", path: "/users/{user}/transactions", token: "users"}},
		{name: "list", status: 200, ask: get("/transactions?limit=2")},
		{name: "list, all parameters", status: 200, ask: get("/users/me/transactions?limit=2&offset=0&min_date=2026&max_date=2026-11&filter=date&last_update=2026-11-01+00:00:00&all&deleted&income=0&wording=a&search=a&min_value=-100&max_value=0&value=-99.99&expand=account&start_date=x&coming=1")},
		{name: "list nothing", status: 200, ask: get("/transactions?min_date=2027-02&max_date=2028")},
		{name: "list nothing, unbounded", status: 200, ask: get("/transactions?wording=nothing")},
		{name: "list strictly", status: 200, ask: strictly("/transactions?limit=1")},
		{name: "list strictly without limit", status: 400, ask: strictly("/transactions")},
		{name: "list strictly by an unknown filter", status: 400, ask: strictly("/transactions?limit=1&start_date=2026")},
		{name: "list of another's account", status: 404, ask: get("/accounts/{other:holding}/transactions")},
		{name: "list of another's connection", status: 404, ask: get("/connections/{other:holder}/transactions")},

		{name: "change nothing", status: 200, ask: change(`{}`)},
		{name: "change all", status: 200, ask: change(`{"wording":"Café","application_date":"2026-12-01","categories":[{"code":"coffee","parent_code":"food"},{"code":"fun"}],"comment":"with Anna","active":false,"id_category":3}`)},
		{name: "change back", status: 200, ask: ask{method: "PUT", path: "/connections/{holder}/accounts/{holding}/transactions/{transaction}", token: "user", body: `{"wording":"","comment":"","active":true,"categories":[]}`}},
		{name: "change to no day", status: 400, ask: change(`{"application_date":"2026-02-30"}`)},
		{name: "change to a code with a point", status: 400, ask: change(`{"categories":[{"code":"a.b"}]}`)},
		{name: "change to no code", status: 400, ask: change(`{"categories":[{"code":""}]}`)},
		{name: "change to many categories", status: 400, ask: change(`{"categories":[` + strings.Repeat(`{"code":"a"},`, 10) + `{"code":"a"}]}`)},
		{name: "change to a long comment", status: 400, ask: change(`{"comment":"` + strings.Repeat("é", 2049) + `"}`)},
		{name: "change none", status: 404, ask: ask{method: "POST", path: "/transactions/" + noID, token: "user", body: `{"active":false}`}},
		{name: "change another domain's", status: 404, ask: ask{method: "POST", path: "/transactions/{other:transaction}", token: "user", body: `{"active":false}`}},
	})
}

type listedTransactions struct {
	Transactions []struct {
		ID      int64
		Date    string
		Wording string `json:"original_wording"`
	}
	First string `json:"first_date"`
	Last  string `json:"last_date"`
	Min   string `json:"result_min_date"`
	Max   string `json:"result_max_date"`
	Total int64
	Links struct{ Prev, Next *struct{ Href string } } `json:"_links"`
}

// numbers returns the transactions of a page as their indexes in the variable booked.
func (h *holdings) numbers(page listedTransactions) string {
	var words []string
	for _, one := range page.Transactions {
		words = append(words, fmt.Sprint(slices.Index(h.transactions, passerelle.TransactionID(one.ID))))
	}
	return strings.Join(words, " ")
}

func TestTransactionsSelected(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		for query, want := range map[string]string{
			"":                                      "5 3 1 2 0 4",
			"?filter=date":                          "5 3 1 0 2 4",
			"?deleted":                              "5 6 3 1 2 0 4",
			"?all":                                  "5 6 3 1 2 0 4",
			"?limit=2&offset=1":                     "3 1",
			"?offset=6":                             "",
			"?min_date=2026-11":                     "5 3 1",
			"?min_date=2026-11&filter=date":         "5 3 1 0",
			"?max_date=2025":                        "4",
			"?min_date=2026-10-31&max_date=2026-10": "2 0",
			"?min_date=2026-11-05&max_date=2026-11-05":     "3 1",
			"?last_update=2026-11-20+12:00:00":             "5 4",
			"?last_update=2026-11-20%2012:00:00&deleted=1": "5 6 4",
			"?income=true":                         "3 1",
			"?income=0":                            "5 2 0 4",
			"?wording=cafe":                        "0",
			"?wording=" + url.QueryEscape("ÉCOLE"): "2",
			"?wording=%25":                         "2",
			"?wording=_":                           "",
			"?search=2026-11-0":                    "3 1 0",
			"?search=groceries":                    "5 3 1 2 0 4",
			"?search=12.5":                         "3 0",
			"?min_value=12.5":                      "3 1",
			"?min_value=-2&max_value=12.50":        "3 4",
			"?value=-2":                            "4",
			"?value=12.5":                          "3",
			"?value=" + url.QueryEscape("12.50|-12.50"):      "3 0",
			"?value=" + url.QueryEscape("±12.5"):             "3 0",
			"?value=99999999999999999":                       "",
			"?start_date=2027-01-01&id_connection=1&coming=": "5 3 1 2 0 4",
		} {
			var page listedTransactions
			s.do(t, ask{method: "GET", path: "/transactions" + query, token: "user"}).decode(t, &page)
			if got := h.numbers(page); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		for query, field := range map[string]string{
			"limit=0": "limit", fmt.Sprintf("limit=%d", httpapi.MaxLimit()+1): "limit", "offset=-1": "offset", "min_date=2026-13": "min_date", "max_date=x": "max_date", "filter=vdate": "filter",
			"last_update=yesterday": "last_update", "income=maybe": "income", "min_value=x": "min_value", "max_value=1e5": "max_value", "value=1|2|3": "value", "value=1e2": "value", "value=05": "value",
			"value=|": "value", "value=" + url.QueryEscape("±-1"): "value", "min_value=1234567890123456789": "min_value", "min_value=0.12345678901": "min_value",
			"search=" + strings.Repeat("a", 201): "search", "wording=" + strings.Repeat("a", 201): "wording", "cursor=x": "cursor", "expand=a[": "expand",
		} {
			s.do(t, ask{method: "GET", path: "/transactions?" + query, token: "user"}).says(t, 400, "invalidValue", field+": ")
		}
	})
}

// Each path lists only its own transactions. A path with ids that do not belong together gets a
// 404.
func TestPlacesOfTransactions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		me, other := fmt.Sprint("/users/", int64(h.user)), s.holdings(t, "other")
		account := func(key string) string { return fmt.Sprint("/accounts/", int64(h.accounts[key].ID)) }
		connection := func(i int) string { return fmt.Sprint("/connections/", int64(h.connections[i])) }
		const none, missing = "noAccount", "notFound"
		for place, want := range map[string]string{
			"": "5 3 1 2 0 4", account("a"): "1 2 0", account("b"): "3 4", account("c"): "5", account("withheld"): none,
			connection(0): "3 1 2 0 4", connection(1): "5", connection(0) + account("a"): "1 2 0", connection(1) + account("c"): "5",
			connection(0) + account("withheld"): none, connection(1) + account("a"): missing, connection(0) + account("c"): missing,
			"/accounts/" + noID: missing, "/connections/" + noID: missing, fmt.Sprint("/accounts/", int64(other.accounts["a"].ID)) + "x": missing,
		} {
			for _, prefix := range []string{"", "/users/me", me} {
				r := s.do(t, ask{method: "GET", path: prefix + place + "/transactions", token: "user"})
				if want == none || want == missing {
					if code, _ := r.message(t); code != want {
						t.Errorf("%s: %s, want %s", place, r.body, want)
					}
					continue
				}
				var page listedTransactions
				r.decode(t, &page)
				if got := h.numbers(page); got != want || page.Total != int64(len(page.Transactions)) {
					t.Errorf("%s: %q of %d, want %q", place, got, page.Total, want)
				}
			}
		}
		s.do(t, ask{method: "GET", path: account("withheld") + "/transactions?all", token: "user"}).says(t, 200, "", "")
		s.do(t, ask{method: "GET", path: "/users/" + fmt.Sprint(int64(other.user)) + "/transactions", token: "user"}).says(t, 404, "notFound", "")
		for _, place := range []string{account("b"), connection(1), connection(1) + account("c")} {
			path := place + "/transactions/" + fmt.Sprint(int64(h.transactions[0]))
			s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
			s.do(t, ask{method: "POST", path: path, token: "user", body: `{"active":false}`}).says(t, 404, "notFound", "")
		}
		for _, place := range []string{"", account("a"), connection(0), connection(0) + account("a")} {
			path := place + "/transactions/" + fmt.Sprint(int64(h.transactions[6]))
			s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 200, "", "")
		}
	})
}

// Pages of one to four transactions, in both directions, add up to the complete list. The members
// first_date and last_date are about the list, and result_min_date and result_max_date about the
// page.
func TestPagesOfTransactions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		for _, query := range []string{"", "&filter=date", "&wording=e"} {
			var whole listedTransactions
			s.do(t, ask{method: "GET", path: "/transactions?limit=1000" + query, token: "user"}).decode(t, &whole)
			if whole.Links.Next != nil || whole.Links.Prev != nil || whole.Total != int64(len(whole.Transactions)) {
				t.Errorf("%s: %+v", query, whole)
			}
			for limit := 1; limit <= 4; limit++ {
				got := s.walkTransactions(t, h, fmt.Sprintf("/transactions?limit=%d%s", limit, query), whole)
				if diff := cmp.Diff(h.numbers(whole), got); diff != "" {
					t.Errorf("%s by %d (-want +got):\n%s", query, limit, diff)
				}
			}
		}
		var page listedTransactions
		s.do(t, ask{method: "GET", path: "/transactions?limit=2&offset=1&filter=date", token: "user"}).decode(t, &page)
		got := strings.Join([]string{page.First, page.Last, page.Min, page.Max}, " ")
		if want := "2025-12-31 2026-11-10 2026-11-05 2026-11-05"; got != want {
			t.Errorf("dates %s, want %s", got, want)
		}
	})
}

// walkTransactions follows next links to the end, and prev links back to the beginning.
func (s *fixture) walkTransactions(t *testing.T, h *holdings, path string, whole listedTransactions) string {
	t.Helper()
	var there, back []string
	for path != "" {
		var page listedTransactions
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &page)
		there = append(there, h.numbers(page))
		if page.Total != whole.Total || page.First != whole.First || page.Last != whole.Last {
			t.Errorf("%s: %d from %s to %s", path, page.Total, page.First, page.Last)
		}
		if page.Links.Next == nil {
			back = append(back, h.numbers(page))
			path = hrefPath(page.Links.Prev)
			break
		}
		path = hrefPath(page.Links.Next)
	}
	for path != "" {
		var page listedTransactions
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &page)
		back = append([]string{h.numbers(page)}, back...)
		path = hrefPath(page.Links.Prev)
	}
	if strings.Join(there, " ") != strings.Join(back, " ") {
		t.Errorf("there %v, back %v", there, back)
	}
	return strings.Join(there, " ")
}

func hrefPath(link *struct{ Href string }) string {
	if link == nil {
		return ""
	}
	_, path, _ := strings.Cut(link.Href, version)
	return path
}

// A user's changes stay when the institution later reports other values. Searches use the user's
// label.
func TestEditedTransactions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		path := "/transactions/" + fmt.Sprint(int64(h.transactions[1]))
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"wording":"Pay","application_date":"2026-09-01","comment":"c"}`}).says(t, 200, "", "")
		s.write(t, func(tx *store.Tx) error {
			d := passerelle.TransactionDetails{Key: "k1", Value: exact.MustParse("2451.00"), Type: "transfer", Wording: "VIR SALAIRE CORRIGE"}
			d.Date, _ = passerelle.ParseDate("date", "2026-11-06")
			d.RDate = d.Date
			return bankstore.In(tx).UpdateTransaction(s.Domain.ID, h.accounts["a"], h.transactions[1], d, opening, 2)
		})
		var got struct {
			Wording, Comment string
			Original         string `json:"original_wording"`
			Day              string `json:"application_date"`
			Date             string
		}
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &got)
		if got.Wording != "Pay" || got.Comment != "c" || got.Original != "VIR SALAIRE CORRIGE" || got.Day != "2026-09-01" || got.Date != "2026-11-06" {
			t.Errorf("%+v", got)
		}
		for query, want := range map[string]string{"wording=pay": "1", "wording=salaire": "", "max_date=2026-09": "1 4"} {
			var page listedTransactions
			s.do(t, ask{method: "GET", path: "/transactions?" + query, token: "user"}).decode(t, &page)
			if n := h.numbers(page); n != want {
				t.Errorf("%s: %q, want %q", query, n, want)
			}
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"wording":""}`}).says(t, 200, "", "")
		var page listedTransactions
		s.do(t, ask{method: "GET", path: "/transactions?wording=salaire", token: "user"}).decode(t, &page)
		if n := h.numbers(page); n != "1" {
			t.Errorf("by the institution's label: %q", n)
		}
	})
}
