// Package notification receives the reports that banks send when an order or a consent has changed.
//
// The package owns the addresses for reports. A report makes the service check the order or read
// the connection earlier. The package ignores the content of a report, because anybody who knows
// the address could have sent the report. A report therefore never changes the state of an order or
// a consent.
//
// The package fails with NotFound for an address that it has not issued.
package notification

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Path is the path for banks' reports, below the address of a domain.
const Path = "/webauth/notification"

// Notifications issues the addresses to which banks report, and receives the reports. Every field
// is required.
type Notifications struct {
	DB *store.DB
	// MAC authenticates the addresses.
	MAC func(purpose string, data []byte) []byte
	// Now returns the real time. The clock of each domain converts it to the domain's time.
	Now func() time.Time
	// Sync wakes the loop that reads connections in the background.
	Sync func()
}

// The query parameter state of an address contains the number and the kind of an order or
// connection, and a MAC over both and the domain's number.
const (
	stateNumber = 8
	stateMAC    = 16
	ofPayment   = 'p'
	ofConsent   = 'c'

	purpose = "notification of a bank"
)

// OfPayment returns the address for a bank's report about an order. It returns an empty text when
// Notifications is nil.
func (n *Notifications) OfPayment(d passerelle.Domain, id passerelle.PaymentID) string {
	return n.address(d, ofPayment, int64(id))
}

// OfConsent returns the address for a bank's report about a connection's consent. It returns an
// empty text when Notifications is nil.
func (n *Notifications) OfConsent(d passerelle.Domain, id passerelle.ConnectionID) string {
	return n.address(d, ofConsent, int64(id))
}

func (n *Notifications) address(d passerelle.Domain, kind byte, id int64) string {
	if n == nil {
		return ""
	}
	return d.BaseURL + Path + "?" + url.Values{"state": {n.state(d, kind, id)}}.Encode()
}

func (n *Notifications) state(d passerelle.Domain, kind byte, id int64) string {
	state := append(binary.BigEndian.AppendUint64(nil, uint64(id)), kind)
	mac := n.MAC(purpose, binary.BigEndian.AppendUint64(slices.Clone(state), uint64(d.ID)))
	return base64.RawURLEncoding.EncodeToString(append(state, mac[:stateMAC]...))
}

// parse reads a state. It compares the whole text with the issued text, because base64 decoding
// ignores line breaks.
func (n *Notifications) parse(d passerelle.Domain, state string) (byte, int64, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(raw) != stateNumber+1+stateMAC {
		return 0, 0, false
	}
	kind, id := raw[stateNumber], int64(binary.BigEndian.Uint64(raw))
	return kind, id, hmac.Equal([]byte(state), []byte(n.state(d, kind, id)))
}

// returnTime is the time after a bank's report in which the service waits for a user at the bank to
// return. After this time, the service checks the consent while the user is absent. Without this
// delay, the check would interfere with the user's return.
const returnTime = time.Minute

// Receive handles a notification at the address with this state. The service then checks the order,
// or reads the connection, at the next opportunity. Receive fails with NotFound for a state of
// another domain and for an unknown state.
func (n *Notifications) Receive(ctx context.Context, d passerelle.Domain, state string) error {
	kind, id, authentic := n.parse(d, state)
	if !authentic {
		return passerelle.Missing()
	}
	now := d.Clock.Now(n.Now()).Truncate(time.Microsecond)
	err := n.DB.Write(ctx, func(tx *store.Tx) error {
		if kind == ofPayment {
			tx.HastenCheck(d.ID, passerelle.PaymentID(id), now)
			return nil
		}
		bankstore.In(tx).HastenRead(d.ID, passerelle.ConnectionID(id), now, now.Add(returnTime))
		tx.AfterCommit(n.Sync)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note that a bank has reported: %w", err)
	}
	return nil
}
