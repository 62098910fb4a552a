package servicetest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
	"passerelle/connector/remote/conformance"
	"passerelle/connector/remote/start"
	"passerelle/internal/leftout"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/payment"
)

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

func TestStartedProgramsConform(t *testing.T) {
	for _, name := range []string{"bank.py", "bank.mjs", "bank.go", "bank.sh", "source.py", "source.mjs", "source.go", "source.sh"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if strings.HasPrefix(name, "source") {
				folder = statements(t)
			}
			results, err := conformance.Run(t.Context(), servicetest.StartProgram(t, name, folder), servicetest.ConnectorSecret)
			if err != nil || len(results) < 10 {
				t.Fatalf("%d results, %v", len(results), err)
			}
			for _, r := range results {
				for _, fault := range r.Faults {
					t.Errorf("%s: %s; right would be: %s", r.Rule, fault, r.Right)
				}
			}
		})
	}
}

// TestStartedProgramsExplainTheirCall: a program that is called without a port, with a folder that
// does not exist or with a short secret says what is right.
func TestStartedProgramsExplainTheirCall(t *testing.T) {
	for language, interpreter := range map[string]string{"python": "python3", "node": "node", "shell": "bash"} {
		t.Run(language, func(t *testing.T) { explainTheirCall(t, language, interpreter) })
	}
}

func explainTheirCall(t *testing.T, language, interpreter string) {
	t.Helper()
	leftout.Needs(t, interpreter)
	code, folder := t.TempDir(), t.TempDir()
	files, err := start.Write(language, code)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "protocol") {
			continue
		}
		for secret, args := range map[string][]string{"short": {"9000", folder}, servicetest.ConnectorSecret: {"9000", filepath.Join(folder, "nowhere")}, "": nil} {
			command := exec.CommandContext(t.Context(), interpreter, append([]string{file}, args...)...)
			command.Env = append(os.Environ(), "SECRET="+secret)
			out, err := command.CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != 2 || strings.Count(string(out), "\n") != 1 || !strings.HasPrefix(string(out), "usage: SECRET=... "+interpreter) {
				t.Errorf("%s with %q: %v %s", filepath.Base(file), args, err, out)
			}
		}
	}
}

// TestKilledProgramsLeaveNoFiles: the programs have temporary files, and tests kill the programs.
func TestKilledProgramsLeaveNoFiles(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Run("bank.sh", func(t *testing.T) { servicetest.StartProgram(t, "bank.sh", t.TempDir()) })
	if left := must(os.ReadDir(temporary)); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// wordings is a sink that keeps the wordings of all transactions.
type wordings struct {
	connector.Sink
	all []string
}

func (*wordings) Accounts([]passerelle.AccountDetails) error          { return nil }
func (*wordings) Wanted(string) (passerelle.Date, bool)               { return passerelle.Date{}, true }
func (*wordings) AccountRead(account string, _ passerelle.Date) error { return nil }

func (w *wordings) Transactions(_ string, page []passerelle.TransactionDetails) error {
	for _, one := range page {
		w.all = append(w.all, one.Wording)
	}
	return nil
}

// TestLinesOfStartedSources: the sources ignore blank lines. The read of a file with a short line
// fails, and the source names the line. Without a failure, the service would mark the transaction
// of this line as deleted.
func TestLinesOfStartedSources(t *testing.T) {
	for _, name := range []string{"source.py", "source.mjs", "source.go", "source.sh"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			messages, err := os.Create(filepath.Join(t.TempDir(), "messages"))
			if err != nil {
				t.Fatal(err)
			}
			program := servicetest.NewProgram(t, name, folder)
			program.Messages = messages
			program.Start()
			read := func(content string) (string, error) {
				if err := os.WriteFile(filepath.Join(folder, "current.csv"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				found := &wordings{}
				_, err := connectorAt(t, program.Address).(connector.DataReader).Read(t.Context(), connector.DataRequest{}, found)
				return strings.Join(found.all, " "), err
			}
			if got, err := read("2026-01-02,-12.50,Bread\n\n2026-01-03,1000.00,Wage\r\n\r\n2026-01-04,-1.00,Fee"); err != nil || got != "Bread Wage Fee" {
				t.Errorf("with blank lines: %q, %v", got, err)
			}
			for line, content := range map[int]string{2: "2026-01-02,-12.50,Bread\n2026-01-03,7.00\n", 3: "2026-01-02,-12.50,Bread\n\n2026-01-03,1000.00\n"} {
				_, err := read(content)
				said, unread := os.ReadFile(messages.Name())
				want := fmt.Sprintf("current.csv, line %d: must have a day, an amount and a wording", line)
				if err == nil || unread != nil || !strings.Contains(string(said), want) {
					t.Errorf("with the short line %d: %v, and the source says %q", line, err, said)
				}
			}
		})
	}
}

// rowsRead is a sink that keeps the keys and wordings of all transactions.
type rowsRead struct{ wordings }

func (r *rowsRead) Transactions(_ string, page []passerelle.TransactionDetails) error {
	for _, one := range page {
		r.all = append(r.all, one.Key+" "+one.Wording)
	}
	return nil
}

// The sources of all languages read the same transactions from the same lines. Quotes belong to the
// wording, and the wording may have commas.
func TestStartedSourcesReadAlike(t *testing.T) {
	for _, name := range []string{"source.py", "source.mjs", "source.go", "source.sh"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			address := servicetest.StartProgram(t, name, folder)
			if err := os.WriteFile(filepath.Join(folder, "current.csv"), []byte("2026-01-02,-12.50,\"Bread, \"\"fresh\"\"\"\n\n2026-01-03,1000.00,Wage, 13th\n2026-01-04,-1.00,\"Fee\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			found := &rowsRead{}
			_, err := connectorAt(t, address).(connector.DataReader).Read(t.Context(), connector.DataRequest{}, found)
			if got, want := strings.Join(found.all, "; "), `0 "Bread, ""fresh"""; 2 Wage, 13th; 3 "Fee`; err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		})
	}
}

// connectorAt returns the connector of a program.
func connectorAt(t *testing.T, address string) connector.Connector {
	t.Helper()
	program, err := remote.NewProgram(address, servicetest.ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	described, err := program.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := program.Connector(described, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPagesOfStartedBanks: the payer sees the payment on the page, and the payer's decision counts
// once.
func TestPagesOfStartedBanks(t *testing.T) {
	for _, name := range []string{"bank.py", "bank.mjs", "bank.go", "bank.sh"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			bank := connectorAt(t, servicetest.StartProgram(t, name, folder)).(connector.Initiator)
			orders, err := connectortest.Orders(bank.Profile(), connectortest.Parties{}, false, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			o := orders()
			asked, err := bank.Initiate(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if page := pageAt(t, asked.ValidateURI); !strings.Contains(page, "Pay 12.50 EUR to The Shop") {
				t.Errorf("the page: %s", page)
			}
			for _, decision := range []string{"refuse", "approve"} {
				if back, err := decideAt(asked.ValidateURI, decision); err != nil || back != o.ReturnURL {
					t.Errorf("%s leads to %s, %v", decision, back, err)
				}
			}
			last, err := bank.Status(t.Context(), o)
			stored, _ := filepath.Glob(filepath.Join(folder, "*.json"))
			if err != nil || last.Status != payment.Declined || last.Code != payment.CancelledByUser || len(stored) != 1 {
				t.Errorf("in the end %+v, %v, and %d orders", last, err, len(stored))
			}
		})
	}
}

func pageAt(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

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

// TestPaymentThroughAProgram makes a payment with bank.py, a connector program that is also a bank.
func TestPaymentThroughAProgram(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		folder := t.TempDir()
		row, err := service.Programs(s.DB).Add(t.Context(), servicetest.StartProgram(t, "bank.py", folder), servicetest.ConnectorSecret)
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

// TestSyncThroughAProgram syncs accounts that a program in Python reads from a folder. The service
// stores each transaction once.
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
			// The proxy may begin its response before it has seen the end of this body. net/http would then
			// close the body, and the request to the program would fail.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
		}))
		defer front.Close()
		row, err := service.Programs(p.DB).Add(t.Context(), front.URL, servicetest.ConnectorSecret)
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
				t.Fatalf("after a sync: %v, %+v, %s", connection.ID, all, p.OK(p.Call("GET", at, p.token, nil)).Body)
			}
		}
		away = true
		p.JSON(p.OK(p.Call("PUT", at, p.token, nil)), &connection)
		if all := count(); connection.State == nil || *connection.State != "websiteUnavailable" || len(all.Transactions) != 3 {
			t.Errorf("while the program is away: %+v, %+v", connection, all)
		}
	})
}
