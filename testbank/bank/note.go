package bank

import "passerelle/testbank/ledger"

// Note is what a third party wants to be told. It is never promised to arrive.
type Note struct {
	// To is an address.
	To string
	// PaymentID or ConsentID is what changed, Status what it changed to.
	PaymentID, ConsentID, Status string
}

// note has a third party told once the change is on disk.
func (b *Bank) note(tx *ledger.Tx, n Note) {
	tx.AfterCommit(func() {
		select {
		case b.notes <- n:
		default: // nobody waits for notes, or too many wait
		}
	})
}
