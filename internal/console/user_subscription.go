package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/store"
)

// subscriptionRow is a subscription to documents.
type subscriptionRow struct {
	ID                                            passerelle.SubscriptionID
	Connection                                    passerelle.ConnectionID
	Label, Number, Subscriber, Until, Read, State string
	Shared                                        bool
}

func (c *Console) subscriptions(v *visit) error { return c.showSubscriptions(v, false) }

// revealSubscriptions shows the subscriptions whole, and puts on record that they
// were looked at.
func (c *Console) revealSubscriptions(v *visit) error {
	return c.looked(v, (*Console).showSubscriptions)
}

func (c *Console) showSubscriptions(v *visit, revealed bool) error {
	data, err := c.about(v, "Subscriptions")
	if err != nil {
		return err
	}
	w := v.window(1)
	rows, err := c.DB.Subscriptions(v, store.SubscriptionFilter{Domain: v.domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the subscriptions of user %d: %w", data.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(s store.StoredSubscription) []any { return byID(s.ID) })
	for _, s := range rows {
		data.Subscriptions = append(data.Subscriptions, v.subscriptionRow(s.Subscription, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && c.mayReveal(v), revealed
	return c.send(v, "user-subscriptions", fmt.Sprintf("Subscriptions of user %d", data.ID), data)
}

func (v *visit) subscriptionRow(s passerelle.Subscription, revealed bool) subscriptionRow {
	row := subscriptionRow{
		ID: s.ID, Connection: s.Connection, Label: v.nameText(s.Label, revealed), Number: numberText(s.Number, "", revealed),
		Subscriber: v.nameText(s.Subscriber, revealed), Read: v.moment(s.LastUpdate), State: string(s.Error), Shared: s.Disabled == nil && s.Deleted == nil,
	}
	if !s.Validity.IsZero() {
		row.Until = s.Validity.String()
	}
	return row
}
