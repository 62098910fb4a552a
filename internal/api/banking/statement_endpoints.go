package banking

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/exports"
	"passerelle/internal/httpapi"
	"passerelle/statementfile"
)

func (s *Service) statementRoutes() []httpapi.Route {
	const place = "/accounts/{accountId}/statement"
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + place, Aliases: []string{place}, Needs: ofUser, Endpoint: httpapi.Handle(s.exportStatement), Errors: []string{"conflict"},
		Summary: "Get a statement of an account",
		Doc:     "Answers with a file: the booked transactions of a period by their booking days, at most 100,000, the oldest first, with the balances before and after. Without dates it begins with the first transaction and ends today. A reference is the id of the transaction. CFONB 120 takes only accounts with a French IBAN.",
	}}
}

type exportStatementInput struct {
	inAccount
	httpapi.DateRange
	Format string `query:"format" enum:"camt.053,mt940,cfonb120,ofx,csv" default:"camt.053" doc:"the format of the file: camt.053.001.08, MT940, CFONB 120, OFX 2 or CSV"`
}

// exportFormats are the formats by the words of the parameter.
var exportFormats = map[string]struct {
	format            statementfile.Format
	mediaType, ending string
}{
	"camt.053": {statementfile.CAMT, "application/xml", "xml"}, "mt940": {statementfile.MT940, "text/plain; charset=us-ascii", "sta"},
	"cfonb120": {statementfile.CFONB, "text/plain; charset=us-ascii", "txt"}, "ofx": {statementfile.OFX, "application/x-ofx", "ofx"},
	"csv": {statementfile.CSV, "text/csv; charset=utf-8", "csv"},
}

func (s *Service) exportStatement(ctx context.Context, c *httpapi.Caller, in exportStatementInput) (httpapi.Stream, error) {
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return httpapi.Stream{}, err
	}
	now := c.Domain.Clock.Now(s.Now())
	last, first := passerelle.DateOf(now, c.Location), passerelle.Date{}
	if !in.Until().IsZero() {
		last = passerelle.DateOf(in.Until(), c.Location).AddDays(-1)
	}
	if !in.From().IsZero() {
		first = passerelle.DateOf(in.From(), c.Location)
	}
	written, err := exports.Of(ctx, bankstore.From(s.DB), c.Domain.ID, *at.named, first, last)
	if err != nil {
		return httpapi.Stream{}, err
	}
	to := exportFormats[in.Format]
	if to.format == statementfile.CFONB && !statementfile.French(written.Account) {
		return httpapi.Stream{}, passerelle.InvalidField("format", "%s", statementfile.ErrFrench)
	}
	written.Created = now
	name := fmt.Sprintf("account-%d-%s-%s.%s", in.Account, written.From, written.To, to.ending)
	return httpapi.Stream{MediaType: to.mediaType, Name: name, Write: func(w io.Writer) error { return statementfile.Write(w, to.format, written) }}, nil
}
