package aggregation

import (
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// maxAttachments limits the files that an institution may report for a transaction.
const maxAttachments = 20

// validAttachments returns those attachments of a transaction that can be stored.
func validAttachments(supplied []passerelle.AttachmentDetails) ([]passerelle.AttachmentDetails, error) {
	if len(supplied) > maxAttachments {
		return nil, fmt.Errorf("%w: a transaction has at most %d attachments", errInvalidData, maxAttachments)
	}
	kept := slices.Clone(supplied)
	for i := range kept {
		a := &kept[i]
		if !validKey(a.Key) {
			return nil, fmt.Errorf("%w: an attachment has a key of 1 to %d bytes", errInvalidData, maxKeyLength)
		}
		a.Name, a.Description, a.MediaType = storable(a.Name), storable(a.Description), storable(a.MediaType)
	}
	return kept, nil
}

// attached returns the events about new attachments: one for each transaction with new attachments.
func (r *reporter) attached(ctx context.Context, accounts []*syncedAccount) ([]store.EmittedEvent, error) {
	var events []store.EmittedEvent
	for _, a := range accounts {
		if !a.changedTransactions {
			continue // attachments change only together with transactions
		}
		found, err := r.foundAttachments(ctx, a.StoredAccount)
		if err != nil {
			return nil, err
		}
		for _, of := range found {
			w, e := r.newPayload(ctx), store.EmittedEvent{Name: webhook.TransactionAttachmentsFound}
			w.hold(r.lease.c, a.Holding())
			if e, err = w.attachTo(e, w.payload.Object(of)); err != nil {
				return nil, err
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// foundAttachments returns the attachments of an account that this run found, grouped by
// transaction.
func (r *reporter) foundAttachments(ctx context.Context, a bankstore.StoredAccount) ([]wire.FoundAttachments, error) {
	var found []wire.FoundAttachments
	for after := (passerelle.Attachment{}); ; {
		page, err := bankstore.From(r.lease.db).FoundAttachments(ctx, a, after, payloadPage)
		if err != nil {
			return nil, fmt.Errorf("list attachments found in account %d: %w", a.ID, err)
		}
		for _, x := range page {
			if x.Transaction != after.Transaction {
				found = append(found, wire.FoundAttachments{IDConnection: int64(r.lease.c.ID), IDAccount: int64(a.ID), IDTransaction: int64(x.Transaction)})
			}
			last := &found[len(found)-1]
			last.Attachments = append(last.Attachments, wire.NewAttachment(x, r.lease.domain.BaseURL, r.zone()))
			after = x
		}
		if len(page) < payloadPage {
			return found, nil
		}
	}
}
