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

// validAttachments returns the attachments of a transaction in a form that the store accepts.
func validAttachments(supplied []passerelle.AttachmentDetails) ([]passerelle.AttachmentDetails, error) {
	if len(supplied) > maxAttachments {
		return nil, fmt.Errorf("%w: a transaction has at most %d attachments", errInvalidData, maxAttachments)
	}
	kept := slices.Clone(supplied)
	for i := range kept {
		a := &kept[i]
		if !validKey(a.Key) {
			return nil, fmt.Errorf("%w: an attachment has a key of %s", errInvalidData, keyForm)
		}
		a.Name, a.Description, a.MediaType = storable(a.Name), storable(a.Description), storable(a.MediaType)
	}
	return kept, nil
}

// attached adds the events about new attachments: one for each transaction with new attachments.
func (r *reporter) attached(ctx context.Context, events []store.EmittedEvent, accounts []*syncedAccount) ([]store.EmittedEvent, error) {
	for _, a := range accounts {
		if !a.changedTransactions && !r.lease.brokenOff {
			continue // attachments change only together with transactions
		}
		err := r.foundAttachments(ctx, a.StoredAccount, func(of wire.FoundAttachments) error {
			e, err := r.attachmentsFound(ctx, a.StoredAccount, of)
			if err == nil {
				events, err = r.add(ctx, events, e)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return events, nil
}

func (r *reporter) attachmentsFound(ctx context.Context, a bankstore.StoredAccount, of wire.FoundAttachments) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.TransactionAttachmentsFound}, r.newPayload(ctx)
	if unwanted, err := r.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	w.hold(r.lease.c, a.Holding())
	return w.attachTo(e, w.payload.Object(of))
}

// foundAttachments calls the function pass with the new attachments in an account, once for each
// transaction.
func (r *reporter) foundAttachments(ctx context.Context, a bankstore.StoredAccount, pass func(wire.FoundAttachments) error) error {
	found := wire.FoundAttachments{IDConnection: int64(r.lease.c.ID), IDAccount: int64(a.ID)}
	for after := (passerelle.Attachment{}); ; {
		page, err := bankstore.From(r.lease.db).FoundAttachments(ctx, a, after, payloadPage)
		if err != nil {
			return fmt.Errorf("list attachments found in account %d: %w", a.ID, err)
		}
		for _, x := range page {
			if found, err = nextTransaction(found, x.Transaction, pass); err != nil {
				return err
			}
			found.Attachments = append(found.Attachments, wire.NewAttachment(x, r.lease.domain.BaseURL, r.zone()))
			after = x
		}
		if len(page) < payloadPage {
			return passUnlessEmpty(found, pass)
		}
	}
}

// nextTransaction returns the list to which an attachment of the transaction is added. If found
// belongs to another transaction, nextTransaction calls the function pass with found and begins a
// new list.
func nextTransaction(found wire.FoundAttachments, of passerelle.TransactionID, pass func(wire.FoundAttachments) error) (wire.FoundAttachments, error) {
	if found.IDTransaction == int64(of) {
		return found, nil
	}
	err := passUnlessEmpty(found, pass)
	found.IDTransaction, found.Attachments = int64(of), nil
	return found, err
}

func passUnlessEmpty(found wire.FoundAttachments, pass func(wire.FoundAttachments) error) error {
	if len(found.Attachments) == 0 {
		return nil
	}
	return pass(found)
}
