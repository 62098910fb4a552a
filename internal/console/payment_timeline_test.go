package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/payment"
)

var tag = regexp.MustCompile(`<[^>]*>`)

func words(body string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(body, " "))), " ")
}

// secrets are texts that must not appear in support files.
var secrets = []string{"FR7630006000011234567890189", "Erika", "Mustermann", "erika@mail.example", "secret-state", "shop.example", "secret label", "Secret Shop"}

func secretDraft() map[string]any {
	draft := servicetest.Draft()
	draft["client_state"] = "secret-state"
	draft["payer_identity"] = map[string]any{"kind": "individual", "first_name": "Erika", "last_name": "Mustermann", "email": "erika@mail.example"}
	draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Erika M."}
	line(draft)["label"] = "rjct(bankMessage) - it's a secret label"
	line(draft)["beneficiary"].(map[string]any)["label"] = "Secret Shop"
	return draft
}

// The timeline shows the request, the call to the bank, the result and the delivery, in this order.
func TestTimelineOfAPayment(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.Subscribe("PAYMENT_STATE_UPDATED", "told")
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{
			Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
		if n := len(d.Received("told")); n != 1 {
			t.Fatalf("%d requests", n)
		}
		text := words(d.get(d.paymentPath(id)).body)
		place := 0
		for _, want := range []string{
			"request Application", "created the payment. created", "bank The service sent the order to Banque Exemple. The payer validated the payment. The approval mechanism is webauth.", "The bank answered.",
			"state The payment waits for approval. created → validating The payer chose a bank, and the bank has the order.", "delivery Webhook 1 reported this change.", "The endpoint answered with status 204 after",
		} {
			found := strings.Index(text[place:], want)
			if found < 0 {
				t.Fatalf("%q does not follow in %s", want, text)
			}
			place += found
		}
	})
}

// A payment can have thousands of notes. The page and the support file have the newest 1,000, and
// say that there are more. The API returns all of them.
func TestTimelineOfManyNotes(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		token := d.Token("payments:admin")
		id := d.Create(token, servicetest.Draft())
		note := func(from, to int) {
			p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(id), false)
			must(t, err)
			for n := from; n <= to; n++ {
				p.Notes = append(p.Notes, payment.Note{Kind: payment.NoteSettled, Actor: payment.ByService, Text: fmt.Sprintf("reason %d.", n), At: p.Created})
			}
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { tx.AddNotes(p); return nil }))
		}
		const omitted = "Older notes are not shown. The API returns all of them."
		for _, c := range []struct{ from, to, first int }{{1, 1000, 1}, {1001, 1002, 3}} {
			note(c.from, c.to)
			a := d.get(d.paymentPath(id))
			notes := strings.Count(a.body, "An operator recorded the outcome.")
			if text := words(a.body); notes != 1000 || strings.Contains(text, omitted) != (c.first > 1) || !strings.Contains(text, fmt.Sprintf("reason %d.", c.first)) || strings.Contains(text, fmt.Sprintf("reason %d.", c.first-1)) {
				t.Errorf("of %d notes, the page shows %d: %.3000s", c.to, notes, text)
			}
			file := d.get(d.paymentPath(id) + "/support").body
			if notes := strings.Count(file, "An operator recorded the outcome."); notes != 1000 || strings.Contains(file, omitted) != (c.first > 1) {
				t.Errorf("of %d notes, the support file has %d: %.3000s", c.to, notes, file)
			}
			all := d.OK(d.Call("GET", fmt.Sprintf("/payments/%d?expand=timeline", id), token, nil)).Body
			if notes := strings.Count(string(all), `"reason `); notes != c.to {
				t.Errorf("of %d notes, the API returns %d: %.3000s", c.to, notes, all)
			}
		}
	})
}

// A response that does not end in time is a failure, although its status is 200. The timeline shows
// the status and the failure.
func TestTimelineShowsResponsesThatDoNotEnd(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.OK(d.Call("POST", "/config", d.ConfigToken, map[string]any{"webhooks.timeout_seconds": "1"}))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		d.register("PAYMENT_STATE_UPDATED", server.URL, nil)
		text := words(d.get(d.paymentPath(d.pay())).body)
		if !regexp.MustCompile(`The endpoint answered with status 200 after \d+ ms\. The request failed: timeout\.`).MatchString(text) {
			t.Errorf("the timeline does not show the failure: %s", text)
		}
	})
}

func TestObjectionsAreShown(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		draft := servicetest.Draft()
		line(draft)["amount"] = json.Number("9.99")
		text := words(d.get(d.paymentPath(d.Create(d.Token("payments:admin"), draft))).body)
		if !strings.Contains(text, "Sandbox High Minimum") || !strings.Contains(text, "minAmount") {
			t.Errorf("the reason is not shown: %s", text)
		}
	})
}

func TestSupportFileHasNothingSensitive(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.Subscribe("PAYMENT_STATE_UPDATED", "told")
		id := d.Create(d.Token("payments:admin"), secretDraft())
		d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": "rejected", "error_code": "bankMessage"}))
		d.Received("told")
		a := d.get(d.paymentPath(id) + "/support")
		var file struct {
			Payment struct {
				ID        int64
				State     string
				ErrorCode string `json:"error_code"`
			}
			Timeline []struct {
				Kind     string
				Requests []string
			} `json:"timeline"`
			Instructions []map[string]any
		}
		must(t, json.Unmarshal([]byte(a.body), &file))
		if file.Payment.ID != id || file.Payment.State != "rejected" || file.Payment.ErrorCode != "bankMessage" || len(file.Timeline) != 3 || len(file.Timeline[2].Requests) != 1 || len(file.Instructions) != 1 {
			t.Errorf("%s", a.body)
		}
		for _, secret := range append(secrets, "0189") {
			if strings.Contains(a.body, secret) {
				t.Errorf("the file has %q: %s", secret, a.body)
			}
		}
		if disposition := a.header.Get("Content-Disposition"); disposition != fmt.Sprintf(`attachment; filename="payment-%d-support.json"`, id) {
			t.Errorf("it is called %s", disposition)
		}
		if a := d.get(d.paymentPath(999) + "/support"); a.status != http.StatusNotFound {
			t.Errorf("of no payment: %d", a.status)
		}
	})
}

var pre = regexp.MustCompile(`(?s)<pre id="curl"[^>]*>(.*?)</pre>`)

// request returns the command on a page, and the arguments that a shell would parse from the
// command.
func (d *fixture) request(a answer) (command string, args []string) {
	d.t.Helper()
	found := pre.FindStringSubmatch(a.body)
	if found == nil {
		d.t.Fatalf("there is no request in %s", a.body)
	}
	command = html.UnescapeString(found[1])
	shell := exec.CommandContext(d.t.Context(), "sh", "-c", `curl() { for word; do printf '%s\0' "$word"; done; }; `+command)
	shell.Env = []string{"TOKEN=the-token"}
	out, err := shell.Output()
	must(d.t, err)
	return command, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// The curl command on a payment's page creates the same payment again, even when the payment
// contains special characters of a shell.
func TestPaymentAsARequest(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		token := d.Token("payments:admin")
		draft := secretDraft()
		line(draft)["label"] = `'; rm -rf "$HOME" #` + "`id`"
		line(draft)["execution_date_type"], line(draft)["execution_date"] = "deferred", "2999-12-24"
		id := d.Create(token, draft)
		hidden, _ := d.request(d.get(d.paymentPath(id)))
		for _, secret := range []string{"FR7630006000011234567890189", "Mustermann", "erika@mail.example"} {
			if strings.Contains(hidden, secret) {
				t.Errorf("it has %s unasked", secret)
			}
		}
		_, args := d.request(d.submit(d.paymentPath(id), d.paymentPath(id)+"/reveal"))
		if args[2] != d.Base+"/payments" || args[4] != "Authorization: Bearer the-token" {
			t.Errorf("%q", args)
		}
		again := d.Call("POST", "/payments", token, args[len(args)-1])
		if again.Status != http.StatusOK && again.Status != http.StatusCreated {
			t.Fatalf("%d %s", again.Status, again.Body)
		}
		var one, other map[string]any
		d.JSON(d.OK(d.Call("GET", fmt.Sprint("/payments/", id), token, nil)), &one)
		d.JSON(again, &other)
		for _, p := range []map[string]any{one, other} {
			delete(p, "id")
			delete(p, "register_date")
			delete(p["instructions"].([]any)[0].(map[string]any)["beneficiary"].(map[string]any), "id")
		}
		if fmt.Sprint(one) != fmt.Sprint(other) {
			t.Errorf("it makes\n%v, want\n%v", other, one)
		}
	})
}

// run executes a command from a page in a shell, with a token.
func (d *fixture) run(a answer, id, token string, into any) {
	d.t.Helper()
	found := regexp.MustCompile(`(?s)<pre id="` + id + `"[^>]*>(.*?)</pre>`).FindStringSubmatch(a.body)
	if found == nil {
		d.t.Fatalf("there is no request %s in %s", id, a.body)
	}
	shell := exec.CommandContext(d.t.Context(), "sh", "-c", html.UnescapeString(found[1]))
	shell.Env = []string{"TOKEN=" + token, "PATH=" + os.Getenv("PATH")}
	out, err := shell.Output()
	must(d.t, err)
	d.JSON(servicetest.Answer{Body: out}, into)
}

func TestRequestsRun(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		token := d.Token("payments:admin")
		draft := secretDraft()
		line(draft)["label"] = `it's "$HOME" #` + "`id`"
		id := d.Create(token, draft)
		var read, made struct {
			ID           int64
			State        string
			Instructions []struct{ Label string }
		}
		d.run(d.get(d.paymentPath(id)), "curl-read", token, &read)
		if read.ID != id || read.State != "created" || len(read.Instructions) != 1 || read.Instructions[0].Label != line(draft)["label"] {
			t.Errorf("the request reads %+v", read)
		}
		d.run(d.submit(d.paymentPath(id), d.paymentPath(id)+"/reveal"), "curl", token, &made)
		if made.ID <= id || made.State != "created" || len(made.Instructions) != 1 || made.Instructions[0].Label != line(draft)["label"] {
			t.Errorf("the request makes %+v", made)
		}
	})
}

func TestNotesInWords(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(id), true)
		must(t, err)
		for _, kind := range payment.NoteKinds() {
			p.Notes = append(p.Notes, payment.Note{At: p.Created, Kind: kind, Actor: payment.ByBank})
		}
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, nil) }))
		page := d.get(d.paymentPath(id)).body
		if said := strings.Count(page, "The bank caused this."); said != 3 { // causedBy has three kinds
			t.Errorf("the timeline says %d times that the bank caused a note", said)
		}
		shown := 0
		for _, row := range regexp.MustCompile(`<li data-kind="note".*?<strong>(.*?)</strong>`).FindAllStringSubmatch(page, -1) {
			shown++
			if !strings.Contains(row[1], " ") {
				t.Errorf("the timeline shows %q: add the kind to noteTexts in internal/console/payment_timeline.go", row[1])
			}
		}
		if shown != len(payment.NoteKinds()) {
			t.Errorf("the timeline shows %d notes, want %d", shown, len(payment.NoteKinds()))
		}
	})
}

// TestWhatTheBankAnswered checks that the timeline shows the bank's response collapsed, next to the
// change that the response caused.
func TestWhatTheBankAnswered(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		if body := d.get(d.paymentPath(id)).body; strings.Contains(body, "The bank's answer") {
			t.Errorf("no bank was asked: %s", body)
		}
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{
			Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
		_, err = d.Initiation.Answer(t.Context(), d.Domain, passerelle.PaymentID(id), payment.ByClient, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true})
		must(t, err)
		p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(id), true)
		must(t, err)
		p.ErrorDescription, p.Instructions[0].ErrorDescription = "said of all", "said of one"
		p.Notes = []payment.Note{{At: p.Created, Kind: payment.NoteBankStatus, Actor: payment.ByBank, Bank: "RJCT AC04 AM04", Text: "closed <b>account</b>"}}
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, nil) }))
		body := d.get(d.paymentPath(id)).body
		for _, want := range []string{
			"<details><summary>The bank's answer</summary>", "<dt>Status</dt><dd>RJCT: refused</dd>", "refused <small><code>RJCT AC04 AM04</code></small>", "<dt>Reason codes</dt><dd>AC04 AM04</dd>", "<dt>Message</dt><dd>closed &lt;b&gt;account&lt;/b&gt;</dd>",
			"<dt>Status</dt><dd>executed</dd>", "<dt>Message</dt><dd>said of all</dd>", "</dt><dd>said of one</dd>",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s: %s", want, body)
			}
		}
	})
}

// The timeline tells a request to cancel from the payer's answers about this cancellation.
func TestTimelineOfARefusedCancellation(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{
			Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
		for _, next := range []store.Attempt{{By: payment.ByClient}, {By: payment.ByPayer, Action: payment.PSUValidation}, {By: payment.ByPayer, Agreed: true}} {
			last, err := d.DB.Attempt(t.Context(), d.Domain.ID, passerelle.PaymentID(id))
			must(t, err)
			next.Payment, next.Domain, next.Number, next.Kind, next.Created = last.Payment, last.Domain, last.Number+1, store.AttemptCancellation, last.Created
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.OpenAttempt(&next, 0) }))
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { tx.AnswerAttempt(next); return nil }))
		}
		d.shows(d.paymentPath(id), []string{"The application or an operator asked for a cancellation.", "The payer refused the cancellation.", "The payer agreed to the cancellation."})
	})
}
