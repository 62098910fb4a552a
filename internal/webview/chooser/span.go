package chooser

import (
	"maps"
	"net/url"
	"strconv"

	"passerelle/internal/web"
)

// Part is the part of a long list that one page shows. Earlier is the address of the previous part,
// and Later the address of the next part. Each is empty when there is no such part.
type Part struct {
	First, End     int
	Earlier, Later string
}

// Parts has the links to the neighbouring parts, with the texts of the page.
type Parts struct {
	Part
	Words web.Words
}

// Parts returns the data of the template block of the same name.
func (s Part) Parts(words web.Words) Parts { return Parts{s, words} }

// NewPart returns the part that the query of an address requests. length is the number of entries
// in the list. most is the largest number of entries of a part.
func NewPart(query url.Values, length, most int) Part {
	query = maps.Clone(query)
	first, _ := strconv.Atoi(query.Get(FromParameter)) // without a position, the list starts at 0
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

// FromParameter is the parameter with the position of the part's first entry, counted from 0.
const FromParameter = "from"
