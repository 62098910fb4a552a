package connector

import (
	"context"
	"net/netip"
)

// Device describes the device of the user who takes part. Banks require it while the user is
// present. Each field may be empty.
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

// DeviceOf returns the device set by WithDevice. It is empty when no user takes part.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
