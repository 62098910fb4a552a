package reference_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// maxWeight limits the bytes of a compressed page together with its assets.
const maxWeight = 100_000

var (
	links  = regexp.MustCompile(`href="(/docs[^"#]*)(?:#([^"]*))?"`)
	assets = regexp.MustCompile(`(?:href|src)="(/assets/[^"]*)"`)
)

func read(t *testing.T, address string, status int) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status {
		t.Errorf("%s: %d, want %d", address, answer.StatusCode, status)
	}
	return string(body)
}

func compressed(t *testing.T, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	size, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s: sent as %q, %v", address, answer.Header.Get("Content-Encoding"), err)
	}
	return int(size)
}

// TestEveryLinkLeads follows the links through all pages. Each page and each anchor must exist.
func TestEveryLinkLeads(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	read := func(path string) string { return read(t, s.Origin+path, http.StatusOK) }
	bodies := map[string]string{}
	weights := map[string]int{}
	waiting := []string{"/docs"}
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		if bodies[path] != "" {
			continue
		}
		bodies[path] = read(path)
		weight := compressed(t, s.Origin+path)
		for _, found := range assets.FindAllStringSubmatch(bodies[path], -1) {
			if weights[found[1]] == 0 {
				weights[found[1]] = len(read(found[1]))
			}
			weight += weights[found[1]]
		}
		if weight > maxWeight {
			t.Errorf("%s weighs %d bytes", path, weight)
		}
		for _, link := range links.FindAllStringSubmatch(bodies[path], -1) {
			waiting = append(waiting, link[1])
		}
	}
	for path, body := range bodies {
		for _, link := range links.FindAllStringSubmatch(body, -1) {
			if link[2] != "" && !strings.Contains(bodies[link[1]], `id="`+link[2]+`"`) {
				t.Errorf("%s leads to %s#%s, which is not there", path, link[1], link[2])
			}
		}
	}
	if len(bodies) < 200 {
		t.Errorf("%d pages, want one for each object and more", len(bodies))
	}
}

func TestEveryCallIsDescribed(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	first := read(t, s.Origin+"/docs", http.StatusOK)
	all := first
	for _, link := range links.FindAllStringSubmatch(first, -1) {
		if link[2] == "" && link[1] != "/docs" {
			all += read(t, s.Origin+link[1], http.StatusOK)
		}
	}
	var document struct {
		Paths map[string]map[string]struct{ Summary string }
	}
	s.JSON(s.OK(s.Call("GET", "/openapi.json", "", nil)), &document)
	all = html.UnescapeString(all)
	for path, methods := range document.Paths {
		if !strings.Contains(all, "<code>"+path+"</code>") {
			t.Errorf("no page tells of %s", path)
		}
		for method, operation := range methods {
			if !strings.Contains(all, operation.Summary) {
				t.Errorf("no page tells of %s %s: %s", method, path, operation.Summary)
			}
		}
	}
}

// TestCallsHaveExamples checks that examples are in three languages and contain ids of this
// sandbox.
func TestCallsHaveExamples(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	id := s.Create(s.Token("payments:admin"), servicetest.Draft())
	body := html.UnescapeString(read(t, s.Origin+"/docs/payments", http.StatusOK))
	for _, want := range []string{
		fmt.Sprintf("curl '%s/payments/%d'", s.Base, id), "http.NewRequest(\"GET\"", "await fetch(", "<code>payments:admin</code>", "The message names the field",
		`data-method="POST" data-path="/payments/{paymentId}"`, fmt.Sprintf(`data-id="paymentId" value="%d"`, id), "lists are cut to one item",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the chapter does not have %s", want)
		}
	}
	if first := read(t, s.Origin+"/docs", http.StatusOK); strings.Contains(first, "Other calls") || strings.Index(first, "<p>Get tokens</p>") > strings.Index(first, "<p>Take payments</p>") {
		t.Error("a chapter has no task, or the tasks are not in their order")
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	for _, path := range []string{"/docs/nothing", "/docs/objects", "/docs/objects/Nothing", "/docs/payments/more", "/docs/objects/%3Cb%3E", "/docs//"} {
		status := http.StatusNotFound
		if path == "/docs//" {
			status = http.StatusOK
		}
		if body := read(t, s.Origin+path, status); strings.Contains(body, "<b>") {
			t.Errorf("%s: shows what was asked for", path)
		}
	}
	answer, err := http.Post(s.Origin+"/docs", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", answer.StatusCode, answer.Header.Get("Allow"))
	}
}

func TestReferenceInABrowser(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	for name, width := range map[string]int64{"desktop": 1280, "phone": 390} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := servicetest.Browser(t, width, 900)
			says := servicetest.Listen(ctx, t)
			for _, page := range []string{"", "/payments", "/objects/Payment", "/objects/ErrorBody", "/guides/quick-start", "/guides/commands", "/guides/console"} {
				if err := chromedp.Do(ctx, servicetest.Navigate(s.Origin+"/docs"+page)); err != nil {
					t.Fatal(err)
				}
				servicetest.Inspect(ctx, t, "reference-"+name+strings.ReplaceAll(page, "/", "-"))
			}
			says.Silent(t)
		})
	}
}

// TestTheFirstPage checks that only browsers get the first page.
func TestTheFirstPage(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	for accept, want := range map[string]struct {
		status int
		kind   string
	}{
		"text/html,application/xhtml+xml": {http.StatusOK, "text/html; charset=utf-8"},
		"application/json":                {http.StatusNotFound, "application/json"},
		"*/*":                             {http.StatusNotFound, "application/json"},
		"":                                {http.StatusNotFound, "application/json"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Origin+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want.status || answer.Header.Get("Content-Type") != want.kind {
			t.Errorf("who accepts %q gets %d, %s", accept, answer.StatusCode, answer.Header.Get("Content-Type"))
		}
	}
	for name, width := range map[string]int64{"desktop": 1280, "phone": 390} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := servicetest.Browser(t, width, 900)
			says := servicetest.Listen(ctx, t)
			if err := chromedp.Do(ctx, servicetest.Navigate(s.Origin+"/"), servicetest.Shown(`a[href="/docs"]`)); err != nil {
				t.Fatal(err)
			}
			servicetest.Inspect(ctx, t, "first-page-"+name)
			says.Silent(t)
			if err := chromedp.Do(ctx, servicetest.Follow(`a[href$="/simulation/scenarios"]`), servicetest.Shown(`#password`)); err != nil {
				t.Errorf("the link to the scenarios does not lead to the sign-in: %v", err)
			}
		})
	}
}

// TestGuidesWithoutPictures checks that guides omit pictures, and the blocks that announce
// pictures.
func TestGuidesWithoutPictures(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	for name, left := range map[string][]string{
		"quick-start": {"The payer checks the payment", "(here a simulated bank):", "what needs attention:"},
		"console":     {"Home of a domain by day", "<h3 id=\"home-of-a-domain\""},
	} {
		body := read(t, s.Origin+"/docs/guides/"+name, http.StatusOK)
		for _, text := range left {
			if strings.Contains(body, text) {
				t.Errorf("the guide %s has %q", name, text)
			}
		}
	}
	if body := read(t, s.Origin+"/docs/guides/console", http.StatusOK); !strings.Contains(body, "<h3 id=\"with-an-identity-provider\"") {
		t.Error("a heading without pictures is left out")
	}
}
