package chooser

import (
	"maps"
	"net/url"
	"strconv"

	"passerelle/internal/web"
)

// Part is the part of a long list that is on a page, and where the parts around it
// are, empty for nowhere.
type Part struct {
	First, End     int
	Earlier, Later string
}

// Parts are the links around a part, in the words of the page.
type Parts struct {
	Part
	Words web.Words
}

// Parts is what the block of the same name shows.
func (s Part) Parts(words web.Words) Parts { return Parts{s, words} }

// NewPart is the part of a list of so many, of at most so many, that the query of an address
// names.
func NewPart(query url.Values, length, most int) Part {
	query = maps.Clone(query)
	first, _ := strconv.Atoi(query.Get(FromParameter)) // none is the first
	if first < 0 || first >= length {
		first = 0
	}
	s := Part{First: first, End: min(first+most, length)}
	at := func(place int) string {
		query.Set(FromParameter, strconv.Itoa(place))
		return "?" + query.Encode()
	}
	if first > 0 {
		s.Earlier = at(max(0, first-most))
	}
	if s.End < length {
		s.Later = at(s.End)
	}
	return s
}

// FromParameter names where the part of a list begins, counted from 0.
const FromParameter = "from"
