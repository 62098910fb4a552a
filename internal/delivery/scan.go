package delivery

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/store"
)

// scan goes through the deliveries of a webhook in the order of their ids. A run of the flusher
// begins where the last run ended. After the last delivery, it continues with the first. A scan is
// repeated when a delivery that it has already passed may have become the oldest of its subject.
type scan struct {
	cursor passerelle.DeliveryID
	ended  bool
	again  bool
}

func (s *scan) hasNext() bool { return !s.ended || s.again }

// begin returns the delivery after which the next page begins. It also reports whether this page
// begins with the first delivery.
func (s *scan) begin() (passerelle.DeliveryID, bool) {
	if s.ended {
		*s = scan{}
	}
	return s.cursor, s.cursor == 0
}

// move advances the scan past a page.
func (s *scan) move(found []store.Delivery) {
	if len(found) < pageSize {
		s.ended = true
		return
	}
	s.cursor = found[len(found)-1].ID
}

// page is a part of a webhook's deliveries, with the target to which they are sent.
type page struct {
	// isNew marks a page of deliveries that were never tried. first marks the first page of a scan.
	isNew, first bool
	to           target
	found        []store.Delivery
	// left is the last delivery that the sender leaves to the flusher. It is zero when the flusher
	// has no work.
	left passerelle.DeliveryID
	err  error
}

// readPage reads the page of deliveries that follow the id `after`. If fresh is true, the page
// contains new deliveries. Otherwise it contains deliveries that the flusher tries.
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

// untried returns the newest untried delivery of the webhook, or zero when there is none or the
// flusher has no work. It is called before the page is read. The scan that begins with this page
// therefore reads all new deliveries up to the result.
func (s *leaseSession) untried(ctx context.Context, to target) (passerelle.DeliveryID, error) {
	if to.webhook.NextFlush == nil {
		return 0, nil
	}
	return s.d.DB.NewestDelivery(ctx, to.webhook)
}
