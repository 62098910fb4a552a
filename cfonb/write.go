package cfonb

import (
	"fmt"
	"io"
	"iter"
	"strings"
)

// Write writes statements one after the other. Each line ends with a line feed. Only one statement
// is in memory at a time. When a value of a statement does not fit, Write fails. It has then
// written the earlier statements and no part of this one.
func Write(w io.Writer, statements iter.Seq[Statement]) error {
	n := 0
	for s := range statements {
		n++
		lines, err := s.records()
		if err != nil {
			return fmt.Errorf("write statement %d: %w", n, err)
		}
		for _, r := range lines {
			if _, err := w.Write(append(r[:], '\n')); err != nil {
				return fmt.Errorf("write statement %d: %w", n, err)
			}
		}
	}
	return nil
}

func (s *Statement) records() ([]*record, error) {
	if err := s.Account.check(); err != nil {
		return nil, err
	}
	opening, err := s.Opening()
	if err != nil {
		return nil, err
	}
	first, last := blank(oldBalance, &s.Account), blank(newBalance, &s.Account)
	first.putAmount(opening)
	last.putAmount(s.Balance)
	if err := first.putDate(atDate, s.Opened, false); err != nil {
		return nil, err
	}
	if err := last.putDate(atDate, s.Closed, false); err != nil {
		return nil, err
	}
	lines := []*record{first}
	for i := range s.Movements {
		if lines, err = s.Movements[i].records(lines, &s.Account); err != nil {
			return nil, fmt.Errorf("movement %d: %w", i+1, err)
		}
	}
	return append(lines, last), nil
}

// unmarked is the code for a movement with available money and without an exemption from
// commission.
const unmarked = "00"

// records adds the records of a movement to lines.
func (m *Movement) records(lines []*record, a *Account) ([]*record, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	r := blank(movement, a)
	r.put(atOperation, m.Operation)
	r.put(atInternal, m.Internal)
	if err := r.putDate(atDate, m.Booked, false); err != nil {
		return nil, err
	}
	if err := r.putDate(atValue, m.Value, true); err != nil {
		return nil, err
	}
	label := broken(Text(m.Label))
	r.put(atLabel, label[0])
	r.put(atEntry, fmt.Sprintf("%0*d", atEntry.size(), m.Entry))
	r.put(atMarks, unmarked)
	r.putAmount(m.Amount)
	r.put(atReference, Text(m.Reference))
	lines = append(lines, r)
	for _, part := range label[1:] {
		lines = append(lines, r.detail(a, Label, part))
	}
	for _, d := range m.Details {
		lines = append(lines, r.detail(a, d.Qualifier, Text(d.Text)))
	}
	return lines, nil
}

// detail returns a record that belongs to the movement r.
func (r *record) detail(a *Account, qualifier, text string) *record {
	d := blank(detail, a)
	d.put(atOperation, r.get(atOperation))
	d.put(atInternal, r.get(atInternal))
	d.put(atDate, r.get(atDate))
	d.put(atQualifier, qualifier)
	d.put(atText, text)
	return d
}

// broken splits a label. The first part fits the columns of a movement and may be empty. The other
// parts fit the columns of details.
func broken(text string) []string {
	parts, room := []string{""}, atLabel.size()
	add := func(word string) {
		last := &parts[len(parts)-1]
		joined := strings.TrimPrefix(*last+" "+word, " ")
		if len(joined) <= room {
			*last = joined
			return
		}
		parts, room = append(parts, word), atText.size()
	}
	for word := range strings.FieldsSeq(text) {
		for ; len(word) > atLabel.size(); word = word[atLabel.size():] {
			add(word[:atLabel.size()])
		}
		add(word)
	}
	return parts
}
