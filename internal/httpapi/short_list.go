package httpapi

import (
	"context"
	"reflect"
)

// shortInput adds LimitOffset to the input of a handler that returns a short list. A short list
// fits on one page. The handler's output has a total and no links. The list's route accepts the
// parameters of LimitOffset in addition to its own, because clients of this API family read every
// list page by page. The handler returns the whole list, and cut keeps only the requested items.
type shortInput[In any] struct {
	Input In `inner:"true"`
	LimitOffset
}

// cut returns a handler that returns only the requested items. The output has its items in the
// field at index.
func cut[In, Out any](h func(context.Context, *Caller, In) (Out, error), index []int) func(context.Context, *Caller, shortInput[In]) (Out, error) {
	return func(ctx context.Context, c *Caller, in shortInput[In]) (Out, error) {
		out, err := h(ctx, c, in.Input)
		items := reflect.ValueOf(&out).Elem().FieldByIndex(index)
		first := min(in.Offset, int64(items.Len()))
		items.Set(items.Slice(int(first), int(min(first+in.Limit, int64(items.Len())))))
		return out, err
	}
}

// shortItems returns the index of the items of an output that is a short list, or nil for other
// outputs.
func shortItems(out reflect.Type) []int {
	if out.Kind() != reflect.Struct {
		return nil
	}
	var lists [][]int
	total := false
	for _, f := range reflect.VisibleFields(out) {
		switch {
		case f.Type == reflect.TypeFor[Listing]():
			return nil
		case f.Tag.Get("json") == "total":
			total = true
		case f.Type.Kind() == reflect.Slice && f.IsExported():
			lists = append(lists, f.Index)
		}
	}
	if !total || len(lists) != 1 {
		return nil
	}
	return lists[0]
}
