package console_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

// fixture is a service and a browser without scripts.
type fixture struct {
	*servicetest.Instance
	t       *testing.T
	browser *http.Client
}

func each(t *testing.T, run func(t *testing.T, d *fixture)) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) { run(t, newFixture(t, s)) })
}

func newFixture(t *testing.T, s *servicetest.Instance) *fixture {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &fixture{Instance: s, t: t, browser: &http.Client{
		Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type answer struct {
	status         int
	location, body string
	header         http.Header
}

func (d *fixture) get(path string) answer {
	d.t.Helper()
	return d.send(http.MethodGet, path, "", nil)
}

// post sends a form. The argument site is the value of the header Sec-Fetch-Site.
func (d *fixture) post(path, site string, form url.Values) answer {
	d.t.Helper()
	return d.send(http.MethodPost, path, site, form)
}

func (d *fixture) send(method, path, site string, form url.Values) answer {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), method, d.Origin+path, strings.NewReader(form.Encode()))
	must(d.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if site != "" {
		request.Header.Set("Sec-Fetch-Site", site)
	}
	return d.do(request)
}

func (d *fixture) do(request *http.Request) answer {
	d.t.Helper()
	response, err := d.browser.Do(request)
	must(d.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(d.t, err)
	checkMarked(d.t, request.URL.Path, string(body))
	return answer{response.StatusCode, response.Header.Get("Location"), string(body), response.Header}
}

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (d *fixture) token(path string) string {
	d.t.Helper()
	found := formToken.FindStringSubmatch(d.get(path).body)
	if found == nil {
		d.t.Fatalf("%s has no form", path)
	}
	return found[1]
}

func (d *fixture) submit(page, to string, values ...string) answer {
	d.t.Helper()
	form := url.Values{"csrf": {d.token(page)}}
	for i := 0; i+1 < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return d.post(to, "same-origin", form)
}

func (d *fixture) enter(role operators.Role) (operatorstore.Operator, string) {
	d.t.Helper()
	o, password := d.operator("some-"+string(role), role)
	d.signIn(o.Name, password)
	return o, password
}

// operator stores an operator like Operators.Create, but with a hash that takes little time. Hashes
// with the usual parameters took a quarter of the processor time of these tests.
func (d *fixture) operator(name string, role operators.Role) (operatorstore.Operator, string) {
	d.t.Helper()
	password, salt := rand.Text(), []byte("the salt")
	text := base64.RawStdEncoding.EncodeToString
	hash := "$argon2id$v=19$m=8,t=1,p=1$" + text(salt) + "$" + text(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32))
	o := operatorstore.Operator{Name: name, Role: string(role), Password: hash, Created: time.Now()}
	must(d.t, d.DB.Write(context.Background(), func(tx *store.Tx) error { return operatorstore.In(tx).CreateOperator(&o) }))
	return o, password
}

func (d *fixture) signIn(name, password string) {
	d.t.Helper()
	a := d.submit("/console/sign-in", "/console/sign-in", "name", name, "password", password)
	if a.status != http.StatusSeeOther || a.location != "/console/" {
		d.t.Fatalf("signing in: %d %s %s", a.status, a.location, a.body)
	}
}

func (d *fixture) domainPath(more string) string {
	return "/console/domains/" + strconv.FormatInt(int64(d.Domain.ID), 10) + more
}

func (d *fixture) paymentPath(id int64) string {
	return d.domainPath("/payments/" + strconv.FormatInt(id, 10))
}

// acts lists the acts of operators in the domain, oldest first.
func (d *fixture) acts() []string {
	d.t.Helper()
	all, err := operatorstore.From(d.DB).Audits(d.t.Context(), operatorstore.AuditFilter{Domain: d.Domain.ID}, store.Window{Limit: 100})
	must(d.t, err)
	var acts []string
	for _, a := range all {
		if a.Operator == 0 && a.Session == 0 && a.Request != "" {
			continue // a request of the test to the API
		}
		acts = append([]string{a.Act + " " + a.Subject + " " + strconv.FormatInt(a.SubjectID, 10)}, acts...)
		if a.Operator == 0 || a.Session == 0 || a.Request == "" {
			d.t.Errorf("incomplete: %+v", a)
		}
	}
	return acts
}

func (d *fixture) state(id int64) string {
	d.t.Helper()
	p, err := d.DB.Payment(d.t.Context(), d.Domain.ID, passerelle.PaymentID(id), false)
	must(d.t, err)
	return string(p.State)
}
