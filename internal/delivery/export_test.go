package delivery

import "passerelle"

// WaitingBatches returns the number of batches that wait while another batch is being stored.
func (d *Delivery) WaitingBatches(domain passerelle.DomainID) int {
	w := d.process.batches.of(domain)
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting)
}

// Outcome returns the error of the batches in a transaction, and whether it has written nothing.
func Outcome(err error) (bool, error) { return outcome(err) }
