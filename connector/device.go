package connector

import (
	"context"
	"net/netip"
)

// Device describes the device of the user who takes part. It is empty when no user is present, and
// when an application acts for a user without naming the device. Each field may be empty.
type Device struct {
	// Address is the IP address of the user's device, not of the application.
	Address netip.Addr
	// UserAgent, Accept and AcceptLanguage are the headers of the user's browser or app.
	UserAgent, Accept, AcceptLanguage string
}

type deviceKey struct{}

// WithDevice returns a context with the device of the user who caused an action.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

// DeviceOf returns the device set by WithDevice. It is empty when none was set.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
