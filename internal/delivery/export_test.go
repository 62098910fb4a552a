package delivery

import "passerelle"

// WaitingBatches returns the number of batches that wait while another batch is being stored.
func (d *Delivery) WaitingBatches(domain passerelle.DomainID) int {
	w := d.process.batches.of(domain)
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting)
}

// Unwritten reports whether a joined transaction with this error has certainly written nothing.
func Unwritten(err error) bool { return unwritten(err) }
