package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/desk"
	"passerelle/internal/store"
)

// subscriptionRow is a subscription to documents.
type subscriptionRow struct {
	ID                                            passerelle.SubscriptionID
	Connection                                    passerelle.ConnectionID
	Label, Number, Subscriber, Until, Read, State string
	Shared                                        bool
}

func (c *Console) subscriptions(v *desk.Visit) error { return c.showSubscriptions(v, false) }

// revealSubscriptions shows the subscriptions whole, and puts on record that they
// were looked at.
func (c *Console) revealSubscriptions(v *desk.Visit) error {
	return c.looked(v, c.showSubscriptions)
}

func (c *Console) showSubscriptions(v *desk.Visit, revealed bool) error {
	data, err := c.about(v, "Subscriptions")
	if err != nil {
		return err
	}
	w := v.Window(1)
	rows, err := c.DB.Subscriptions(v, store.SubscriptionFilter{Domain: v.Domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the subscriptions of user %d: %w", data.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(s store.StoredSubscription) []any { return desk.ByID(s.ID) })
	for _, s := range rows {
		data.Subscriptions = append(data.Subscriptions, newSubscriptionRow(v, s.Subscription, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && v.MayReveal(), revealed
	return pages.Send(v, "user-subscriptions", fmt.Sprintf("Subscriptions of user %d", data.ID), data)
}

func newSubscriptionRow(v *desk.Visit, s passerelle.Subscription, revealed bool) subscriptionRow {
	row := subscriptionRow{
		ID: s.ID, Connection: s.Connection, Label: nameText(v, s.Label, revealed), Number: numberText(s.Number, "", revealed),
		Subscriber: nameText(v, s.Subscriber, revealed), Read: v.Moment(s.LastUpdate), State: string(s.Error), Shared: s.Disabled == nil && s.Deleted == nil,
	}
	if !s.Validity.IsZero() {
		row.Until = s.Validity.String()
	}
	return row
}
