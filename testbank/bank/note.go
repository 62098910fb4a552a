package bank

import "passerelle/testbank/ledger"

// Note is a notification that a third party asked for. Its arrival is never promised.
type Note struct {
	// To is an address.
	To string
	// PaymentID or ConsentID is the order or consent that changed, and Status its new status.
	PaymentID, ConsentID, Status string
}

// note notifies a third party once the change is on disk.
func (b *Bank) note(tx *ledger.Tx, n Note) {
	tx.AfterCommit(func() {
		select {
		case b.notes <- n:
		default: // nobody waits for notes, or too many wait
		}
	})
}
