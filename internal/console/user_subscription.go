package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
)

// subscriptionRow is a subscription to documents.
type subscriptionRow struct {
	ID                               passerelle.SubscriptionID
	Connection                       passerelle.ConnectionID
	Label, Number, Subscriber, Until string
	State                            page.ConnectionWord
	Read                             page.When
	Shared                           bool
}

func (c *Console) subscriptions(pc *page.Context) error { return c.showSubscriptions(pc, false) }

// revealSubscriptions shows the subscriptions without masks, and records this act.
func (c *Console) revealSubscriptions(pc *page.Context) error {
	return c.revealUser(pc, c.showSubscriptions)
}

func (c *Console) showSubscriptions(pc *page.Context, revealed bool) error {
	data, err := c.about(pc, "Subscriptions")
	if err != nil {
		return err
	}
	w := pc.Window(1)
	rows, err := bankstore.From(c.DB).Subscriptions(pc, bankstore.SubscriptionFilter{Domain: pc.Domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the subscriptions of user %d: %w", data.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(s bankstore.StoredSubscription) []any { return page.ByID(s.ID) })
	for _, s := range rows {
		data.Subscriptions = append(data.Subscriptions, newSubscriptionRow(pc, s.Subscription, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && pc.MayReveal(), revealed
	return pages.Send(pc, "user-subscriptions", fmt.Sprintf("Subscriptions of user %d", data.ID), data)
}

func newSubscriptionRow(pc *page.Context, s passerelle.Subscription, revealed bool) subscriptionRow {
	row := subscriptionRow{
		ID: s.ID, Connection: s.Connection, Label: nameText(pc, s.Label, revealed), Number: numberText(s.Number, "", revealed),
		Subscriber: nameText(pc, s.Subscriber, revealed), Read: pc.WhenEver(s.LastUpdate), State: page.ConnectionWord(s.Error), Shared: s.Disabled == nil && s.Deleted == nil,
	}
	if !s.Validity.IsZero() {
		row.Until = s.Validity.String()
	}
	return row
}
