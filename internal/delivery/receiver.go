package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	// MaxReceivedBody is the size of the largest body that the built-in receiver accepts, in bytes.
	MaxReceivedBody = 4 << 20
	maxReceiverName = 64
	// withheld replaces the value of a header that may contain a credential.
	withheld = "(not kept)"
)

// credentials lists the headers whose values the built-in receiver does not store.
var credentials = []string{"Authorization", "Proxy-Authorization", "Cookie"}

// Receive implements the built-in receiver. It checks the signature of a request, stores the
// request with the result of the check, and returns this result. path is the escaped path of the
// request line, without the query. Receive fails with TooLarge when the body is larger than
// MaxReceivedBody.
func (d *Delivery) Receive(ctx context.Context, domain passerelle.Domain, name string, header http.Header, path string, body []byte) (string, error) {
	var (
		result string
		err    error
	)
	if err := passerelle.CheckText("name", name, maxReceiverName); err != nil {
		return "", err
	}
	if len(body) > MaxReceivedBody {
		return "", &passerelle.Error{
			Kind: passerelle.TooLarge, Code: "payloadTooLarge",
			Message: fmt.Sprintf("The body has %d bytes; the receiver accepts at most %d.", len(body), MaxReceivedBody),
		}
	}
	headers, err := json.Marshal(withoutCredentials(header))
	if err != nil {
		return "", fmt.Errorf("encode the headers: %w", err)
	}
	if result, err = d.checkSignature(ctx, domain, header, path, body); err != nil {
		return "", err
	}
	got := store.Received{
		Domain: domain.ID, Name: name, At: d.now(domain),
		Headers: string(headers), Body: append([]byte{}, body...), SignatureCheck: result,
	}
	if err := d.DB.Write(ctx, func(tx *store.Tx) error { return tx.KeepReceived(got) }); err != nil {
		return "", fmt.Errorf("store a received request: %w", err)
	}
	return result, nil
}

func withoutCredentials(header http.Header) http.Header {
	kept := header.Clone()
	for _, name := range credentials {
		if kept.Get(name) != "" {
			kept.Set(name, withheld)
		}
	}
	return kept
}

// checkSignature checks a signature with the secrets of all signing providers of the domain, as a
// receiver does.
func (d *Delivery) checkSignature(ctx context.Context, domain passerelle.Domain, header http.Header, path string, body []byte) (string, error) {
	if !signed(header) {
		return "no signature", nil
	}
	providers, err := d.DB.AuthProviders(ctx, store.ProviderFilter{Domain: domain.ID}, store.Window{Limit: store.MaxAuthProviders})
	if err != nil {
		return "", fmt.Errorf("list providers: %w", err)
	}
	result := "invalid: no provider could have signed it"
	for _, provider := range providers {
		if provider.Type != HMAC {
			continue
		}
		present, next := provider.Secrets(d.Now())
		err := webhook.Verifier{Secret: present}.Verify(header, path, body, d.Now())
		if errors.Is(err, webhook.ErrSignature) {
			err = webhook.Verifier{Secret: next}.Verify(header, path, body, d.Now())
		}
		if err == nil {
			return fmt.Sprintf("valid (provider %s)", provider.Name), nil
		}
		result = "invalid: " + fault(err)
	}
	return result, nil
}

func signed(header http.Header) bool {
	return header.Get(webhook.Prefix+"-Signature") != "" || header.Get(webhook.Prefix+"-Signature-Date") != ""
}

func fault(err error) string {
	switch {
	case errors.Is(err, webhook.ErrHeader):
		return "the signature and its date must come exactly once"
	case errors.Is(err, webhook.ErrDate):
		return "the date of the signature is malformed or too far from now"
	}
	return "the signature matches no provider"
}
