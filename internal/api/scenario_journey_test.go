package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// step is one call in a sequence. Members of its response replace placeholders in later calls.
type step struct {
	method, path, token, body string
	takes                     map[string]string
}

// journeys lists sequences of calls that clients make.
var journeys = map[string][]step{
	"payment": {
		{method: "POST", path: "/payments", token: "admin", body: minimalDraft, takes: map[string]string{"payment": "id"}},
		{method: "GET", path: "/payments/{payment}?expand=timeline,evidence", token: "admin"},
		{method: "POST", path: "/payments/{payment}/scopedtoken", token: "admin", body: `{"scope":"payments:validate"}`, takes: map[string]string{"own": "token"}},
		{method: "GET", path: "/payments/{payment}/incompatibilities", token: "admin"},
		{method: "GET", path: "/connectors?id_payment={payment}&expand=payment_fields&country_codes=FR&limit=3", token: "admin"},
		{method: "POST", path: "/payments/{payment}", token: "admin", body: `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true,"website":"shop one","fields":{"website":"shop one"}}`},
		{method: "GET", path: "/payments?state=validating&reference_id=R&website=shop&label=Inv&payer_end=1234&bank_payment_id=x&min_amount=1&order_by=amount&limit=2", token: "admin"},
		{method: "POST", path: "/payments/{payment}", token: "admin", body: cancellation},
		{method: "POST", path: "/sandbox/payments/{payment}/simulate", token: "config", body: `{"state":"rejected","error_code":"insufficientFunds"}`},
		{method: "GET", path: "/payments/{payment}", token: "admin"},
	},
	"bulk": {
		{method: "POST", path: "/payments", token: "admin", body: bulkDraft, takes: map[string]string{"payment": "id"}},
		{method: "PUT", path: "/payments/{payment}", token: "admin", body: `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":false,"payer":{"scheme_name":"iban","identification":"DE89370400440532013000","label":"Payer","issuer":"COBADEFF"}}`},
		{method: "GET", path: "/payments/{payment}?show_sensitive", token: "admin"},
		{method: "POST", path: "/payments/{payment}", token: "admin", body: validation},
		{method: "GET", path: "/payments?filter=validate_date&min_date=2026-11&max_date=2027&expand=transitions", token: "admin"},
	},
	"person": {
		{method: "POST", path: "/auth/init", body: `{"client_id":{client},"client_secret":"{secret}"}`, takes: map[string]string{"token": "auth_token", "user": "id_user"}},
		{method: "POST", path: "/users/{user}/connections", token: "{token}", body: connecting, takes: map[string]string{"connection": "id"}},
		{method: "GET", path: "/users/me/connections?expand=all_accounts[connection[connector]],sources", token: "{token}"},
		{method: "POST", path: "/users/me/connections/{connection}", token: "{token}", body: `{"login":"one","password":"1234","active":false}`},
		{method: "GET", path: "/users/me/accounts?all&limit=5", token: "{token}"},
		{method: "PUT", path: "/users/me/accounts?all", token: "{token}", body: `{"name":"Mine","display":true,"bookmarked":1,"usage":"PRIV"}`},
		{method: "POST", path: "/users/me/config", token: "{token}", body: `{"language":"fr"}`},
		{method: "POST", path: "/users/me/categories", token: "{token}", body: `{"name":"Cats","id_parent_category":20,"color":"a1B2c3","income":false}`, takes: map[string]string{"category": "id"}},
		{method: "PUT", path: "/users/me/categories/{category}", token: "{token}", body: `{"name":"Dogs"}`},
		{method: "GET", path: "/users/me/subscriptions?all&expand=connection", token: "{token}"},
		{method: "GET", path: "/connections/{connection}/logs?min_date=2026&limit=2", token: "{token}"},
		{method: "GET", path: "/users/me/transactions?limit=2&search=a&wording=b&min_value=-1&value=1.5", token: "{token}"},
		{method: "DELETE", path: "/users/me/connections/{connection}", token: "{token}"},
		{method: "DELETE", path: "/users/me", token: "{token}"},
	},
	"receiver": {
		{method: "POST", path: "/webhooks/auth", token: "config", body: `{"type":"hmac_signature","name":"signer {n}"}`, takes: map[string]string{"provider": "id"}},
		{method: "POST", path: "/webhooks", token: "config", body: `{"event":"USER_SYNCED","url":"https://client.example/","id_auth":"{provider}"}`, takes: map[string]string{"webhook": "id"}},
		{method: "GET", path: "/webhooks/{webhook}?expand=webhook_event", token: "config"},
		{method: "PUT", path: "/webhooks/{webhook}", token: "config", body: `{"url":"https://client.example/two","disabled":true}`},
		{method: "GET", path: "/webhooks/{webhook}/data?state=pending&min_date=2026&limit=2", token: "config"},
		{method: "POST", path: "/webhooks/{webhook}/recover", token: "config", body: `{"since":"2026-11-20 00:00:00"}`},
		{method: "DELETE", path: "/webhooks/{webhook}", token: "config"},
		{method: "DELETE", path: "/webhooks/auth/{provider}", token: "config"},
	},
	"application": {
		{method: "POST", path: "/clients", token: "config", body: `{"name":"shop","description":"d","primary_color":"#155e63","redirect_uris":["https://shop.example/back"]}`, takes: map[string]string{"made": "id"}},
		{method: "PUT", path: "/clients/{made}", token: "config", body: `{"name":"shop two","information":"i"}`},
		{method: "POST", path: "/auth/token", body: `{"client_id":"{client}","client_secret":"{secret}","scope":"payments:read-only"}`, takes: map[string]string{"service": "token"}},
		{method: "GET", path: "/payments?limit=1", token: "{service}"},
		{method: "DELETE", path: "/auth/token", token: "{service}"},
		{method: "DELETE", path: "/clients/{made}", token: "config"},
	},
}

// hostileValues lists replacements for a value, as JSON. Null is not among them, because null means
// no value.
var hostileValues = func() []string {
	values := []string{
		`true`, `0`, `-1`, `1e400`, `-0.0`, `9223372036854775808`, `1.0000000000000000000000001`, `[]`, `{}`, `[[[[]]]]`, `{"a":{"b":{"c":1}}}`,
		`""`, `" "`, `"\u0000"`, `"a\u0000b"`, "\"\xff\xfe\"", `"\ud800"`, `"\u202e\u200b"`, `"😀"`, `"e\u0301"`, `"'; DROP TABLE payment; --"`, `"%00%ff"`, `"../../etc/passwd"`,
		`"{{.}}"`, `"${jndi:ldap://x}"`, `"<script>alert(1)</script>"`, `"=cmd|1"`, `"0x7f"`, `"NaN"`, `"-99999999999999999999999999"`, `"2026-02-30"`, `"0000-00-00 00:00:00"`,
		`"http://127.0.0.1:1/"`, `"javascript:alert(1)"`, `"https://client.example:99999/"`, `"https://a@b/"`, `"\r\nSet-Cookie: a=b"`, `"me"`, `"null"`,
	}
	return append(values, strings.Repeat("[", 40)+strings.Repeat("]", 40), strings.Repeat("9", 5000))
}()

// longValues lists long texts. The texts are random, because databases would compress a pattern.
var longValues = func() (values []string) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{141, 256, 1001, 2049, 4097, 70_000, 400_000} {
		for _, letters := range []string{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "éèàùçôîâßñœ漢字😀"} {
			runes, text := []rune(letters), make([]rune, length)
			for i := range text {
				text[i] = runes[random.IntN(len(runes))]
			}
			values = append(values, `"`+string(text)+`"`)
		}
	}
	return values
}()

type journeyRunner struct {
	*fixture
	random *rand.Rand
	n      int
}

func (l step) positions() (all []place) {
	path, query, _ := strings.Cut(l.path, "?")
	for i, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "{") || part == "me" {
			all = append(all, place{"path", i})
		}
	}
	for parameter := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(parameter, "="); name != "" {
			all = append(all, place{"query", name})
		}
	}
	var body any
	if l.body != "" {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(l.body, "{client}", "1")), &body); err != nil {
			panic("a journey has a body that is none: " + l.body)
		}
	}
	for _, leaf := range leaves(body, nil) {
		all = append(all, append(place{"body"}, leaf...))
	}
	return all
}

// leaves lists the positions of all members and items, including objects and lists.
func leaves(value any, at place) (all []place) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			own := append(slices.Clone(at), key)
			all = append(append(all, own), leaves(value[key], own)...)
		}
	case []any:
		for i := range value {
			own := append(slices.Clone(at), i)
			all = append(append(all, own), leaves(value[i], own)...)
		}
	}
	return all
}

func (r *journeyRunner) inject(t *testing.T, a *ask, position place, value string) {
	t.Helper()
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		text = value
	}
	if position[0] != "body" && len(text) > 4000 {
		text = strings.ToValidUTF8(text[:4000], "")
	}
	path, query, _ := strings.Cut(a.path, "?")
	switch position[0] {
	case "path":
		parts := strings.Split(path, "/")
		parts[position[1].(int)] = url.PathEscape(text)
		a.path = strings.Join(parts, "/")
	case "query":
		values, _ := url.ParseQuery(query)
		values.Set(position[1].(string), text)
		a.path = path + "?" + values.Encode()
		return
	case "body":
		var body any
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		const mark = "here comes the hostile value"
		raw, err := json.Marshal(put(body, position[1:], mark))
		if err != nil {
			t.Fatal(err)
		}
		a.body = strings.Replace(string(raw), strconv.Quote(mark), value, 1)
	}
	if query != "" {
		a.path = strings.SplitN(a.path, "?", 2)[0] + "?" + query
	}
}

// run makes one sequence of calls, with a hostile value in one call.
func (r *journeyRunner) run(t *testing.T) {
	t.Helper()
	r.n++
	name := slices.Sorted(maps.Keys(journeys))[r.random.IntN(len(journeys))]
	steps := journeys[name]
	chosen := r.random.IntN(len(steps))
	for len(steps[chosen].positions()) == 0 {
		chosen = r.random.IntN(len(steps))
	}
	positions := steps[chosen].positions()
	values := [][]string{hostileValues, longValues}[r.random.IntN(2)]
	position, value := positions[r.random.IntN(len(positions))], values[r.random.IntN(len(values))]
	main := r.domainOf("")
	known := map[string]string{"client": fmt.Sprint(int64(main.client.ID)), "secret": main.secret, "n": fmt.Sprint(r.n)}
	for i, l := range steps {
		a := ask{method: l.method, path: filled(l.path, known), body: filled(l.body, known), token: l.token}
		if strings.HasPrefix(l.token, "{") {
			a.token, a.credential = "", filled(l.token, known)
		}
		if strings.Contains(a.path+a.credential, "{") {
			continue // the service refused a call whose response this call needs
		}
		if i == chosen {
			r.inject(t, &a, position, value)
		}
		got := r.do(t, a)
		if t.Failed() {
			t.Fatalf("journey %d, %s, call %d with %.80q at %v", r.n, name, i, value, position)
		}
		var answer map[string]any
		if got.status >= 300 || json.Unmarshal(got.body, &answer) != nil {
			continue
		}
		for hole, member := range l.takes {
			known[hole] = fmt.Sprint(answer[member])
			if number, is := answer[member].(float64); is {
				known[hole] = strconv.FormatInt(int64(number), 10)
			}
		}
	}
}

func filled(text string, known map[string]string) string {
	for hole, value := range known {
		text = strings.ReplaceAll(text, "{"+hole+"}", value)
	}
	return text
}

// TestHostileJourneys makes sequences of calls, with one hostile value in each. No response may be
// a server error, and stored data must stay consistent. PASSERELLE_TEST_JOURNEYS is the number of
// sequences on each database.
func TestHostileJourneys(t *testing.T) {
	count := 150
	if text := os.Getenv("PASSERELLE_TEST_JOURNEYS"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		must(t, err)
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("PASSERELLE_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	onEachFixture(t, func(t *testing.T, s *fixture) {
		t.Logf("PASSERELLE_TEST_SEED=%d", seed)
		s.configure(t, "", map[string]string{"payment.periodic.enabled": "1"})
		r := &journeyRunner{fixture: s, random: rand.New(rand.NewPCG(seed, 1))}
		for range count {
			r.run(t)
		}
		breaches, err := s.DB.CheckInvariants(t.Context(), 0, time.Time{})
		must(t, err)
		for _, breach := range breaches {
			t.Errorf("after %d journeys: %+v", count, breach)
		}
	})
}
