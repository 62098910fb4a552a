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
type Devices struct{ seen sync.Map }

// sight is a device, and the real time at which its user acted.
type sight struct {
	device connector.Device
	at     time.Time
}

// Note remembers the device of a user who acts now. A device is personal data. The package forgets
// the device at the end of the user's presence, even if nothing reads the connection.
func (d *Devices) Note(connection passerelle.ConnectionID, device connector.Device, now time.Time) {
	noted := &sight{device, now}
	d.seen.Store(connection, noted)
	time.AfterFunc(lasts, func() { d.seen.CompareAndDelete(connection, noted) })
}

// Take returns the device of a connection's user, and forgets this device. It returns an empty
// device when the user acted too long ago. The institution would otherwise wrongly believe that the
// user is present.
func (d *Devices) Take(connection passerelle.ConnectionID, now time.Time) connector.Device {
	taken, _ := d.seen.LoadAndDelete(connection)
	last, known := taken.(*sight)
	if !known || now.Sub(last.at) > lasts {
		return connector.Device{}
	}
	return last.device
}
