package connector

import (
	"context"
	"net/netip"
)

// Device describes the device of the person who takes part. Banks require it while the person
// is present. Each field may be empty.
type Device struct {
	// Address is the IP address of the person, not of the application.
	Address netip.Addr
	// The headers of the person's browser or app.
	UserAgent, Accept, AcceptLanguage string
}

type deviceKey struct{}

// WithDevice returns a context with the device of the person who caused an action.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

// DeviceOf returns the device of WithDevice. It is empty when nobody takes part.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
