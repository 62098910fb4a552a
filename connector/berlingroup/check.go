package berlingroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
	"passerelle/connector/berlingroup/roles"
)

// Finding is the result of one check of a bank.
type Finding struct {
	// Check names the check, and Detail contains the result or the remedy.
	Check, Detail string
	Wrong         bool
}

// Check calls the bank and reports the results. It checks our certificates and their roles, the
// IBAN prefixes, the clocks, our address, and the metadata of the authorisation server. It also
// checks the bank's response to a request for an unknown resource. It moves no money and creates
// nothing at the bank.
func (b *Bank) Check(ctx context.Context) []Finding {
	findings := append(b.CheckCertificates(b.now()), b.checkRanges()...)
	findings = append(findings, b.checkInterface(ctx)...)
	findings = append(findings, b.checkAddress(ctx)...)
	if b.file.OAuth == nil {
		return findings
	}
	server := Finding{Check: "authorisation server", Detail: "its metadata contains the required addresses"}
	if _, err := b.metadata(ctx); err != nil {
		server.Detail, server.Wrong = err.Error(), true
	}
	return append(findings, server)
}

// CheckCertificates reports, without calling the bank, how long the operator's certificates are
// valid and whether they have the roles that the profile needs.
func (b *Bank) CheckCertificates(now time.Time) []Finding {
	var findings []Finding
	for _, c := range b.Certificates() {
		f := Finding{Check: c.Field, Detail: "valid until " + c.Until.UTC().Format(time.DateOnly)}
		invalid := c.invalid(now)
		switch {
		case invalid != "":
			f.Detail, f.Wrong = invalid, true
		case now.Add(connector.ExpiryNotice).After(c.Until):
			f.Detail, f.Wrong = f.Detail+": renew it", true
		case len(c.Roles) > 0:
			f.Detail += ", with the roles " + strings.Join(c.Roles, ", ")
		case !c.Qualified:
			f.Detail += ", without QCStatements: only sandboxes accept such a test certificate"
		}
		findings = append(findings, f)
		if right := kinds[c.Field]; c.Kind != "" && c.Kind != right {
			findings = append(findings, Finding{c.Field, "is a " + c.Kind + ": the bank requires a " + right + " here", true})
		}
		if missing := b.missing(c); len(missing) > 0 {
			findings = append(findings, Finding{c.Field, "lacks the roles that the profile needs: " + strings.Join(missing, ", "), true})
		}
	}
	return findings
}

// kinds maps the fields of a bank file to the kind of certificate that the bank requires.
var kinds = map[string]string{"tls.certificate": roles.Web, "signature.certificate": roles.Seal}

// checkRanges reports to which payers the service offers the bank, and which of the bank's
// countries have no prefix. An operator may leave out a prefix on purpose, so no finding is
// marked as wrong.
func (b *Bank) checkRanges() []Finding {
	prefixes := b.file.IBANPrefix
	if len(prefixes) == 0 {
		return nil
	}
	detail := "payers with an account at another bank are not offered this bank, which has " + strings.Join(prefixes, ", ")
	bare := slices.DeleteFunc(slices.Clone(b.file.Countries), func(country string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(prefix, country) })
	})
	if len(bare) > 0 {
		detail += "; without a prefix of " + strings.Join(bare, ", ") + ": list all prefixes of the bank, or none"
	}
	return []Finding{{Check: "iban_prefixes", Detail: detail}}
}

// missing returns the roles that a certificate with QCStatements lacks. For a certificate without
// QCStatements, such as a test certificate, it returns no roles, because only the bank can decide.
func (b *Bank) missing(c Certificate) []string {
	var needed []string
	if b.file.Profile.Payments != nil {
		needed = append(needed, RoleInitiation)
	}
	if b.file.Profile.Accounts != nil {
		needed = append(needed, RoleInformation)
	}
	return slices.DeleteFunc(needed, func(role string) bool { return !c.Qualified || slices.Contains(c.Roles, role) })
}

// checkInterface asks for the status of an unknown resource. A bank that responds "unknown
// resource" has accepted our certificate and our signature. The response also shows its clock.
func (b *Bank) checkInterface(ctx context.Context) []Finding {
	r := request{call: "check", method: http.MethodGet, path: "/v1/consents/" + newID() + "/status"}
	if pay := b.file.Profile.Payments; pay != nil {
		r.path = "/v1/" + singleService + "/" + pay.Single[0] + "/" + newID() + "/status"
	}
	a, err := b.call(ctx, r)
	if err != nil {
		return []Finding{{"interface", err.Error(), true}}
	}
	findings := []Finding{b.judgeAnswer(r, a)}
	if wrong := b.skew(a); wrong != "" {
		findings = append(findings, Finding{"clock", strings.TrimPrefix(wrong, "; ") + ": check the clocks", true})
	}
	return findings
}

// checkAddress reports the address that the service sends in orders and consents when the user's
// address is unknown. A private address is wrong unless the bank's address is private or a loopback
// address. If this address depends on the bank's name, and the name cannot be resolved, it reports
// nothing, because checkInterface reports the name.
func (b *Bank) checkAddress(ctx context.Context) []Finding {
	own, err := b.route.Own(ctx)
	if err != nil {
		return nil
	}
	ends, err := b.route.Ends(ctx)
	if err == nil && own.IsPrivate() && !ends.Bank.IsPrivate() && !ends.Bank.IsLoopback() {
		return []Finding{{"own address", own.String() + " is private: set address.own to the address that the bank sees", true}}
	}
	return []Finding{{Check: "own address", Detail: own.String() + " stands for users whose address is unknown"}}
}

// judgeAnswer interprets the response to the request for an unknown resource.
func (b *Bank) judgeAnswer(r request, a answer) Finding {
	judged := b.judge(r, a)
	unknown := slices.ContainsFunc(judged.all, func(m codes.Message) bool { return m.Code == "RESOURCE_UNKNOWN" || m.Code == "CONSENT_UNKNOWN" })
	if unknown {
		return Finding{Check: "interface", Detail: "it responds, and accepts our certificate and signature"}
	}
	return Finding{"interface", judged.remedied(), true}
}

// metadataCall is the name of the call for the authorisation server's metadata.
const metadataCall = "metadata"

// metadata describes an authorisation server (RFC 8414). Secured has the addresses for clients that
// authenticate with a certificate (RFC 8705, section 5), if the server has others for them.
type metadata struct {
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
	Secured       struct {
		Token string `json:"token_endpoint"`
	} `json:"mtls_endpoint_aliases"`
}

// metadata reads the metadata of the authorisation server that the bank file names. It does
// not follow links to other servers in the bank's responses.
func (b *Bank) metadata(ctx context.Context) (metadata, error) {
	var m metadata
	r := request{call: metadataCall, method: http.MethodGet, address: b.file.OAuth.Metadata}
	a, err := b.call(ctx, r)
	if err != nil {
		return m, err
	}
	if !a.succeeded() {
		return m, b.fault(r, errNoMetadata, fmt.Sprintf("it returns status %d: check oauth.metadata", a.status))
	}
	if err := b.decode(r, a, &m); err != nil {
		return m, err
	}
	m.Token = cmp.Or(m.Secured.Token, m.Token)
	if u, err := url.Parse(m.Token); err != nil || u.Scheme != "https" || u.Host == "" || !b.page(m.Authorization) {
		return m, b.fault(r, errNoMetadata, "its metadata lacks an https address for authorization_endpoint or token_endpoint")
	}
	return m, nil
}

var errNoMetadata = errors.New("no usable metadata")

// page reports whether browsers may be sent to an address of the bank: https addresses and, in a
// sandbox, http addresses on this machine.
func (b *Bank) page(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	local := u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost"
	return u.Scheme == "https" || u.Scheme == "http" && b.file.Sandbox && local
}
