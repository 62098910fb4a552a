// Package contract_test checks the service against the requests that known programs of this API
// family send. It also checks those parts of responses that these programs read.
//
// The package owns one row for each fact about these programs. A document outside this repository,
// the fact list, describes these facts by section. The package also owns the shapes of responses,
// as the strictest of these programs declare them. The scenarios of package api check behaviour.
// Package contract_test sends HTTP to a complete service. When a row fails, the error names the
// place in the response that the program could not read.
package contract_test

import (
	"context"
	"encoding/base64"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
)

// row is one fact: a request in exactly the form that a program sends, and the expected response.
type row struct {
	// fact begins with a section of the fact list. The field "by" names the program that sends the
	// request or reads the response, or the document that describes the fact.
	fact, by string
	// call is the method and the address without the host. In the texts of a row, words in braces
	// are names in the fixture.
	call string
	// "as" is the Authorization header, or "" for no header. The words user, config, users,
	// service, temporary, validating and basic are short forms.
	as string
	// kind is the content type of body.
	kind, body string
	status     int
	// shapes are the shapes of the response, one for each reader. Without a shape and a media type,
	// the response must have no body.
	shapes string
	// leads is the beginning of the address to which the response redirects.
	leads string
	// gives is the media type of a response that is a file.
	gives string
	says  []string
}

const (
	asJSON      = "application/json"
	asForm      = "application/x-www-form-urlencoded"
	asMultipart = "multipart/form-data" // the row writes the body like a body of asForm
)

var facts = slices.Concat(
	ruleFacts, openFacts, headerFacts, tokenFacts, authenticationFacts, clientFacts,
	userFacts, connectorFacts, connectionFacts, accountFacts, accountTypeFacts, ownershipFacts, balanceFacts, assetFacts,
	webauthFacts, identityFacts, transactionFacts, aroundFacts, subscriptionFacts, paymentFacts, webhookFacts, configurationFacts, errorFacts, fieldKeyFacts, webviewFacts, linkFacts, conventionFacts,
)

var every = []string{
	accountShapes, authenticationShapes, configurationShapes, connectionShapes, connectorShapes,
	conventionShapes, paymentShapes, aroundShapes, eventShapes, signatureShapes, subscriptionShapes, transactionShapes, userShapes, assetShapes,
}

func ofSection(section string, rows ...row) []row {
	for i := range rows {
		rows[i].fact = section + " " + rows[i].fact
	}
	return rows
}

// TestFacts checks every row. The service starts no loops, so that its responses are the same in
// each run.
func TestFacts(t *testing.T) {
	all := read(t, every...)
	servicetest.Each(t, servicetest.Options{Now: opening, Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		w, found := newFixture(t, s), newSamples(t, s)
		for _, r := range facts {
			t.Run(strings.ReplaceAll(r.fact+" ("+r.by+")", "/", "∕"), func(t *testing.T) { found.take(t, w, r, r.check(t, w, all)) })
		}
		found.takeMore(t, w)
		found.check(t)
	})
}

func (r row) check(t *testing.T, w *fixture, all shapes) servicetest.Answer {
	t.Helper()
	a := w.Do(r.request(t, w))
	if a.Status != r.status {
		t.Fatalf("%s: status %d, want %d: %s", r.call, a.Status, r.status, a.Body)
	}
	if to := w.fill(t, r.leads); !strings.HasPrefix(a.Header.Get("Location"), to) || to == "" && a.Header.Get("Location") != "" {
		t.Errorf("leads to %q, want %q", a.Header.Get("Location"), to)
	}
	if r.shapes == "" && r.gives == "" {
		if len(a.Body) > 0 {
			t.Errorf("a body where none is expected: %s", a.Body)
		}
		return a
	}
	if r.gives != "" {
		if got := a.Header.Get("Content-Type"); got != r.gives || len(a.Body) == 0 {
			t.Errorf("%d bytes of %s, want some of %s", len(a.Body), got, r.gives)
		}
		return a
	}
	if got := a.Header["Content-Type"]; len(got) != 1 || got[0] != asJSON {
		t.Errorf("Content-Type %q, want exactly %s", got, asJSON)
	}
	value := decoded(t, a.Body)
	for kind := range strings.FieldsSeq(r.shapes) {
		for _, fault := range all.fits(kind, kind, value) {
			t.Error(fault)
		}
		if id := a.Header.Get("X-Request-Id"); kind == "Error" && !strings.Contains(string(a.Body), `"request_id":"`+id+`"`) {
			t.Errorf("X-Request-Id is %q: %s", id, a.Body)
		}
	}
	for _, text := range r.says {
		if text = w.fill(t, text); !strings.Contains(string(a.Body), text) {
			t.Errorf("the answer does not say %s: %s", text, a.Body)
		}
	}
	return a
}

func (r row) request(t *testing.T, w *fixture) *http.Request {
	t.Helper()
	method, address, _ := strings.Cut(r.call, " ")
	body, kind := io.Reader(http.NoBody), r.kind
	if text := w.fill(t, r.body); kind == asMultipart {
		body, kind = parts(t, text)
	} else if text != "" {
		body = strings.NewReader(text)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, w.Origin, body)
	if err != nil {
		t.Fatal(err)
	}
	// Opaque leaves the address unchanged.
	request.URL.Opaque = w.fill(t, address)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if credential := w.fill(t, authorization(r.as)); credential != "" {
		request.Header.Set("Authorization", credential)
	}
	return request
}

func authorization(as string) string {
	switch as {
	case "user", "config", "users", "service", "temporary", "validating":
		return "Bearer {" + as + " token}"
	case "basic":
		return "Basic {basic}"
	}
	return as
}

func parts(t testing.TB, text string) (body io.Reader, kind string) {
	t.Helper()
	var b strings.Builder
	writer := multipart.NewWriter(&b)
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if err := writer.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.NewReader(b.String()), writer.FormDataContentType()
}

var thing = regexp.MustCompile(`\{([a-z][a-z ]*)\}`)

// fill replaces each name in braces with its value. For each use of a name that begins with "new",
// it creates another object.
func (w *fixture) fill(t testing.TB, text string) string {
	t.Helper()
	return thing.ReplaceAllStringFunc(text, func(spelled string) string {
		name := spelled[1 : len(spelled)-1]
		known, isKnown := w.things[name]
		if isKnown {
			return known
		}
		value := w.make(t, name)
		if !strings.HasPrefix(name, "new ") {
			w.things[name] = value
		}
		return value
	})
}

func basic(id, secret string) string {
	return base64.StdEncoding.EncodeToString([]byte(id + ":" + secret))
}
