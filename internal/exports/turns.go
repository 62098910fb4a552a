package exports

import (
	"context"
	"runtime"
	"sync/atomic"

	"passerelle"
)

// turns has an element for each export that executes a query over a whole period or a page. The
// limit leaves connections and processors to other requests, which many long exports would
// otherwise delay. An export does not keep its turn while its receiver reads.
var turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// maxBeginning limits the exports that wait for their first query or execute it. Each of them
// occupies one of the service's concurrent requests.
const maxBeginning = 64

var beginning atomic.Int64

var errManyExports = &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "Too many exports are waiting; try again later.", RetryAfter: 5}

// Begin executes the first query of an export in turn. It fails with Unavailable while too many
// other exports wait. Call Begin before the response begins.
func Begin[T any](ctx context.Context, query func() (T, error)) (T, error) {
	defer beginning.Add(-1)
	if beginning.Add(1) > maxBeginning {
		var none T
		return none, errManyExports
	}
	return InTurn(ctx, query)
}

// InTurn executes a further query of an export. It waits while too many exports execute a query,
// until the context ends. The query must not call Begin or InTurn.
func InTurn[T any](ctx context.Context, query func() (T, error)) (T, error) {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
		return query()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
