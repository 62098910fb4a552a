package initiation

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// maxReturning limits the calls of Return for one payment that wait for the bank at the same time.
const maxReturning = 2

// returnPurpose separates the MACs of return links from other MACs.
const returnPurpose = "return from a bank"

// A state parameter contains the payment's number, a mark and a MAC. The mark is present if the
// payer was sent to approve a cancellation. The MAC covers the number, the mark and the domain's
// number.
const (
	stateNumber = 8
	stateMAC    = 16
	cancelMark  = "c"
)

// returnURL returns the address to which a bank sends the payer's browser. The address identifies
// the payment, and says whether the payer was sent to approve a cancellation. Its MAC is valid only
// for returns from a bank.
func (i *Initiation) returnURL(d passerelle.Domain, id passerelle.PaymentID, cancelling bool) string {
	mark := ""
	if cancelling {
		mark = cancelMark
	}
	return d.BaseURL + "/webauth/callback?" + url.Values{"state": {i.returnState(d, id, mark)}}.Encode()
}

func (i *Initiation) returnState(d passerelle.Domain, id passerelle.PaymentID, mark string) string {
	state := append(binary.BigEndian.AppendUint64(nil, uint64(id)), mark...)
	mac := i.MAC(returnPurpose, binary.BigEndian.AppendUint64(slices.Clone(state), uint64(d.ID)))
	return base64.RawURLEncoding.EncodeToString(append(state, mac[:stateMAC]...))
}

// paymentOf returns the payment that a state parameter identifies. It compares the whole text with
// the issued text, because base64 decoding ignores line breaks.
func (i *Initiation) paymentOf(d passerelle.Domain, state string) (passerelle.PaymentID, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(raw) < stateNumber+stateMAC {
		return 0, false
	}
	id, mark := passerelle.PaymentID(binary.BigEndian.Uint64(raw)), string(raw[stateNumber:len(raw)-stateMAC])
	return id, subtle.ConstantTimeCompare([]byte(state), []byte(i.returnState(d, id, mark))) == 1
}

// FromCancellation reports whether a valid state parameter belongs to a payer who was sent to
// approve a cancellation. Such a payer is redirected to the payment's CancelRedirectURI, if it has
// one.
func FromCancellation(state string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	return err == nil && len(raw) == stateNumber+len(cancelMark)+stateMAC
}

// Return handles a payer who returns from a bank. state is the state parameter of the return link,
// and callback is the query that the bank added. Return asks the bank about an unfinished payment
// at once, and returns the payment. The state of this payment decides where the payer is
// redirected next. If Return cannot ask the bank, it returns the payment from the database. It
// cannot ask while an attempt is under way, or while too many callers wait for the bank. A loop
// then asks the bank with the callback. Return fails with NotFound when the state parameter was
// altered.
func (i *Initiation) Return(ctx context.Context, d passerelle.Domain, state string, callback url.Values) (*payment.Payment, error) {
	id, authentic := i.paymentOf(d, state)
	if !authentic {
		return nil, passerelle.Missing()
	}
	p, err := i.askOnReturn(ctx, d, id, callback)
	if err == nil && p != nil {
		return p, nil
	}
	if p == nil {
		err = errors.Join(err, i.keepReturn(ctx, d, id, callback))
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		i.Log.WarnContext(ctx, "the bank could not be asked when the payer returned", "payment", id, "error", err)
	}
	return i.load(ctx, d, id)
}

// askOnReturn asks the bank and returns the resulting payment. It returns nil when the bank cannot
// be asked now.
func (i *Initiation) askOnReturn(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, callback url.Values) (*payment.Payment, error) {
	leave, entered := i.Callers.Enter(id, maxReturning)
	if !entered {
		return nil, nil
	}
	defer leave()
	s, err := i.bankSession(ctx, d, id)
	if err != nil && !errors.Is(err, store.ErrSealed) {
		return nil, err
	}
	if s.attempt.Live() && !s.payment.State.Final() {
		return nil, nil
	}
	last, busy := i.Callers.EnterBank(s.attempt.Connector)
	if busy != nil {
		return nil, busy
	}
	defer last()
	s.callback = callback
	return i.ask(ctx, s, err)
}

// maxCallback limits a stored query, in bytes.
const maxCallback = 8 << 10

// keepReturn stores the query with which the payer returned. A background loop soon asks the bank
// about the order, and passes this query on. If the query is too long, keepReturn drops it, and the
// loop asks the bank without it.
func (i *Initiation) keepReturn(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, callback url.Values) error {
	a, err := i.DB.Attempt(ctx, d.ID, id)
	if err != nil {
		return fmt.Errorf("load the attempt of payment %d: %w", id, err)
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.HastenCheck(d.ID, id, i.now(d))
		return keepCallback(tx, a, callback)
	})
}

// keepCallback stores a query with which the payer returned, unless it is nil or too long.
func keepCallback(tx *store.Tx, a store.Attempt, callback url.Values) error {
	query := callback.Encode()
	if callback == nil || len(query) > maxCallback {
		return nil
	}
	return tx.KeepCallback(a, []byte(query))
}

// decodeCallback decodes a stored query. It returns nil when no query is stored.
func decodeCallback(encoded []byte) (url.Values, error) {
	if encoded == nil {
		return nil, nil
	}
	query, err := url.ParseQuery(string(encoded))
	if err != nil {
		return nil, fmt.Errorf("read the callback of an order: %w", err)
	}
	return query, nil
}
