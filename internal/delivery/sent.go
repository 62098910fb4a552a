package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// MaxShownPayload limits the payload in Sent, in bytes.
const MaxShownPayload = 8 << 10

// Sent is the content of the last request for a delivery, as far as this content is stored. Before
// the first request, it is the content that will be sent.
type Sent struct {
	// Payload contains the first MaxShownPayload bytes of the payload before compression. Size is
	// the length of the whole payload. Both are empty when Erased is set, because the body was
	// erased.
	Payload []byte
	Size    int64
	Erased  bool
	// Headers contains the headers, sorted by name. It leaves out Authorization and traceparent.
	// Headers that depend on settings of the domain follow the present settings.
	Headers []Header
}

// Header is one header of a request.
type Header struct{ Name, Value string }

// Sent returns the request for a delivery to the webhook. It fails with NotFound when the
// webhook has no such delivery.
func (d *Delivery) Sent(ctx context.Context, domain passerelle.Domain, w store.Webhook, id passerelle.DeliveryID) (Sent, error) {
	found, err := d.DB.OneDelivery(ctx, w, id)
	if errors.Is(err, store.ErrNotFound) {
		return Sent{}, passerelle.Missing()
	}
	if err != nil {
		return Sent{}, fmt.Errorf("load delivery %d: %w", id, err)
	}
	s := &leaseSession{d: d, job: job{domain: domain, webhook: w.ID}}
	headers, err := s.headers(ctx, w, found)
	if err != nil || found.Erased {
		return Sent{Erased: found.Erased, Headers: headers}, err
	}
	added, err := d.additions(ctx, w, found.User)
	if err != nil {
		return Sent{}, err
	}
	b, err := s.body(ctx, found, added)
	if err != nil {
		return Sent{}, fmt.Errorf("open the payload of delivery %d: %w", id, err)
	}
	begins, err := io.ReadAll(io.LimitReader(b.open(), MaxShownPayload))
	if err != nil {
		return Sent{}, fmt.Errorf("read the payload of delivery %d: %w", id, err)
	}
	return Sent{Payload: begins, Size: b.size, Headers: headers}, nil
}

// headers returns the headers of the last request for a delivery.
func (s *leaseSession) headers(ctx context.Context, w store.Webhook, d store.Delivery) ([]Header, error) {
	values, err := settings.Load(ctx, &s.d.DB.Reader, s.job.domain.ID)
	if err != nil {
		return nil, err
	}
	last, err := s.d.DB.AttemptsOf(ctx, s.job.domain.ID, d.ID, store.Window{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("read the last request for delivery %d: %w", d.ID, err)
	}
	to := target{webhook: w, names: spell(values.List(settings.SignatureAliases)), compress: values.On(settings.Compression), agent: s.d.agent}
	header := http.Header{}
	d.Attempts = max(d.Attempts-1, 0) // the number of attempts before the last request
	to.describe(header, d)
	if len(last) > 0 {
		to.repeat(header, last[0].Signed)
	}
	if to.compress {
		header.Set("Content-Encoding", "gzip")
	}
	var lines []Header
	for name, values := range header {
		lines = append(lines, Header{name, strings.Join(values, ", ")})
	}
	slices.SortFunc(lines, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return lines, nil
}

// repeat sets the headers of a signature again, from the stored signature.
func (to target) repeat(header http.Header, signed store.Signed) {
	if signed.Signature == "" {
		return
	}
	date := strings.TrimSuffix(signed.Opening, ".")
	date = date[max(len(date)-len(webhook.DateFormat), 0):]
	to.names.set(header, webhook.Signature{Date: date, Value: signed.Signature}, signed.Next)
}
