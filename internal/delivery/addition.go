package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// Texts that are stored for a user can be added to the payloads of a webhook. Each addition names a
// member of the payload and a key. The value of the member is the text under this key. CFONB
// 120 statements are not JSON and get no additions.

// These are the limits of additions.
const (
	maxAdditions   = 20
	maxAddition    = 100
	maxAdditionKey = 255
)

// AddToData adds a member to the payloads of a webhook. The value of the member is the text that is
// stored under the key for the event's user. Without such a text or without a user, the value is
// null. The addition replaces an earlier addition of the same member. AddToData fails with Invalid
// when the member or the key is malformed, or when payloads already have the member. It fails with
// Conflict when the webhook would have too many additions or was changed at the same time. It fails
// with NotFound when the webhook does not exist or is deleted.
func (d *Delivery) AddToData(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, member, key, by string, acts ...store.Audit) error {
	if err := checkAddition(member, key); err != nil {
		return err
	}
	return d.changeAdditions(ctx, domain, id, "changed: a member was added to its payloads", by, acts, func(all map[string]string) error {
		if all[member] = key; len(all) > maxAdditions {
			return passerelle.Conflicting("A webhook has at most %d additions; remove one first.", maxAdditions)
		}
		return nil
	})
}

// RemoveFromData removes an addition of a webhook. If member is empty, RemoveFromData removes all
// additions. RemoveFromData fails with NotFound when the webhook does not exist or is deleted, or
// when it has no addition of member. It fails with Conflict when the webhook was changed at the
// same time.
func (d *Delivery) RemoveFromData(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, member, by string, acts ...store.Audit) error {
	return d.changeAdditions(ctx, domain, id, "changed: members were removed from its payloads", by, acts, func(all map[string]string) error {
		if member == "" {
			clear(all)
			return nil
		}
		if _, has := all[member]; !has {
			return passerelle.Missing()
		}
		delete(all, member)
		return nil
	})
}

func checkAddition(member, key string) error {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	switch {
	case member == "" || len(member) > maxAddition || strings.Trim(member, characters) != "":
		return passerelle.InvalidField("key", "must be 1 to %d letters, digits, -, _ and .", maxAddition)
	case member == webhook.DeliveryMember || slices.Contains(webhook.Members(), member):
		return passerelle.InvalidField("key", "%s is a member that payloads already have; choose another name", member)
	}
	return passerelle.CheckLine("value", key, maxAdditionKey)
}

// changeAdditions changes the additions of a webhook and stores them.
func (d *Delivery) changeAdditions(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, what, by string, acts []store.Audit, change func(map[string]string) error) error {
	w, err := d.registered(ctx, domain, id)
	if err == nil && w.Deleted != nil {
		err = passerelle.Missing()
	}
	if err != nil {
		return err
	}
	all := maps.Clone(w.AddToData)
	if all == nil {
		all = map[string]string{}
	}
	if err := change(all); err != nil {
		return err
	}
	err = d.DB.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.SetAdditions(w, all, d.now(domain)), tx.AuditOf(int64(id), acts...))
	})
	if errors.Is(err, store.ErrConflict) {
		return passerelle.Conflicting("The webhook was changed at the same time; try again.")
	}
	if err != nil {
		return fmt.Errorf("change the additions to the payloads of webhook %d: %w", id, err)
	}
	d.logAct(ctx, domain, what, id, by)
	return nil
}

// additions returns the members that are added to a payload, each followed by a comma.
func (d *Delivery) additions(ctx context.Context, w store.Webhook, user passerelle.UserID) ([]byte, error) {
	if len(w.AddToData) == 0 {
		return nil, nil
	}
	var noted map[string]string
	if user != 0 {
		var err error
		if noted, err = d.DB.UserSettings(ctx, w.Domain, user); err != nil {
			return nil, fmt.Errorf("load the information about user %d: %w", user, err)
		}
	}
	var out []byte
	for _, member := range slices.Sorted(maps.Keys(w.AddToData)) {
		value := []byte("null")
		if text, has := noted[w.AddToData[member]]; has {
			var err error
			if value, err = json.Marshal(text); err != nil {
				return nil, fmt.Errorf("write an addition: %w", err)
			}
		}
		out = append(append(append(append(out, '"'), member...), `":`...), value...)
		out = append(out, ',')
	}
	return out, nil
}

// additions returns the members that are added to payloads for a user. It reads the texts of each
// user once for a page of deliveries.
func (a *authority) additions(ctx context.Context, user passerelle.UserID) ([]byte, error) {
	if len(a.webhook.AddToData) == 0 {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, found := a.added[user]; found {
		return known, nil
	}
	found, err := a.d.additions(ctx, a.webhook, user)
	if err == nil {
		a.added[user] = found
	}
	return found, err
}
