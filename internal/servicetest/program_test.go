package servicetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/payment"
)

// programConnector is the connector of a program, which strictly speaks the protocol.
func programConnector(t *testing.T, address string) connector.Connector {
	t.Helper()
	program, err := remote.NewProgram(address, servicetest.ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	program = program.Strict()
	described, err := program.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := program.Connector(described, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// statements is a folder of accounts for the source.
func statements(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, lines := range map[string]string{"current": "2026-01-02,-12.50,Bread\n2026-01-03,1000.00,Wage\n", "joint": "2026-02-01,-1.00,Fee\n"} {
		if err := os.WriteFile(filepath.Join(folder, name+".csv"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestStartedSourcesConform holds the source in each language to the rules.
func TestStartedSourcesConform(t *testing.T) {
	for _, name := range []string{"source.py", "source.mjs"} {
		t.Run(name, func(t *testing.T) {
			reader, _ := programConnector(t, servicetest.StartProgram(t, name, statements(t))).(connector.DataReader)
			connectortest.RunReader(t, func(*testing.T) connectortest.Customer {
				return connectortest.Customer{Reader: reader, Request: func() connector.DataRequest { return connector.DataRequest{Source: "openapi", Present: true} }}
			})
		})
	}
}

// TestStartedBanksConform holds the bank in each language to the rules.
func TestStartedBanksConform(t *testing.T) {
	for _, name := range []string{"bank.py", "bank.mjs"} {
		t.Run(name, func(t *testing.T) { bankConforms(t, name) })
	}
}

func bankConforms(t *testing.T, name string) {
	t.Helper()
	var keys atomic.Int64
	decide := func(decision string) func(context.Context, connector.Order, payment.Report) error {
		return func(_ context.Context, _ connector.Order, asked payment.Report) error {
			_, err := decideAt(asked.ValidateURI, decision)
			return err
		}
	}
	connectortest.Run(t, func(t *testing.T) connectortest.Subject {
		folder := t.TempDir()
		initiator, _ := programConnector(t, servicetest.StartProgram(t, name, folder)).(connector.Initiator)
		return connectortest.Subject{
			Initiator: initiator, Approve: decide("approve"), Refuse: decide("refuse"),
			Order: func() connector.Order {
				now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
				p, _, err := payment.New(payment.Draft{ClientRedirectURI: "https://shop.test/back", Instructions: []payment.Instruction{{
					ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Order 1", DateType: payment.FirstOpenDay,
					Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Shop"},
				}}}, payment.Policy{}, strings.NewReader(strings.Repeat("r", 1<<16)), now)
				if err != nil {
					t.Fatal(err)
				}
				return connector.Order{Domain: 7, Key: fmt.Sprintf("key-%d", keys.Add(1)), Payment: *p, Mechanism: "webauth", ReturnURL: "https://service.test/back", Now: now}
			},
			Submissions: func() int {
				orders, err := filepath.Glob(filepath.Join(folder, "*.json"))
				if err != nil {
					t.Error(err)
				}
				return len(orders)
			},
		}
	})
}

// decideAt presses a button on a page of the bank and returns where it leads.
func decideAt(page, decision string) (string, error) {
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := browser.PostForm(page, url.Values{"decision": {decision}})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		return "", fmt.Errorf("%s was answered with %d", decision, answer.StatusCode)
	}
	return answer.Header.Get("Location"), nil
}

// TestPaymentThroughAProgram: a payment through a bank in Python, on both databases, until it
// is done, and what becomes of one while the bank is away.
func TestPaymentThroughAProgram(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		folder := t.TempDir()
		row, err := service.AddProgram(t.Context(), s.DB, servicetest.StartProgram(t, "bank.py", folder), servicetest.ConnectorSecret)
		if err != nil {
			t.Fatal(err)
		}
		s.ReloadBanks(t.Context())
		secret := s.Subscribe("PAYMENT_STATE_UPDATED", "first")
		token := s.Token("payments:admin")
		path := fmt.Sprint("/payments/", s.Create(token, servicetest.Draft()))
		var p paymentAnswer
		s.JSON(s.OK(s.Call("POST", path, token, map[string]any{"connector_uuid": row.UUID, "webview_url": "https://shop.example/pay", "validated": true})), &p)
		if p.State != "validating" || p.ValidateURI == nil {
			t.Fatalf("after validation: %+v", p)
		}
		back, err := decideAt(*p.ValidateURI, "approve")
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(back); err != nil {
			t.Fatal(err)
		} else if answer.Body.Close(); answer.Header.Get("Location") != "https://shop.example/pay" {
			t.Errorf("the payer came back to %s", answer.Header.Get("Location"))
		}
		s.JSON(s.OK(s.Call("GET", path, token, nil)), &p)
		if p.State != "done" {
			t.Errorf("in the end: %+v", p)
		}
		checkReceived(t, s.Received("first"), secret, "validating", "pending", "done")
		if orders, err := filepath.Glob(filepath.Join(folder, "*.json")); err != nil || len(orders) != 1 {
			t.Errorf("the bank has %d orders, %v", len(orders), err)
		}
	})
}

// TestSyncThroughAProgram: accounts of a folder are read by a program in Python, once each,
// and a program that is away makes its connection websiteUnavailable and loses nothing.
func TestSyncThroughAProgram(t *testing.T) {
	eachPerson(t, func(t *testing.T, p *person) {
		away := false
		address := servicetest.StartProgram(t, "source.py", statements(t))
		upstream, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(upstream)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away {
				panic(http.ErrAbortHandler)
			}
			proxy.ServeHTTP(w, r)
		}))
		defer front.Close()
		row, err := service.AddProgram(t.Context(), p.DB, front.URL, servicetest.ConnectorSecret)
		if err != nil {
			t.Fatal(err)
		}
		p.ReloadBanks(t.Context())
		var connection struct {
			ID    int64
			State *string
		}
		p.JSON(p.OK(p.Call("POST", "/users/me/connections", p.token, map[string]any{"connector_uuid": row.UUID})), &connection)
		p.OK(p.Call("PUT", "/users/me/accounts?all", p.token, map[string]any{"disabled": false}))
		at := fmt.Sprint("/users/me/connections/", connection.ID)
		count := func() (all struct{ Transactions []struct{ Value json.Number } }) {
			p.JSON(p.OK(p.Call("GET", "/users/me/transactions?limit=10", p.token, nil)), &all)
			return all
		}
		for range 2 {
			p.JSON(p.OK(p.Call("PUT", at, p.token, nil)), &connection)
			if all := count(); connection.State != nil || len(all.Transactions) != 3 {
				t.Fatalf("after a sync: %+v, %+v", connection, all)
			}
		}
		away = true
		p.JSON(p.OK(p.Call("PUT", at, p.token, nil)), &connection)
		if all := count(); connection.State == nil || *connection.State != "websiteUnavailable" || len(all.Transactions) != 3 {
			t.Errorf("while the program is away: %+v, %+v", connection, all)
		}
	})
}
