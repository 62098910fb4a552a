package delivery

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"passerelle"
	"passerelle/webhook"
)

// SignedRequest is a received request with a signature to check.
type SignedRequest struct {
	// Provider is the id or name of the provider whose secrets are checked.
	Provider string
	// Method and URL are the method and the URL of the request. Only the path of the URL is signed.
	Method, URL string
	// Date and Signature are the header values. Body is the decompressed body.
	Date, Body, Signature string
}

// SignatureCheck is the result of a signature check.
type SignatureCheck struct {
	Valid bool
	// Reason explains the result in sentences. For a signature that does not match, it names the
	// signer's mistake if Verify recognises the mistake.
	Reason string
}

// Verify checks a signature with the secrets of a provider and explains the result. A signature can
// be valid although receivers refuse its date. The reason then says so. Verify never shows the
// correct signature. It fails with an Invalid error when the request cannot be checked. The error
// names the field.
func (d *Delivery) Verify(ctx context.Context, domain passerelle.Domain, q SignedRequest) (SignatureCheck, error) {
	address, err := url.Parse(q.URL)
	if err != nil || address.Path == "" && address.Host == "" {
		return SignatureCheck{}, passerelle.InvalidField("url", "must be the URL of the webhook, or its path")
	}
	signed, err := time.Parse(webhook.DateFormat, q.Date)
	if err != nil {
		return SignatureCheck{}, passerelle.InvalidField("date", "must be the value of %s-Signature-Date as it came, in the form %s", webhook.Prefix, webhook.DateFormat)
	}
	if q.Signature == "" {
		return SignatureCheck{}, passerelle.MissingField("signature", "is required: the value of "+webhook.Prefix+"-Signature as it came")
	}
	secrets, err := d.secrets(ctx, domain, q.Provider)
	if err != nil {
		return SignatureCheck{}, err
	}
	if q.Method != http.MethodPost {
		return SignatureCheck{Reason: fmt.Sprintf("Only POST requests are signed, and this one is called %q.", q.Method)}, nil
	}
	return q.check(address, signed, secrets, d.Now()), nil
}

// secret is a signing secret of a provider. Explanations use its name.
type secret struct{ text, name string }

// secrets returns the signing secrets of a provider.
func (d *Delivery) secrets(ctx context.Context, domain passerelle.Domain, provider string) ([]secret, error) {
	if provider == "" {
		return nil, passerelle.MissingField("id_auth", "is required: a provider of type "+HMAC+", by id or name")
	}
	id, err := d.provider(ctx, domain, provider)
	if err != nil {
		return nil, err
	}
	a, err := d.Provider(ctx, domain, id)
	if err != nil {
		return nil, err
	}
	if a.Type != HMAC {
		return nil, passerelle.InvalidField("id_auth", "must be a provider of type %s: those of type %s sign nothing", HMAC, a.Type)
	}
	present, next := a.Secrets(d.Now())
	all := []secret{{present, "its secret"}}
	if next != "" {
		all = []secret{{present, "the secret that is being replaced"}, {next, "the secret that is to replace it"}}
	}
	return all, nil
}

// signingMistakes contains common mistakes: signers use another value instead of the path or the
// body.
var signingMistakes = []struct {
	path   func(*url.URL) string
	body   func(string) string
	reason string
}{
	{path: queried, reason: "It was made with the query of the URL. Only the path is signed."},
	{path: (*url.URL).String, reason: "It was made with the whole URL. Only the path is signed."},
	{path: slashed, reason: "It was made with a slash too many or too few at the end of the path."},
	{path: unescaped, reason: "It was made with the unescaped path. Sign the path as it is on the request line."},
	{body: func(b string) string { return strings.ReplaceAll(b, "\r\n", "\n") }, reason: "It was made over this body with lines that end in a line feed only."},
	{body: func(b string) string { return strings.ReplaceAll(b, "\n", "\r\n") }, reason: "It was made over this body with lines that end in carriage return and line feed."},
	{body: strings.TrimSpace, reason: "It was made over this body without the white space around it."},
	{body: func(b string) string { return b + "\n" }, reason: "It was made over this body followed by a line end."},
	{body: func(string) string { return "" }, reason: "It was made over an empty body."},
}

func queried(u *url.URL) string { return u.EscapedPath() + "?" + u.RawQuery }

func unescaped(u *url.URL) string { return u.Path }

func slashed(u *url.URL) string {
	path := u.EscapedPath()
	if shorter, ends := strings.CutSuffix(path, "/"); ends {
		return shorter
	}
	return path + "/"
}

// check searches for the secret with which the signature was made. If it finds no such secret, it
// searches for a common mistake.
func (q SignedRequest) check(address *url.URL, signed time.Time, secrets []secret, now time.Time) SignatureCheck {
	for _, s := range secrets {
		if q.fits(s, address.EscapedPath(), q.Body, signed) {
			return SignatureCheck{Valid: true, Reason: "It was made with " + s.name + "." + late(signed, now)}
		}
	}
	for _, m := range signingMistakes {
		path, body := address.EscapedPath(), q.Body
		if m.path != nil {
			path = m.path(address)
		}
		if m.body != nil {
			body = m.body(q.Body)
		}
		for _, s := range secrets {
			if q.fits(s, path, body, signed) {
				return SignatureCheck{Reason: m.reason}
			}
		}
	}
	return SignatureCheck{Reason: "The path, date, body or secret differs from what was signed. Use the body exactly as received, after decompression."}
}

// fits compares signatures in constant time. It ignores the age of the signature.
func (q SignedRequest) fits(s secret, path, body string, signed time.Time) bool {
	header := http.Header{}
	webhook.Signature{Date: q.Date, Value: q.Signature}.Set(header)
	return webhook.Verifier{Secret: s.text}.Verify(header, path, []byte(body), signed) == nil
}

// late returns a sentence which says that receivers refuse the date. It returns "" when they accept
// the date.
func late(signed, now time.Time) string {
	if now.Sub(signed).Abs() <= webhook.DefaultTolerance {
		return ""
	}
	return fmt.Sprintf(" Its date is more than %d minutes from now: receivers refuse it, since somebody may have kept it.", int(webhook.DefaultTolerance.Minutes()))
}
