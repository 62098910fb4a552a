package passerelle

import "time"

// Platform is how a user came to be, a word of the interface.
type Platform string

// SharedAccess is the platform of users that applications create. It is the only platform here.
// Other programs of this API family have more.
const SharedAccess Platform = "sharedAccess"

// User is an end user of a domain: whoever owns connections. A user that an application creates
// with its credentials is permanent. Any other is temporary, and deleted when it expires unless
// an application takes it over.
type User struct {
	ID       UserID
	Domain   DomainID
	Platform Platform
	// Created and Permanent are instants of the domain's time; Permanent is nil
	// as long as the user is temporary.
	Created   time.Time
	Permanent *time.Time
	// Expires is when a temporary user ends. It is in real time, as is everything that
	// credentials depend on; nil for a permanent user.
	Expires *time.Time
	// Version counts the events about the user, which are delivered in its
	// order.
	Version int64
}
