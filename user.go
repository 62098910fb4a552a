package passerelle

import "time"

// Platform says how a user was created. The API defines its values.
type Platform string

// SharedAccess is the only platform in this service.
const SharedAccess Platform = "sharedAccess"

// User is an end user of a domain. Users own connections. The webview creates temporary users. POST
// /auth/init also creates a temporary user when the request contains neither client credentials nor
// a config token. A temporary user is deleted at its expiry unless an application takes it over.
// All other users are permanent.
type User struct {
	ID       UserID
	Domain   DomainID
	Platform Platform
	// Created and Permanent are in the domain's time. Permanent is nil as long as the user is
	// temporary.
	Created   time.Time
	Permanent *time.Time
	// Expires is the time at which a temporary user expires, nil for a permanent user. Like the
	// expiry of credentials, it is in real time.
	Expires *time.Time
	// Version counts the events about the user. Events are delivered in the order of their
	// versions.
	Version int64
}
