package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
)

// consentRow is one consent.
type consentRow struct {
	ID                 int64
	Connection         passerelle.ConnectionID
	To, Words, Where   string
	Granted, Withdrawn page.When
}

// consents lists the consents of a user, newest first.
func (c *Console) consents(pc *page.Context) error {
	data, err := c.about(pc, "Consents")
	if err != nil {
		return err
	}
	w := pc.Window(2)
	rows, err := bankstore.From(c.DB).Consents(pc, bankstore.ConsentFilter{Domain: pc.Domain.ID, User: data.ID}, w)
	if err != nil {
		return fmt.Errorf("list the consents of user %d: %w", data.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, bankstore.Consent.Place)
	for _, one := range rows {
		data.Consents = append(data.Consents, newConsentRow(pc, one))
	}
	return pages.Send(pc, "user-consents", fmt.Sprintf("Consents of user %d", data.ID), data)
}

func newConsentRow(pc *page.Context, one bankstore.Consent) consentRow {
	row := consentRow{ID: one.ID, Connection: one.Connection, Words: one.TextVersion, Where: one.Origin, Granted: pc.When(one.Granted), Withdrawn: pc.WhenEver(one.Withdrawn)}
	switch {
	case one.Account != 0:
		row.To = fmt.Sprintf("account %d", one.Account)
	case one.Subscription != 0:
		row.To = fmt.Sprintf("subscription %d", one.Subscription)
	}
	return row
}
