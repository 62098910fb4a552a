package httpd

import (
	"context"
	"log/slog"

	"passerelle/internal/tracing"
)

// Annotated returns a log that adds ids to each line: the ids of the request, of its trace, and of
// the current span. It adds only ids that the context of the line contains.
func Annotated(log *slog.Logger) *slog.Logger { return slog.New(annotated{log.Handler()}) }

// annotated adds to each line the ids in its context.
type annotated struct{ slog.Handler }

// Handle adds the ids, and passes on the line.
func (a annotated) Handle(ctx context.Context, line slog.Record) error {
	trace, span := tracing.IDs(ctx)
	for _, id := range []struct{ name, value string }{{"request_id", RequestID(ctx)}, {"trace_id", trace}, {"span_id", span}} {
		if id.value != "" && !has(line, id.name) {
			line.AddAttrs(slog.String(id.name, id.value))
		}
	}
	return a.Handler.Handle(ctx, line)
}

// has reports whether the line already has an attribute with this name.
func has(line slog.Record, name string) bool {
	found := false
	line.Attrs(func(a slog.Attr) bool {
		found = a.Key == name
		return !found
	})
	return found
}

// WithAttrs returns a handler that adds the attributes and the ids.
func (a annotated) WithAttrs(attrs []slog.Attr) slog.Handler {
	return annotated{a.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler that begins the group and adds the ids.
func (a annotated) WithGroup(name string) slog.Handler { return annotated{a.Handler.WithGroup(name)} }
