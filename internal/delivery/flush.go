package delivery

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/store"
)

// scan is a way through the deliveries of a webhook, in the order of their ids.
// A run of the flusher begins where the last one ended and goes on from the
// beginning; and every way is gone once more when something may have become the
// head of its subject behind it.
type scan struct {
	cursor passerelle.DeliveryID
	ended  bool
	again  bool
}

func (s *scan) more() bool { return !s.ended || s.again }

// begin is after which delivery the next page begins, and whether it is the
// first on the way.
func (s *scan) begin() (after passerelle.DeliveryID, first bool) {
	if s.ended {
		*s = scan{}
	}
	return s.cursor, s.cursor == 0
}

// move goes behind a page.
func (s *scan) move(found []store.Delivery) {
	if len(found) < pageSize {
		s.ended = true
		return
	}
	s.cursor = found[len(found)-1].ID
}

// readPage is a part of what there is to send, and where it goes.
type page struct {
	// isNew was never tried; first is the first page on the way.
	isNew, first bool
	to           target
	found        []store.Delivery
	// left is up to where deliveries are left to the flusher when nothing is to
	// be sent at once.
	left passerelle.DeliveryID
	err  error
}

// readPage reads from after a delivery on what was never tried, or else what the
// flusher is to try.
func (s *leaseSession) readPage(ctx context.Context, fresh, first bool, after passerelle.DeliveryID) (p page) {
	defer guard(&p.err)
	s.limitDB(func() { p = s.loadPage(ctx, fresh, first, after) })
	return p
}

func (s *leaseSession) loadPage(ctx context.Context, fresh, first bool, after passerelle.DeliveryID) page {
	to, err := s.load(ctx)
	if err != nil {
		return page{err: err}
	}
	p := page{isNew: fresh, first: first, to: to}
	if !fresh {
		p.found, err = s.d.DB.Undelivered(ctx, to.webhook, after, pageSize)
	} else if p.left, err = s.untried(ctx, to); err == nil {
		p.found, err = s.d.DB.NewDeliveries(ctx, to.webhook, after, pageSize)
	}
	if err != nil {
		p.err = fmt.Errorf("list deliveries: %w", err)
	}
	return p
}

// untried is the last delivery that was never tried, when the flusher has
// something to do. It is asked for before the page, so that nothing is left
// aside that the page has not seen.
func (s *leaseSession) untried(ctx context.Context, to target) (passerelle.DeliveryID, error) {
	if to.webhook.NextFlush == nil {
		return 0, nil
	}
	return s.d.DB.NewestDelivery(ctx, to.webhook)
}
