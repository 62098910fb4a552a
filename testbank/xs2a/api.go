package xs2a

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// maxBody limits the size of a body. The largest bulk payment is smaller.
const maxBody = 1 << 20

// API is the interface of one bank.
type API struct {
	Bank *bank.Bank
	// Base is the address of the API, to which paths that begin with /v1 are appended.
	Base string
	// Under is the path of Base.
	Under string
	// Pages is the address of the bank's pages.
	Pages string
	// Metadata is the address of the metadata of the authorisation server.
	Metadata string
	// Authorities are the authorities that may issue certificates to third parties.
	Authorities *x509.CertPool
	// SlowAnswer is how long a slow response takes.
	SlowAnswer time.Duration
	// Clock is the machine's clock. The bank checks certificates and signatures against this clock.
	Clock func() time.Time
	Log   *slog.Logger
}

// request is a call that has passed the checks for all calls.
type request struct {
	*http.Request
	caller bank.Caller
	body   []byte
	// fault is the fault that the tester injected for the response.
	fault bank.Injected
}

// answer is the response to a call.
type answer struct {
	status   int
	body     any
	location string
	approach bank.Approach
	// notify means that the bank will send notifications of changes.
	notify bool
	wire   bank.Wire
}

// endpoint handles or refuses a call.
type endpoint func(*API, *request) (answer, error)

type route struct {
	pattern string
	role    eidas.Role
	answer  endpoint
}

// Handler serves the calls of third parties.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.pattern, a.handle(r))
	}
	mux.Handle("/", a.handle(route{role: "", answer: func(_ *API, r *request) (answer, error) { return answer{}, notServed(mux, r) }}))
	return mux
}

// notServed returns the refusal of a call for which there is no endpoint.
func notServed(mux *http.ServeMux, r *request) error {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" {
			return &bank.Refusal{Status: http.StatusMethodNotAllowed, Code: "SERVICE_INVALID", Text: "this path is called with " + method}
		}
	}
	if _, product, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/"); ok && r.Method == http.MethodPost && !strings.Contains(product, "/") {
		return bank.Refuse("PRODUCT_UNKNOWN", "", "the bank does not have this payment service")
	}
	return &bank.Refusal{Status: http.StatusNotFound, Code: "RESOURCE_UNKNOWN", Text: "there is nothing at this path"}
}

func (a *API) handle(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-ID", answeredID(r))
		w.Header().Set("Date", a.Clock().UTC().Format(http.TimeFormat))
		checked, err := a.check(r, route.role)
		if err != nil {
			a.refuse(w, err)
			return
		}
		if fault, met := a.Bank.Faults.Meet(r.Method, r.URL.Path); met {
			checked.fault = fault
			if err := applyFault(r.Context(), fault); err != nil {
				a.refuse(w, err)
				return
			}
		}
		got, err := route.answer(a, checked)
		if err != nil {
			a.refuse(w, err)
			return
		}
		if checked.fault.Wire != "" {
			got.wire = checked.fault.Wire
		}
		a.write(w, r, got)
	})
}

// answeredID returns the request id of the caller, or a new id when the caller sent no valid one.
func answeredID(r *http.Request) string {
	if id := r.Header.Get("X-Request-ID"); uuidPattern.MatchString(id) {
		return id
	}
	var id [16]byte
	rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// applyFault applies a fault that happens before the bank does anything.
func applyFault(ctx context.Context, fault bank.Injected) error {
	switch {
	case fault.Wire == bank.Gone:
		panic(http.ErrAbortHandler)
	case fault.Code != "":
		return bank.Refuse(fault.Code, "", "the tester asked for this refusal")
	case fault.Status != 0:
		return &bank.Refusal{Status: fault.Status}
	}
	return wait(ctx, fault.Wait())
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// check does the checks for all calls: who the caller is, whether the caller may make the call, and
// whether the request is well-formed.
func (a *API) check(r *http.Request, role eidas.Role) (*request, error) {
	certificate, err := a.judge(r, role)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, bank.Refuse("FORMAT_ERROR", "", "the body ended too early")
	}
	checked := &request{Request: r, body: body}
	if err := checkForm(checked); err != nil {
		return nil, err
	}
	if a.Bank.Profile.Signed {
		if err := a.checkSignature(r, body, certificate); err != nil {
			return nil, err
		}
	}
	checked.caller, err = caller(r, eidas.Organization(certificate))
	return checked, err
}

// judge checks the certificate of the connection.
func (a *API) judge(r *http.Request, role eidas.Role) (*x509.Certificate, error) {
	var certificate *x509.Certificate
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		certificate = r.TLS.PeerCertificates[0]
	}
	err := eidas.Judge(certificate, eidas.Web, a.Authorities, a.Clock())
	if err == nil && role != "" {
		err = eidas.HasRole(certificate, role)
	}
	return certificate, refusalOf(err)
}

// faultCodes maps the faults of certificates to codes of the standard.
var faultCodes = map[eidas.Fault]string{
	eidas.Missing: "CERTIFICATE_MISSING", eidas.Expired: "CERTIFICATE_EXPIRED", eidas.Unknown: "CERTIFICATE_INVALID", eidas.NoRole: "ROLE_INVALID",
}

func refusalOf(err error) error {
	var fault eidas.Fault
	if errors.As(err, &fault) {
		return bank.Refuse(faultCodes[fault], "", fault.Error())
	}
	return err
}

func checkForm(r *request) error {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	accept := r.Header.Get("Accept")
	switch {
	case len(r.body) > maxBody:
		return bank.Refuse("FORMAT_ERROR", "", "the body is larger than 1 MiB")
	case !uuidPattern.MatchString(r.Header.Get("X-Request-ID")):
		return bank.Refuse("FORMAT_ERROR", "X-Request-ID", "every request has a UUID as its id")
	case len(r.body) > 0 && !strings.EqualFold(strings.TrimSpace(media), "application/json"):
		return bank.Refuse("UNSUPPORTED_MEDIA_TYPE", "Content-Type", "the bank takes application/json")
	case !accepts(r.Request, "json") && !strings.Contains(accept, "application/*") && !ofReports(r.URL.Path):
		return bank.Refuse("REQUESTED_FORMATS_INVALID", "Accept", "the bank responds with application/json")
	}
	return nil
}

// ofReports reports whether a path leads to reports, which banks offer in several formats.
func ofReports(path string) bool {
	return strings.HasSuffix(path, "/transactions") || strings.HasSuffix(path, "/download")
}

// caller reads the headers about the customer and the preferences.
func caller(r *http.Request, party string) (bank.Caller, error) {
	ip := r.Header.Get("PSU-IP-Address")
	if _, err := netip.ParseAddr(ip); ip != "" && err != nil {
		return bank.Caller{}, bank.Refuse("FORMAT_ERROR", "PSU-IP-Address", "this is not an IP address")
	}
	for _, name := range []string{"TPP-Redirect-URI", "TPP-Nok-Redirect-URI", "TPP-Notification-URI"} {
		if value := r.Header.Get(name); value != "" && !isAddress(value) {
			return bank.Caller{}, bank.Refuse("FORMAT_ERROR", name, "this is not an absolute http(s) address")
		}
	}
	for _, name := range []string{"TPP-Redirect-Preferred", "TPP-Decoupled-Preferred", "TPP-Explicit-Authorisation-Preferred"} {
		if value := r.Header.Get(name); value != "" && value != "true" && value != "false" {
			return bank.Caller{}, bank.Refuse("FORMAT_ERROR", name, "a preference is true or false")
		}
	}
	return bank.Caller{
		Party: party, RequestID: strings.ToLower(r.Header.Get("X-Request-ID")), PSU: r.Header.Get("PSU-ID"), Corporate: r.Header.Get("PSU-Corporate-ID"), Attended: ip != "",
		Prefers: bank.Preferences{
			NoRedirect: r.Header.Get("TPP-Redirect-Preferred") == "false",
			Decoupled:  r.Header.Get("TPP-Decoupled-Preferred") == "true",
			Explicit:   r.Header.Get("TPP-Explicit-Authorisation-Preferred") == "true",
		},
		Return: bank.Return{OK: r.Header.Get("TPP-Redirect-URI"), Nok: r.Header.Get("TPP-Nok-Redirect-URI")},
		Notify: r.Header.Get("TPP-Notification-URI"),
	}, nil
}

func isAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && address.Host != "" && (address.Scheme == "https" || address.Scheme == "http")
}
