package connector

import (
	"context"
	"net/netip"
)

// Device is what is known of the device by which a person takes part. Banks want to
// know it while the person is there. All of it may be missing.
type Device struct {
	// Address is the IP address of the person, not of the application.
	Address netip.Addr
	// The headers of the person's browser or app.
	UserAgent, Accept, AcceptLanguage string
}

type deviceKey struct{}

// WithDevice says by which device the person takes part who caused what is done.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

// DeviceOf is the device of WithDevice; it is empty where nobody takes part.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
