package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"passerelle"
	"passerelle/internal/store"
)

// LimitOffset contains the parameters limit and offset of lists. Its tags set the limits of every
// page.
type LimitOffset struct {
	Limit  int64 `query:"limit" default:"1000" min:"1" max:"1000" doc:"maximum number of items"`
	Offset int64 `query:"offset" default:"0" min:"0" doc:"number of items to skip"`
}

// limitRules are the rules of the parameter limit.
var limitRules = func() rules {
	limit, _ := reflect.TypeFor[LimitOffset]().FieldByName("Limit")
	return newRules(limit)
}()

// MaxLimit is the maximum of the parameter limit. No page has more items.
func MaxLimit() int { return int(*limitRules.max) }

// Paging contains the parameters of lists that can be longer than a page. The inputs of these lists
// embed Paging, and the handlers must call Turn to read the page.
type Paging struct {
	LimitOffset
	Cursor string `query:"cursor" doc:"opaque position in the list, taken from a link"`

	limitSet bool
	turn     cursor
	links    linker
}

// RequireLimit fails for a strict client whose request has no limit. The handlers of some lists
// call it.
func (p Paging) RequireLimit(c *Caller) error {
	if !c.Strict || p.limitSet {
		return nil
	}
	return passerelle.MissingField("limit", "is required, "+limitRules.span())
}

// PageWindow selects the rows that a list handler reads from the store.
type PageWindow struct {
	// Limit is the number of rows to read. It is the size of the page plus one: the additional row
	// shows that another page follows.
	Limit int
	// Offset is the number of rows to skip first. It is zero when the window has a position.
	Offset int64
	// From is the position after which the window begins. If Backward is set, it is the position
	// before which the window ends. It is nil for a window without a position.
	From Position
	// Backward is set for a window that ends before From. The handler then reads the rows in the
	// opposite order: the row next to From comes first.
	Backward bool
}

// OfRows returns the window for rows that have only one possible order.
func (w PageWindow) OfRows() store.Window {
	return store.Window{Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward}
}

// Link is the address of another page.
type Link struct {
	Href string `json:"href" doc:"full address of the page, to be used unchanged"`
}

// Links contains the links to the pages around a page. A link is null when there is no such page.
type Links struct {
	Self Link  `json:"self"`
	Prev *Link `json:"prev"`
	Next *Link `json:"next"`
}

// Listing contains the members that follow the items in the output of a list.
type Listing struct {
	Total int64 `json:"total" doc:"number of items on all pages; pages after the first, reached with a link, repeat the number from the first page"`
	Links Links `json:"_links"`
}

func (p *Paging) settle(x *exchange, _ reflect.StructTag) error {
	p.limitSet = x.query.Has("limit")
	p.links = newLinker(x)
	if p.Cursor == "" {
		return nil
	}
	if p.Offset > 0 {
		return passerelle.InvalidField("offset", "cannot be combined with a cursor")
	}
	turn, err := openCursor(p.Cursor, p.links.mac, p.links.place)
	p.turn = turn
	return err
}

// window returns the window of the page's rows.
func (p Paging) window() PageWindow {
	return PageWindow{Limit: int(p.Limit) + 1, Offset: p.Offset, From: p.turn.Position, Backward: p.turn.Backward}
}

// Turn reads one page. fetch reads the rows of a window, in the order of the window. position
// returns the sort keys of a row, and the last key is unique. count returns the number of rows in
// the filtered list. Turn never calls count for a page with a cursor, because the cursor contains
// this number. Turn reserves memory for the rows.
func Turn[T any](ctx context.Context, r *store.Reader, p Paging, fetch func(context.Context, *store.Reader, PageWindow) ([]T, error), position func(T) Position, count func(context.Context, *store.Reader) (int64, error)) ([]T, Listing, error) {
	window := p.window()
	var rows []T
	var more, fetched bool
	var total int64
	err := r.Together(ctx, func(r *store.Reader) error {
		var err error
		rows, err = fetch(ctx, r, window)
		if more, fetched = len(rows) == window.Limit, true; more {
			rows = rows[:p.Limit]
		}
		return err
	}, func(r *store.Reader) error {
		var err error
		if p.Cursor != "" || fetched && p.totalKnown(len(rows), more) {
			return nil
		}
		if total, err = count(ctx, r); err != nil {
			err = fmt.Errorf("count the list: %w", err)
		}
		return err
	})
	if err != nil {
		return nil, Listing{}, err
	}
	switch {
	case p.Cursor != "":
		total = p.turn.Total
	case p.totalKnown(len(rows), more):
		total = p.Offset + int64(len(rows))
	}
	if err := Reserve(ctx, len(rows)); err != nil {
		return nil, Listing{}, err
	}
	if window.Backward {
		slices.Reverse(rows)
	}
	var ends []Position
	if len(rows) > 0 {
		ends = []Position{position(rows[0]), position(rows[len(rows)-1])}
	}
	links, err := p.around(ends, more, total)
	return rows, Listing{Total: total, Links: links}, err
}

// totalKnown reports whether the total is known without a count, because the list ends on this page.
func (p Paging) totalKnown(rows int, more bool) bool { return !more && (rows > 0 || p.Offset == 0) }

// around returns the links of a page, from the positions of its first and last item. A page without
// items has no positions. Unless it is the first page, it links to the first page.
func (p Paging) around(ends []Position, more bool, total int64) (Links, error) {
	links := Links{Self: p.links.self}
	started := p.turn.Position != nil || p.Offset > 0
	before, after := started, more
	if p.turn.Backward {
		before, after = more, true
	}
	if ends == nil {
		return p.back(links, started), nil
	}
	var err error
	if before {
		links.Prev, err = p.links.to(cursor{Position: ends[0], Backward: true, Total: total})
	}
	if after && err == nil {
		links.Next, err = p.links.to(cursor{Position: ends[1], Total: total})
	}
	return links, err
}

func (p Paging) back(links Links, started bool) Links {
	first := p.links.first()
	switch {
	case p.turn.Backward:
		links.Next = &first
	case started:
		links.Prev = &first
	}
	return links
}

// linker makes the addresses of other pages of a list. These addresses keep all parameters of the
// current request except cursor and offset.
type linker struct {
	base  string
	query url.Values
	self  Link
	// place identifies the list to which a cursor is bound: the domain, the user and the payment of
	// the token, the path and the filters.
	place []byte
	mac   func(purpose string, data []byte) []byte
}

func newLinker(x *exchange) linker {
	l := linker{base: x.caller.Base + x.path, query: url.Values{}, mac: x.mac}
	for name, values := range x.query {
		l.query[name] = values
	}
	l.self = l.link()
	l.query.Del("cursor")
	l.query.Del("offset")
	l.place = l.bind(x)
	return l
}

func (l linker) link() Link {
	if len(l.query) == 0 {
		return Link{Href: l.base}
	}
	return Link{Href: l.base + "?" + l.query.Encode()}
}

func (l linker) first() Link { return l.link() }

func (l linker) to(c cursor) (*Link, error) {
	sealed, err := c.seal(l.mac, l.place)
	if err != nil {
		return nil, err
	}
	l.query.Set("cursor", sealed)
	link := l.link()
	l.query.Del("cursor")
	return &link, nil
}

// bind returns the place to which the list's cursors are bound. The place does not contain the
// limit, because a client may change the size of its pages.
func (l linker) bind(x *exchange) []byte {
	filters := url.Values{}
	for name, values := range l.query {
		if name != "limit" {
			filters[name] = values
		}
	}
	place := strconv.AppendInt(nil, int64(x.caller.Domain.ID), 10)
	place = strconv.AppendInt(append(place, ' '), int64(x.caller.User), 10)
	place = strconv.AppendInt(append(place, ' '), int64(x.caller.Payment), 10)
	return append(place, " "+x.path+"?"+filters.Encode()...)
}
