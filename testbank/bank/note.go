package bank

import "passerelle/testbank/ledger"

// Note is a notification that a third party requested. The bank does not guarantee its delivery.
type Note struct {
	// To is the address for notifications.
	To string
	// PaymentID or ConsentID identifies the order or consent that changed. Status is its new
	// status.
	PaymentID, ConsentID, Status string
}

// note notifies a third party after the transaction tx is committed.
func (b *Bank) note(tx *ledger.Tx, n Note) {
	tx.AfterCommit(func() {
		select {
		case b.notes <- n:
		default: // there is no receiver, or its queue is full
		}
	})
}
