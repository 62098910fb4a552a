package aggregation

import (
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// maxAttachments is how many files an institution may keep with a transaction.
const maxAttachments = 20

// keepable are the attachments of a transaction as they can be kept.
func keepable(given []passerelle.AttachmentDetails) ([]passerelle.AttachmentDetails, error) {
	if len(given) > maxAttachments {
		return nil, fmt.Errorf("%w: a transaction has at most %d attachments", errNonsense, maxAttachments)
	}
	kept := slices.Clone(given)
	for i := range kept {
		a := &kept[i]
		if !sound(a.Key) {
			return nil, fmt.Errorf("%w: an attachment has a key of 1 to %d bytes", errNonsense, maxKeyLength)
		}
		a.Name, a.Description, a.MediaType = legible(a.Name), legible(a.Description), legible(a.MediaType)
	}
	return kept, nil
}

// attached tells of attachments that were found, with an event for each
// transaction that has some.
func (v *visit) attached(ctx context.Context, accounts []*account) (events []store.Event, err error) {
	for _, a := range accounts {
		found, err := v.foundAttachments(ctx, a.StoredAccount)
		if err != nil {
			return nil, err
		}
		for _, of := range found {
			l, e := v.letter(ctx), store.Event{Name: webhook.TransactionAttachmentsFound}
			l.hold(v.c, a.Holding())
			l.object(of)
			if err := l.into(&e); err != nil {
				return nil, err
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// foundAttachments are those that this visit found in an account, those of a
// transaction together.
func (v *visit) foundAttachments(ctx context.Context, a store.StoredAccount) (found []wire.FoundAttachments, err error) {
	for after := (passerelle.Attachment{}); ; {
		page, err := v.DB.FoundAttachments(ctx, a, after, newsPage)
		if err != nil {
			return nil, fmt.Errorf("list attachments found in account %d: %w", a.ID, err)
		}
		for _, x := range page {
			if x.Transaction != after.Transaction {
				found = append(found, wire.FoundAttachments{IDConnection: int64(v.c.ID), IDAccount: int64(a.ID), IDTransaction: int64(x.Transaction)})
			}
			last := &found[len(found)-1]
			last.Attachments = append(last.Attachments, wire.NewAttachment(x, v.domain.BaseURL, v.zone()))
			after = x
		}
		if len(page) < newsPage {
			return found, nil
		}
	}
}
