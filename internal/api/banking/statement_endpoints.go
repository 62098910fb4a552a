package banking

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/exports"
	"passerelle/internal/httpapi"
)

func (s *Service) statementRoutes() []httpapi.Route {
	const place = "/accounts/{accountId}/statement"
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + place, Aliases: []string{place}, Needs: ofUser, Endpoint: httpapi.Handle(s.exportStatement), Errors: []string{"conflict"},
		Summary: "Get a statement of an account",
		Doc:     "Returns a file with the transactions that the institution booked in a period, oldest first, at most 100,000, and the balances before and after. Without dates, the period begins with the first transaction. It ends at the latest on the day of the account's last update. References are transaction ids. CFONB 120 is available only for accounts with a French IBAN.",
	}}
}

type exportStatementInput struct {
	inAccount
	httpapi.DateRange
	Format string `query:"format" enum:"camt.053,mt940,cfonb120,ofx,csv" default:"camt.053" doc:"the format of the file: camt.053.001.08, MT940, CFONB 120, OFX 2 or CSV"`
}

func (s *Service) exportStatement(ctx context.Context, c *httpapi.Caller, in exportStatementInput) (httpapi.Stream, error) {
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return httpapi.Stream{}, err
	}
	now := c.Domain.Clock.Now(s.Now()).In(c.Location)
	var last, first passerelle.Date
	if !in.Until().IsZero() {
		last = passerelle.DateOf(in.Until(), c.Location).AddDays(-1)
	}
	if !in.From().IsZero() {
		first = passerelle.DateOf(in.From(), c.Location)
	}
	file, err := exports.Of(ctx, bankstore.From(s.DB), c.Domain.ID, *at.named, exports.Wish{Format: in.Format, First: first, Last: last, Now: now})
	return httpapi.Stream{MediaType: file.MediaType, Name: file.Name, Write: file.Write}, err
}
