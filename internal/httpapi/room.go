package httpapi

import (
	"context"

	"passerelle/internal/httpd"
)

// objectSize is the estimated size of an object in a response, in bytes. The average transaction
// with its account and category has about this size.
const objectSize = 1 << 10

// Reserve counts memory for objects of the response, before they are rendered. Otherwise, many
// concurrent calls with long responses could fill the memory. It fails with an Unavailable error when
// the service has no memory for the objects now. Endpoints that have changed something must not fail
// for this reason.
func Reserve(ctx context.Context, objects int) error {
	return httpd.ReserveResponse(ctx, int64(objects)*objectSize)
}
