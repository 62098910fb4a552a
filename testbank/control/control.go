package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/ledger"
)

// maxBody limits the size of a request. Every request is much smaller.
const maxBody = 64 << 10

// Control is the tester's interface to banks. Banks maps names to banks.
type Control struct {
	Banks map[string]*bank.Bank
	Log   *slog.Logger
}

// call is a request about one bank.
type call struct {
	*http.Request
	bank *bank.Bank
}

// Handler serves the tester's requests. It refuses requests with an Origin header.
func (c *Control) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range calls {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /banks/{bank}"+path, c.handle(answer))
	}
	mux.HandleFunc("GET /banks", func(w http.ResponseWriter, _ *http.Request) {
		names := []string{}
		for _, p := range bank.Profiles() {
			if c.Banks[p.Name] != nil {
				names = append(names, p.Name)
			}
		}
		write(w, http.StatusOK, map[string]any{"banks": names})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			write(w, http.StatusForbidden, map[string]any{"error": "a page of a browser has no business here"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// calls maps each call about a bank to its function.
var calls = map[string]func(*call) (any, error){
	"GET /clock":                    clock,
	"POST /clock":                   advance,
	"POST /run":                     run,
	"GET /accounts":                 accounts,
	"POST /accounts/{account}/fill": fill,
	"POST /accounts/{account}/book": book,
	"GET /orders":                   orders,
	"GET /consents":                 consents,
	"POST /consents/{id}/revoke":    revoke,
	"GET /authorisations":           authorisations,
	"POST /authorisations/{id}":     decide,
	"GET /faults":                   faults,
	"POST /faults":                  inject,
	"DELETE /faults":                clear,
	"GET /check":                    check,
}

func (c *Control) handle(answer func(*call) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b := c.Banks[r.PathValue("bank")]
		if b == nil {
			write(w, http.StatusNotFound, map[string]any{"error": "there is no such bank"})
			return
		}
		body, err := answer(&call{r, b})
		if err != nil {
			c.fail(w, err)
			return
		}
		write(w, http.StatusOK, body)
	}
}

func (c *Control) fail(w http.ResponseWriter, err error) {
	var refusal *bank.Refusal
	switch {
	case errors.As(err, &refusal):
		write(w, http.StatusBadRequest, map[string]any{"error": refusal.Text, "field": refusal.Path})
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, bank.ErrLinkOver):
		write(w, http.StatusNotFound, map[string]any{"error": err.Error()})
	default:
		c.Log.Error("the bank failed", slog.Any("error", err))
		write(w, http.StatusInternalServerError, map[string]any{"error": err.Error()})
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.Encode(body) //nolint:errcheck // the tester may be gone
}

// read decodes the body of a call into a struct. Without a body, the struct keeps its values.
func (c *call) read(into any) error {
	body, err := io.ReadAll(io.LimitReader(c.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	if len(body) == 0 {
		return nil
	}
	return bank.DecodeBody(body, into)
}

func clock(c *call) (any, error) {
	return map[string]any{"now": c.bank.Now().Format(time.RFC3339), "machine": c.bank.Machine().Format(time.RFC3339)}, nil
}

// advance moves the bank's time forward by a Go duration or a number of days such as 3d. It also
// sets the simulated error of the machine's clock.
func advance(c *call) (any, error) {
	var asked struct {
		Advance string  `json:"advance"`
		Machine *string `json:"machine"`
	}
	if err := c.read(&asked); err != nil {
		return nil, err
	}
	if asked.Machine != nil {
		wrong, err := duration(*asked.Machine)
		if err != nil {
			return nil, bank.Refuse("FORMAT_ERROR", "machine", "a duration is like 10m, -36h or 3d")
		}
		c.bank.SetMachine(wrong)
	}
	if asked.Machine != nil && asked.Advance == "" {
		return clock(c)
	}
	by, err := duration(asked.Advance)
	if err != nil {
		return nil, bank.Refuse("FORMAT_ERROR", "advance", "a duration is like 90m, 36h or 3d")
	}
	if err := c.bank.Advance(c.Context(), by); err != nil {
		return nil, err
	}
	return clock(c)
}

func duration(text string) (time.Duration, error) {
	days, isDays := strings.CutSuffix(text, "d")
	if !isDays {
		return time.ParseDuration(text)
	}
	hours, err := time.ParseDuration(days + "h")
	return 24 * hours, err
}

func run(c *call) (any, error) {
	if err := c.bank.Run(c.Context()); err != nil {
		return nil, err
	}
	return clock(c)
}

func accounts(c *call) (any, error) {
	all, err := c.bank.Accounts(c.Context(), c.URL.Query().Get("customer"))
	return map[string]any{"accounts": all}, err
}

// fill makes bookings on an account.
func fill(c *call) (any, error) {
	asked := bank.Filling{Count: 1, Amount: "1.00", Text: "Test booking"}
	if err := c.read(&asked); err != nil {
		return nil, err
	}
	err := c.bank.Fill(c.Context(), c.PathValue("account"), asked)
	return map[string]any{"booked": asked.Count}, err
}

// book books the pending transactions that the tester made on an account.
func book(c *call) (any, error) {
	booked, err := c.bank.BookPending(c.Context(), c.PathValue("account"))
	return map[string]any{"booked": booked}, err
}

func orders(c *call) (any, error) {
	all, err := c.bank.Orders(c.Context())
	return map[string]any{"orders": all}, err
}

func consents(c *call) (any, error) {
	all, err := c.bank.Consents(c.Context())
	return map[string]any{"consents": all}, err
}

func revoke(c *call) (any, error) {
	return map[string]any{}, c.bank.Revoke(c.Context(), c.PathValue("id"))
}

// authorisations lists the authorisations that wait for a customer.
func authorisations(c *call) (any, error) {
	all, err := c.bank.OpenAuthorisations(c.Context())
	return map[string]any{"authorisations": all}, err
}

// decide makes a decision in a customer's place.
func decide(c *call) (any, error) {
	var asked struct {
		Decision string   `json:"decision"`
		Customer string   `json:"customer"`
		Accounts []string `json:"accounts"`
	}
	if err := c.read(&asked); err != nil {
		return nil, err
	}
	if asked.Decision != "approve" && asked.Decision != "refuse" {
		return nil, bank.Refuse("FORMAT_ERROR", "decision", "a decision is approve or refuse")
	}
	ticket, err := c.bank.TicketOf(c.Context(), c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	a, err := c.bank.Decide(c.Context(), ticket, bank.Decision{Approve: asked.Decision == "approve", PSU: asked.Customer, Accounts: asked.Accounts})
	if err != nil {
		return nil, err
	}
	return map[string]any{"sca_status": a.Status, "return_to": a.ReturnTo()}, nil
}

func faults(c *call) (any, error) { return map[string]any{"faults": c.bank.Faults.List()}, nil }

func inject(c *call) (any, error) {
	var asked bank.Injected
	if err := c.read(&asked); err != nil {
		return nil, err
	}
	return c.bank.Faults.Add(asked)
}

func clear(c *call) (any, error) {
	c.bank.Faults.Clear()
	return map[string]any{"faults": []any{}}, nil
}

func check(c *call) (any, error) {
	wrong, err := c.bank.Check(c.Context())
	if wrong == nil {
		wrong = []string{}
	}
	return map[string]any{"right": len(wrong) == 0, "wrong": wrong}, err
}
