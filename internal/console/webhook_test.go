package console_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func (d *fixture) webhooksPath(more string) string { return d.domainPath("/webhooks" + more) }

func (d *fixture) webhookPath(id int64) string { return d.webhooksPath(fmt.Sprint("/", id)) }

func (d *fixture) dataPath(id, data int64) string {
	return d.webhooksPath(fmt.Sprintf("/%d/data/%d", id, data))
}

func idAt(t *testing.T, address string) int64 {
	t.Helper()
	var id int64
	_, err := fmt.Sscan(address[strings.LastIndex(address, "/")+1:], &id)
	must(t, err)
	return id
}

func (d *fixture) registered(id int64) map[string]any {
	d.t.Helper()
	var out map[string]any
	d.JSON(d.OK(d.Call("GET", fmt.Sprintf("/webhooks/%d?all", id), d.ConfigToken, nil)), &out)
	return out
}

func (d *fixture) register(event, address string, provider any) int64 {
	d.t.Helper()
	var out struct{ ID int64 }
	d.JSON(d.OK(d.Call("POST", "/webhooks", d.ConfigToken, map[string]any{"event": event, "url": address, "id_auth": provider})), &out)
	return out.ID
}

type receiver struct {
	URL    string
	mu     sync.Mutex
	status int
	answer string
	got    []received
}

type received struct {
	header http.Header
	path   string
	body   string
}

func newReceiver(t *testing.T, status int, answer string) *receiver {
	t.Helper()
	r := &receiver{status: status, answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, received{request.Header.Clone(), request.URL.EscapedPath(), string(body)})
		w.WriteHeader(r.status)
		io.WriteString(w, r.answer)
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

func (r *receiver) turn(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// pay creates a payment, changes its state once and runs the due work.
func (d *fixture) pay() int64 {
	d.t.Helper()
	id := d.Create(d.Token("payments:admin"), servicetest.Draft())
	d.OK(d.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), d.ConfigToken, map[string]any{"state": "validating"}))
	d.OK(d.Call("POST", "/sandbox/run", d.ConfigToken, nil))
	return id
}

// deliveries returns the deliveries of a webhook in the form that the API shows, oldest first.
func (d *fixture) deliveries(id int64) []map[string]any {
	d.t.Helper()
	var out struct{ Data []map[string]any }
	d.JSON(d.OK(d.Call("GET", fmt.Sprintf("/webhooks/%d/data?expand=attempts", id), d.ConfigToken, nil)), &out)
	return out.Data
}

func number(t *testing.T, value any) int64 {
	t.Helper()
	n, err := value.(json.Number).Int64()
	must(t, err)
	return n
}

func wantActs(t *testing.T, d *fixture, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.acts()); diff != "" {
		t.Errorf("on record: %s", diff)
	}
}

func TestWebhooksAreRegisteredAndChanged(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		d.Subscribe("USER_CREATED", "signer") // this also creates the provider
		form := d.webhooksPath("/new")
		for name, test := range map[string]struct {
			values []string
			shown  string
		}{
			"no address":       {[]string{"event", "USER_CREATED"}, "URL"},
			"relative":         {[]string{"event", "USER_CREATED", "url", "/hook"}, "URL"},
			"unknown event":    {[]string{"event", "USER_BORN", "url", "https://shop.example/"}, "Event"},
			"unknown provider": {[]string{"event", "USER_CREATED", "url", "https://shop.example/", "id_auth", "nobody"}, "Authentication provider"},
			"no number":        {[]string{"event", "USER_CREATED", "url", "https://shop.example/", "id_service", "x"}, "Application"},
			"unknown client":   {[]string{"event", "USER_CREATED", "url", "https://shop.example/", "id_service", "999999"}, "Application"},
			"unknown user":     {[]string{"event", "USER_CREATED", "url", "https://shop.example/", "id_user", "999999"}, "Only for user"},
		} {
			a := d.submit(form, form, test.values...)
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, test.shown+":") {
				t.Errorf("%s: %d, without %s", name, a.status, test.shown)
			}
		}
		if all, err := d.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: d.Domain.ID, All: true}, store.Window{Limit: 10}); err != nil || len(all) != 1 {
			t.Fatalf("%d webhooks, %v", len(all), err)
		}
		wantActs(t, d)
		a := d.submit(form, form, "event", "PAYMENT_STATE_UPDATED", "url", "https://shop.example/hook", "id_auth", "signer", "id_service", d.ClientID)
		if a.status != http.StatusSeeOther {
			t.Fatalf("registering: %d %s", a.status, a.body)
		}
		id := idAt(t, a.location)
		got := d.registered(id)
		if got["url"] != "https://shop.example/hook" || got["event"] != "PAYMENT_STATE_UPDATED" || fmt.Sprint(got["id_service"]) != d.ClientID || got["id_auth"] == nil {
			t.Errorf("registered: %v", got)
		}
		edit := d.webhookPath(id) + "/edit"
		if page := d.get(edit).body; !strings.Contains(page, `value="signer"`) || !strings.Contains(page, `value="https://shop.example/hook"`) {
			t.Errorf("the form shows %s", page)
		}
		if a := d.submit(edit, edit, "event", "USER_SYNCED", "url", "ftp://x"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `value="ftp://x"`) {
			t.Errorf("a wrong change: %d", a.status)
		}
		if a := d.submit(edit, edit, "event", "USER_SYNCED", "url", "https://shop.example/2", "id_auth", "", "id_service", ""); a.status != http.StatusSeeOther {
			t.Errorf("changing: %d %s", a.status, a.body)
		}
		got = d.registered(id)
		if got["url"] != "https://shop.example/2" || got["event"] != "USER_SYNCED" || fmt.Sprint(got["id_service"]) != d.ClientID || got["id_auth"] != nil {
			t.Errorf("changed: %v", got)
		}
		wantActs(t, d, fmt.Sprint("register webhook webhook ", id), fmt.Sprint("change webhook webhook ", id))
	})
}

func TestWebhooksAreDisabledAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		to := newReceiver(t, 200, "")
		id := d.register("PAYMENT_STATE_UPDATED", to.URL+"/hook", nil)
		page := d.webhookPath(id)
		act := func(act, state string, want int) {
			t.Helper()
			if a := d.submit(page, page, "act", act); a.status != want {
				t.Errorf("%s: %d %s", act, a.status, a.body)
			}
			if body := d.get(page).body; !strings.Contains(body, `data-state="`+state+`"`) {
				t.Errorf("after %s the webhook is not %s", act, state)
			}
		}
		act("disable webhook", "disabled", 303)
		d.pay()
		act("enable webhook", "enabled", 303)
		d.pay()
		if got := to.all(); len(got) != 1 {
			t.Errorf("%d requests, while disabled and afterwards", len(got))
		}
		act("delete webhook", "deleted", 303)
		act("delete webhook", "deleted", 422)
		act("disable webhook", "deleted", 422)
		act("forget webhook", "deleted", 400)
		if a := d.submit(page, page, "act", "recover webhook", "since", "2026-01-01"); a.status != 422 {
			t.Errorf("recovering a deleted one: %d", a.status)
		}
		if body := d.get(d.webhooksPath("")).body; strings.Contains(body, to.URL) {
			t.Error("a deleted webhook is listed")
		}
		if body := d.get(d.webhooksPath("?all")).body; !strings.Contains(body, to.URL) {
			t.Error("a deleted webhook is not listed although it was asked for")
		}
		act("restore webhook", "enabled", 303)
		var want []string
		for _, done := range []string{"disable", "enable", "delete", "restore"} {
			want = append(want, fmt.Sprint(done, " webhook webhook ", id))
		}
		wantActs(t, d, want...)
		if got := d.registered(id); got["deleted"] != nil || got["disabled"] != nil {
			t.Errorf("at last: %v", got)
		}
	})
}

func TestHealthAtAGlance(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		good, bad := newReceiver(t, 204, ""), newReceiver(t, 500, "no")
		d.register("PAYMENT_STATE_UPDATED", good.URL, nil)
		failing := d.register("PAYMENT_STATE_UPDATED", bad.URL, nil)
		d.pay()
		rows := strings.Split(d.get(d.webhooksPath("")).body, "<tr>")
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows)-2)
		}
		for i, want := range [][]string{
			{good.URL, "100.0 %", "of 1", `<td data-label="Undelivered" class="digits">0</td>`, "enabled", "no provider"},
			{bad.URL, "0.0 %", "In the last 24 hours, 1 of 1 requests failed.", `<td data-label="Undelivered" class="digits">1</td>`, "1 in a row"},
		} {
			for _, text := range want {
				if !strings.Contains(rows[i+2], text) {
					t.Errorf("row %d lacks %q: %s", i, text, rows[i+2])
				}
			}
		}
		page := d.get(d.webhookPath(failing)).body
		for _, text := range []string{"In the last 24 hours", "of 1 request,", "1 in a row", "Next attempt", `data-state="pending"`} {
			if !strings.Contains(page, text) {
				t.Errorf("the page lacks %q", text)
			}
		}
	})
}

// The domain's settings choose the format of request bodies. A webhook's page must show this
// format.
func TestHowBodiesAreSent(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		payments, accounts := d.register("PAYMENT_STATE_UPDATED", "https://shop.example/", nil), d.register("ACCOUNT_FOUND", "https://shop.example/", nil)
		says := func(id int64, want string) {
			t.Helper()
			if body := d.get(d.webhookPath(id)).body; !strings.Contains(body, "<dt>Bodies</dt><dd>"+want+"</dd>") {
				t.Errorf("webhook %d does not say that bodies are %s", id, want)
			}
		}
		says(payments, "JSON")
		d.OK(d.Call("POST", "/config", d.ConfigToken, map[string]any{"autosync.cfonb": "1", "webhooks.compression.enabled": "1"}))
		says(payments, "JSON, compressed with gzip (webhooks.compression.enabled)")
		says(accounts, "CFONB 120 (autosync.cfonb), compressed with gzip (webhooks.compression.enabled)")
	})
}

var sentBytes = regexp.MustCompile(`(?s)aria-label="What is sent"><mark>(.*?)</mark>(.*?)</pre>`)

// The page of a delivery must show exactly the signed text and the sent text.
func TestADeliveryIsShownAsItWasSent(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		to := newReceiver(t, 500, hostile)
		secret := d.Subscribe("USER_CREATED", "signer")
		id := d.register("PAYMENT_STATE_UPDATED", to.URL+"/hook%20here?x=1", "signer")
		payment := d.pay()
		data := number(t, d.deliveries(id)[0]["id"])
		got := to.all()[0]
		body := d.get(d.dataPath(id, data)).body
		found := sentBytes.FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("nothing is shown: %s", body)
		}
		opening, payload := html.UnescapeString(found[1]), html.UnescapeString(found[2])
		if payload != got.body {
			t.Errorf("shown is %q, sent was %q", payload, got.body)
		}
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, opening+payload)
		signature := base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if want := got.header.Get("SVC-Signature"); signature != want || !strings.Contains(html.UnescapeString(body), want) {
			t.Errorf("what is shown has the signature %s, sent was %s", signature, want)
		}
		if want := "POST./hook%20here." + got.header.Get("SVC-Signature-Date") + "."; opening != want {
			t.Errorf("signed was %q, want %q", opening, want)
		}
		for name, values := range got.header {
			if name == "Accept-Encoding" || name == "Content-Length" {
				continue // the HTTP client adds these headers
			}
			if !strings.Contains(strings.ToLower(html.UnescapeString(body)), strings.ToLower("<dt>"+name+`</dt><dd class="digits">`+values[0]+"</dd>")) {
				t.Errorf("the page lacks the header %s: %s", name, values[0])
			}
		}
		if strings.Contains(body, hostile) || !strings.Contains(body, html.EscapeString(hostile)) && !strings.Contains(html.UnescapeString(body), hostile) {
			t.Error("the answer of the receiver is not shown as text")
		}
		if link := fmt.Sprintf(`href="%s"`, d.paymentPath(payment)); !strings.Contains(body, link) {
			t.Errorf("the page lacks the payment")
		}
		logged := d.deliveries(id)[0]["attempts"].([]any)[0].(map[string]any)
		if logged["signed"] != opening || logged["signature"] != signature || logged["next_signature"] != nil {
			t.Errorf("the interface says %v", logged)
		}
	})
}

func TestResendingAndRecovering(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		to := newReceiver(t, 500, "")
		id := d.register("PAYMENT_STATE_UPDATED", to.URL, nil)
		d.pay()
		data := number(t, d.deliveries(id)[0]["id"])
		page := d.dataPath(id, data)
		resend := func() int { return d.submit(page, page+"/resend").status }
		if status := resend(); status != 303 || len(to.all()) != 2 {
			t.Errorf("resending: %d, %d requests", status, len(to.all()))
		}
		if body := d.get(page).body; strings.Count(body, `data-label="Answer" class="digits">500</td>`) != 2 || !strings.Contains(body, `data-state="pending"`) {
			t.Errorf("the requests are not all shown: %s", body)
		}
		to.turn(200)
		since := d.submit(d.webhookPath(id), d.webhookPath(id), "act", "recover webhook", "since", "yesterday")
		if since.status != 422 || !strings.Contains(since.body, "Since:") {
			t.Errorf("recovering since yesterday: %d", since.status)
		}
		a := d.submit(d.webhookPath(id), d.webhookPath(id), "act", "recover webhook", "since", "2020-01-01")
		if a.location != d.webhookPath(id) {
			t.Errorf("recovering: %d to %q: %s", a.status, a.location, a.body)
		}
		d.shows(a.location, []string{"1 waiting event is being sent now."})
		d.OK(d.Call("POST", "/sandbox/run", d.ConfigToken, nil))
		if got := d.deliveries(id)[0]; got["state"] != "delivered" || len(to.all()) != 3 {
			t.Errorf("recovered: %v, %d requests", got, len(to.all()))
		}
		d.submit(d.webhookPath(id), d.webhookPath(id), "act", "disable webhook")
		if a := d.submit(page, page+"/resend"); a.status != 422 || len(to.all()) != 3 {
			t.Errorf("resending to a disabled one: %d", a.status)
		}
		if a := d.submit(page, d.dataPath(id, 999_999)+"/resend"); a.status != 404 {
			t.Errorf("resending nothing: %d", a.status)
		}
		wantActs(t, d, fmt.Sprint("resend webhook data webhook data ", data), fmt.Sprint("recover webhook webhook ", id), fmt.Sprint("disable webhook webhook ", id))
	})
}

func TestTestsAreSent(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		to := newReceiver(t, 200, "")
		id := d.register("CONNECTION_DELETED", to.URL, nil)
		page := d.webhookPath(id) + "/test"
		if body := html.UnescapeString(d.get(page).body); !strings.Contains(body, "{\n  \"id\": 42") {
			t.Errorf("no sample: %s", body)
		}
		for name, test := range map[string]struct{ typed, shown string }{
			"no JSON":       {"{\r\n  \"a\": 1,\r\n  b: 2\r\n}", "Payload: line 3 is not JSON"},
			"cut off":       {"{\"a\": [1,\r\n2", "Payload: line 2 is not JSON"},
			"nothing":       {"", "Payload: line 1 is not JSON"},
			"a list":        {"[1]", "Payload: must be a JSON object"},
			"null":          {"null", "Payload: must be a JSON object"},
			"two":           {"{} {}", "Payload: line 1 is not JSON"},
			"too much":      {`{"a":"` + strings.Repeat("x", 256<<10) + `"}`, "the maximum for a test is 262144"},
			"not UTF-8":     {"{\"a\":\"\xff\"}", "Payload: must be valid UTF-8"},
			"hostile typed": {hostile, "Payload: line 1 is not JSON"},
		} {
			a := d.submit(page, page, "data", test.typed)
			if a.status != 422 || !strings.Contains(html.UnescapeString(a.body), test.shown) {
				t.Errorf("%s: %d, without %q", name, a.status, test.shown)
			}
			if strings.Contains(a.body, hostile) {
				t.Errorf("%s: what was typed is not escaped", name)
			}
		}
		if len(to.all()) != 0 {
			t.Fatalf("%d requests for wrong tests", len(to.all()))
		}
		a := d.submit(page, page, "data", "{\r\n  \"n\": 1.50,\r\n  \"t\": \"<b>\"\r\n}")
		if a.status != 303 || !strings.HasPrefix(a.location, d.webhookPath(id)+"/data/") {
			t.Fatalf("a test: %d %s", a.status, a.location)
		}
		data := idAt(t, a.location)
		if got := to.all(); len(got) != 1 || got[0].body != fmt.Sprintf(`{"id_webhook_data":%d,"n":1.50,"t":"<b>"}`, data) {
			t.Errorf("received %+v", got)
		}
		if body := d.get(a.location).body; !strings.Contains(body, `data-state="delivered"`) || strings.Contains(body, "/payments/") && strings.Contains(body, ">payment ") {
			t.Errorf("the test is shown as %s", body)
		}
		wantActs(t, d, fmt.Sprint("test webhook webhook ", id))
		d.OK(d.Call("DELETE", fmt.Sprint("/webhooks/", id), d.ConfigToken, nil))
		if a := d.submit(page, page, "data", "{}"); a.status != 422 || len(to.all()) != 1 {
			t.Errorf("a test of a deleted one: %d", a.status)
		}
	})
}

func TestSignaturesAreChecked(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		secret := d.Subscribe("USER_CREATED", "signer")
		d.OK(d.Call("POST", "/webhooks/auth", d.ConfigToken, map[string]any{"type": "oauth", "name": "tokens", "config": map[string]any{
			"url": "https://auth.example/", "client_id": "c", "client_secret": "s", "grant_type": "client_credentials",
		}}))
		const payload = `{"id_webhook_data":7,"label":"<b>"}`
		at := time.Now()
		signed := webhook.Sign(secret, "/hook", at, []byte(payload))
		old := webhook.Sign(secret, "/hook", at.Add(-time.Hour), []byte(payload))
		page := d.webhooksPath("/verify")
		right := map[string]string{"id_auth": "signer", "method": "POST", "url": "https://shop.example/hook?x=1", "date": signed.Date, "signature": signed.Value, "body": payload}
		for name, test := range map[string]struct {
			change map[string]string
			status int
			shown  string
		}{
			"right":           {nil, 200, "The signature is valid. It was made with its secret."},
			"path alone":      {map[string]string{"url": "/hook"}, 200, "The signature is valid."},
			"old":             {map[string]string{"date": old.Date, "signature": old.Value}, 200, "It was made with its secret. Its date is more than 5 minutes from now"},
			"other body":      {map[string]string{"body": payload + "x"}, 200, "The signature is not valid. The path, date, body or secret"},
			"space in front":  {map[string]string{"body": " " + payload}, 200, "without the white space around it"},
			"slash":           {map[string]string{"url": "/hook/"}, 200, "with a slash too many or too few"},
			"query signed":    {map[string]string{"signature": webhook.Sign(secret, "/hook?x=1", at, []byte(payload)).Value}, 200, "with the query of the URL"},
			"address signed":  {map[string]string{"signature": webhook.Sign(secret, "https://shop.example/hook?x=1", at, []byte(payload)).Value}, 200, "with the whole URL"},
			"other secret":    {map[string]string{"signature": webhook.Sign("x", "/hook", at, []byte(payload)).Value}, 200, "The path, date, body or secret"},
			"GET":             {map[string]string{"method": "get"}, 200, `Only POST requests are signed, and this one is called "GET".`},
			"no date":         {map[string]string{"date": "today"}, 422, "Date: must be the value of SVC-Signature-Date"},
			"no signature":    {map[string]string{"signature": ""}, 422, "Signature: is required"},
			"no URL":          {map[string]string{"url": ""}, 422, "URL: must be"},
			"no provider":     {map[string]string{"id_auth": ""}, 422, "Authentication provider: is required"},
			"unknown one":     {map[string]string{"id_auth": "nobody"}, 422, "Authentication provider: no provider"},
			"one with tokens": {map[string]string{"id_auth": "tokens"}, 422, "Authentication provider: must be a provider of type hmac_signature"},
			"hostile":         {map[string]string{"body": hostile, "method": hostile, "url": "/" + hostile, "signature": hostile}, 200, "Only POST"},
		} {
			form := url.Values{"csrf": {d.token(page)}}
			for key, value := range right {
				form.Set(key, value)
			}
			for key, value := range test.change {
				form.Set(key, value)
			}
			a := d.post(page, "same-origin", form)
			text := html.UnescapeString(regexp.MustCompile(`</?(strong|p)>`).ReplaceAllString(a.body, " "))
			text = strings.Join(strings.Fields(text), " ")
			if a.status != test.status || !strings.Contains(text, test.shown) {
				t.Errorf("%s: %d, without %q", name, a.status, test.shown)
			}
			if strings.Contains(a.body, hostile) || strings.Contains(a.body, secret) {
				t.Errorf("%s: the page holds what it must not", name)
			}
			if name != "right" && name != "old" && name != "path alone" && strings.Contains(text, "The signature is valid") {
				t.Errorf("%s: is right", name)
			}
		}
		wantActs(t, d)
	})
}

func webhookForms(d *fixture, hook, data int64) map[string][]string {
	return map[string][]string{
		"resend":   {d.dataPath(hook, data) + "/resend"},
		"disable":  {d.webhookPath(hook), "act", "disable webhook"},
		"enable":   {d.webhookPath(hook), "act", "enable webhook"},
		"recover":  {d.webhookPath(hook), "act", "recover webhook", "since", "2020-01-01"},
		"delete":   {d.webhookPath(hook), "act", "delete webhook"},
		"restore":  {d.webhookPath(hook), "act", "restore webhook"},
		"register": {d.webhooksPath("/new"), "event", "USER_CREATED", "url", "https://shop.example/"},
		"edit":     {d.webhookPath(hook) + "/edit", "event", "USER_CREATED", "url", "https://shop.example/"},
		"test":     {d.webhookPath(hook) + "/test", "data", "{}"},
		"reveal":   {d.dataPath(hook, data) + "/reveal"},
		"provider": {d.webhooksPath("/auth/new"), "type", "oauth", "name", "unfinished"},
		"rename":   {d.webhooksPath("/auth/999999/edit"), "name", "another"},
		"rotate":   {d.webhooksPath("/auth/999999/rotate"), "overlap", "1h"},
		"end":      {d.webhooksPath("/auth/999999/delete"), "number", "999999"},
	}
}

// refusedForms submits every form in webhookForms. It returns the names of the forms that the role
// may not submit.
func refusedForms(d *fixture, hook, data int64) map[string]bool {
	d.t.Helper()
	refused := map[string]bool{}
	for name, form := range webhookForms(d, hook, data) {
		if a := d.submit(d.webhooksPath(""), form[0], form[1:]...); a.status == http.StatusForbidden {
			refused[name] = true
		} else if a.status >= 500 {
			d.t.Errorf("%s: %d", name, a.status)
		}
	}
	return refused
}

var (
	revealing   = []string{"reveal"}
	configuring = []string{"delete", "restore", "register", "edit", "test", "provider", "rename", "rotate", "end"}
	redelivers  = []string{"resend", "disable", "enable", "recover"}
)

func set(lists ...[]string) map[string]bool {
	all := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			all[name] = true
		}
	}
	return all
}

func TestWebhookRolesInASandbox(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		to := newReceiver(t, 200, "")
		for role, want := range map[operators.Role]map[string]bool{
			operators.Viewer:        set(revealing, configuring, redelivers),
			operators.Developer:     set(revealing),
			operators.Acting:        set(),
			operators.Administrator: set(),
		} {
			fresh := newFixture(t, d.Instance)
			fresh.enter(role)
			hook := d.register("PAYMENT_STATE_UPDATED", to.URL, nil)
			var log struct {
				Data int64 `json:"id_webhook_data"`
			}
			d.JSON(d.OK(d.Call("POST", fmt.Sprintf("/webhooks/%d/test", hook), d.ConfigToken, map[string]any{})), &log)
			if diff := cmp.Diff(want, refusedForms(fresh, hook, log.Data)); diff != "" {
				t.Errorf("%s is refused: %s", role, diff)
			}
		}
	})
}

var keyOnPage = regexp.MustCompile(`class="digits key"[^>]*>([^<]+)<`)

// enterTwice creates an operator with a second factor, and signs in with it.
func (d *fixture) enterTwice(role operators.Role, time *clock) {
	d.t.Helper()
	name := "twice-" + string(role)
	_, password := d.operator(name, role)
	d.signIn(name, password)
	proposal := d.submit("/console/account", "/console/account/second-factor", "present", password)
	if proposal.status != http.StatusSeeOther {
		d.t.Fatalf("a second factor: %d %s", proposal.status, proposal.body)
	}
	key := keyOnPage.FindStringSubmatch(d.get("/console/account").body)[1]
	d.submit("/console/account", "/console/account/second-factor/confirm", "code", phoneCode(d.t, key, time.now()))
	d.submit("/console/account", "/console/sign-out")
	if a := d.submit("/console/sign-in", "/console/sign-in", "name", name, "password", password); a.location != "/console/second-factor" {
		d.t.Fatalf("signing in: %d %s", a.status, a.location)
	}
	time.seconds.Add(60)
	if a := d.submit("/console/second-factor", "/console/second-factor", "code", phoneCode(d.t, key, time.now())); a.location != "/console/" {
		d.t.Fatalf("with a second factor: %d %s", a.status, a.body)
	}
}

// inLive returns the same fixture in a live domain.
func (d *fixture) inLive() *fixture {
	d.t.Helper()
	domain, err := d.DB.DomainByName(d.t.Context(), "live")
	if err != nil {
		domain, err = service.EnsureDomain(d.t.Context(), d.DB, passerelle.Domain{
			Name: "live", Kind: passerelle.Live, BaseURL: "https://live.example/2.0", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		})
	}
	must(d.t, err)
	instance := *d.Instance
	instance.Domain = domain
	twin := *d
	twin.Instance = &instance
	return &twin
}

// plantLive creates a webhook in a live domain, and a delivery with one failed request.
func plantLive(t *testing.T, d *fixture) (hook store.Webhook, data int64) {
	t.Helper()
	hook = store.Webhook{Domain: d.Domain.ID, Event: webhook.PaymentStateUpdated, URL: "https://127.0.0.1:1/hook", Created: time.Now()}
	must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateWebhook(&hook) }))
	var id passerelle.DeliveryID
	must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
		return tx.CreateTest(hook, []byte(`{"payer":"Mustermann"}`), time.Now(), &id)
	}))
	must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
		tx.LeaseWebhook(hook, "test", time.Minute)
		return tx.RecordBatches(hook.Domain, store.Batch{Webhook: hook.ID, Holder: "test", Lease: time.Minute, Now: time.Now(), NextFlush: time.Now(), Attempts: []store.DeliveryAttempt{{
			Delivery: id, At: time.Now(), Status: 500, Failure: "status 500", Answer: "what about Mustermann?",
		}}})
	}))
	must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { tx.ReleaseWebhook(hook, "test"); return nil }))
	return hook, int64(id)
}

func TestWebhookRolesInALiveDomain(t *testing.T) {
	now := newClock()
	servicetest.Each(t, servicetest.Options{Now: now.now}, func(t *testing.T, s *servicetest.Instance) {
		sandbox := newFixture(t, s)
		hook, data := plantLive(t, sandbox.inLive())
		everything := set(revealing, configuring, redelivers)
		for role, want := range map[operators.Role]map[string]bool{
			operators.Viewer: everything, operators.Developer: everything, operators.Acting: set(configuring), operators.Administrator: set(),
		} {
			once := newFixture(t, s)
			once.enter(role)
			if diff := cmp.Diff(everything, refusedForms(once.inLive(), int64(hook.ID), data)); diff != "" {
				t.Errorf("%s without a second factor is refused: %s", role, diff)
			}
			if role == operators.Administrator {
				continue // tested after the loop
			}
			twice := newFixture(t, s)
			twice.enterTwice(role, now)
			if diff := cmp.Diff(want, refusedForms(twice.inLive(), int64(hook.ID), data)); diff != "" {
				t.Errorf("%s with a second factor is refused: %s", role, diff)
			}
		}
		administrator := newFixture(t, s)
		administrator.enterTwice(operators.Administrator, now)
		if diff := cmp.Diff(set(), refusedForms(administrator.inLive(), int64(hook.ID), data)); diff != "" {
			t.Errorf("an administrator is refused: %s", diff)
		}
	})
}

func TestLiveDeliveriesAreShownOnRecord(t *testing.T) {
	now := newClock()
	servicetest.Each(t, servicetest.Options{Now: now.now}, func(t *testing.T, s *servicetest.Instance) {
		plain := newFixture(t, s)
		live := plain.inLive()
		hook, data := plantLive(t, live)
		page := live.dataPath(int64(hook.ID), data)
		for _, role := range []operators.Role{operators.Viewer, operators.Administrator} {
			once := newFixture(t, s)
			once.enter(role)
			if body := once.get(page).body; strings.Contains(body, "Mustermann") || !strings.Contains(body, "(hidden)") || strings.Contains(body, "Show payload") {
				t.Errorf("%s with a password alone sees %s", role, body)
			}
		}
		twice := newFixture(t, s)
		twice.enterTwice(operators.Acting, now)
		if body := twice.get(page).body; strings.Contains(body, "Mustermann") || !strings.Contains(body, "Show payload") {
			t.Errorf("unasked: %s", body)
		}
		wantActs(t, live)
		shown := twice.submit(page, page+"/reveal").body
		if strings.Count(shown, "Mustermann") != 3 {
			t.Errorf("asked: %s", shown)
		}
		wantActs(t, live, fmt.Sprint("look at personal data webhook data ", data))
		if strings.Contains(s.Logs.String(), "Mustermann") {
			t.Error("the log has the name")
		}
	})
}

func TestWebhookListsTurnPages(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		to := newReceiver(t, 500, "")
		var first int64
		for i := range 51 {
			id := d.register("PAYMENT_STATE_UPDATED", to.URL, nil)
			if i == 0 {
				first = id
			}
		}
		for range 51 {
			d.OK(d.Call("POST", fmt.Sprintf("/webhooks/%d/test", first), d.ConfigToken, map[string]any{}))
		}
		data := number(t, d.deliveries(first)[0]["id"])
		for range 10 {
			d.OK(d.Call("POST", fmt.Sprintf("/webhooks/%d/data/%d/resend", first, data), d.ConfigToken, nil))
		}
		rows := func(a answer) int { return strings.Count(a.body, `<tr><th scope="row"`) }
		for name, list := range map[string]struct {
			path string
			size int
		}{
			"webhooks": {d.webhooksPath(""), 50}, "deliveries": {d.webhookPath(first), 50}, "filtered": {d.webhookPath(first) + "?state=dropped", 50},
			"requests": {d.dataPath(first, data), 10},
		} {
			base, _, _ := strings.Cut(list.path, "?")
			at := func(link string) string {
				_, query, _ := strings.Cut(link, "?")
				return base + "?" + query
			}
			one := d.get(list.path)
			two := d.get(at(link(t, one, "next")))
			if rows(one) != list.size || rows(two) != 1 || strings.Contains(one.body, `rel="prev"`) || strings.Contains(two.body, `rel="next"`) {
				t.Errorf("%s: %d and %d rows", name, rows(one), rows(two))
			}
			if again := d.get(at(link(t, two, "prev"))); rows(again) != list.size {
				t.Errorf("%s: %d rows on the way back", name, rows(again))
			}
		}
		for query, want := range map[string]int{"state=delivered": 0, "state=pending": 0, "first=2020-01-01&last=2020-01-02": 0, "first=2020-01-01": 50} {
			if a := d.get(d.webhookPath(first) + "?" + query); a.status != 200 || rows(a) != want {
				t.Errorf("%s: %d, %d rows", query, a.status, rows(a))
			}
		}
		for query, want := range map[string]int{"state=lost": 422, "first=x": 422, "first=2020-01-02&last=2020-01-01": 422, "after=1": 200, "after=x-y": 200} {
			if a := d.get(d.webhookPath(first) + "?" + query); a.status != want {
				t.Errorf("%s: %d", query, a.status)
			}
		}
	})
}

func TestUnknownWebhookAddresses(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		for _, path := range []string{"/999999", "/999999/edit", "/999999/test", "/999999/data/1", "/auth/999999", "/auth/999999/edit", "/auths", "/x"} {
			if a := d.get(d.webhooksPath(path)); a.status != 404 {
				t.Errorf("%s: %d", path, a.status)
			}
		}
		other := d.register("USER_CREATED", "https://shop.example/", nil)
		if a := d.get(d.inLive().webhookPath(other)); a.status != 404 {
			t.Errorf("a webhook of another domain: %d", a.status)
		}
		if a := d.get(d.dataPath(other, 1)); a.status != 404 {
			t.Errorf("a delivery that is not: %d", a.status)
		}
	})
}
