// Package presence remembers the devices of users who share data, until the service reads the data.
//
// The package owns the time for which a user counts as present after an act. After this time, it
// forgets the device. It does not own the reads. It keeps devices only in the memory of the
// process. It never fails.
package presence

import (
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
)

// lasts is how long a user counts as present after an act.
const lasts = 5 * time.Minute

// Devices maps connections to the devices of their users. The zero value is ready.
type Devices struct {
	mu   sync.Mutex
	seen map[passerelle.ConnectionID]*sight
}

// sight is a device, and the real time at which its user acted. The timer ends the presence.
type sight struct {
	device connector.Device
	at     time.Time
	ends   *time.Timer
}

// Note remembers the device of a user who acts now. A device is personal data. The package forgets
// the device at the end of the user's presence, even if nothing reads the connection. It forgets
// the device of an earlier act immediately. Otherwise, a user who acts often could fill the memory.
func (d *Devices) Note(connection passerelle.ConnectionID, device connector.Device, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(connection)
	if d.seen == nil {
		d.seen = map[passerelle.ConnectionID]*sight{}
	}
	noted := &sight{device: device, at: now}
	noted.ends = time.AfterFunc(lasts, func() { d.end(connection, noted) })
	d.seen[connection] = noted
}

// end forgets a device at the end of its user's presence, unless another device has replaced it.
func (d *Devices) end(connection passerelle.ConnectionID, noted *sight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen[connection] == noted {
		delete(d.seen, connection)
	}
}

// forget removes and returns the device of a connection's user. It returns nil when there is none.
// The caller holds the mutex.
func (d *Devices) forget(connection passerelle.ConnectionID) *sight {
	last := d.seen[connection]
	if last != nil {
		last.ends.Stop()
		delete(d.seen, connection)
	}
	return last
}

// Take returns the device of a connection's user, and forgets this device. It returns an empty
// device when the user acted too long ago. The institution would otherwise wrongly believe that the
// user is present.
func (d *Devices) Take(connection passerelle.ConnectionID, now time.Time) connector.Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.forget(connection)
	if last == nil || now.Sub(last.at) > lasts {
		return connector.Device{}
	}
	return last.device
}
