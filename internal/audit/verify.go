package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// Checkpoint is the place and the hash of an act at an earlier time. A checkpoint outside the
// database shows whether the chain up to this act is unchanged.
type Checkpoint struct {
	Number int64
	Hash   []byte
}

// String returns a checkpoint in the form that ParseCheckpoint reads.
func (c Checkpoint) String() string { return fmt.Sprintf("%d:%x", c.Number, c.Hash) }

// ParseCheckpoint reads a checkpoint: a place, a colon and a hash of 64 hexadecimal digits.
func ParseCheckpoint(field, text string) (Checkpoint, error) {
	number, digits, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	hash, hexErr := hex.DecodeString(digits)
	if err != nil || hexErr != nil || n < 1 || len(hash) != len(Origin()) {
		return Checkpoint{}, passerelle.InvalidField(field, "must be a position and a hash as verify prints them, such as 120:9f86…")
	}
	return Checkpoint{n, hash}, nil
}

// ChainCheck is the result of reading a chain from its first act.
type ChainCheck struct {
	// Chain is the id of a domain. It is zero for the acts without a domain.
	Chain passerelle.DomainID
	// Last is the last act with a correct hash that the check has read.
	Last Checkpoint
	// Waiting is the number of acts that have no place yet. It is at most MaxWaiting, even if more
	// acts wait.
	Waiting int64
	// Broken is the first wrong place, or zero. Why describes the fault.
	Broken int64
	Why    string
}

// MaxWaiting limits the count of acts without a place.
const MaxWaiting = 10_000

// Intact reports whether every place of the chain is correct.
func (v ChainCheck) Intact() bool { return v.Broken == 0 }

// page is the number of acts that one query reads.
const page = 1000

// reading is a chain during the comparison with its hashes.
type reading struct {
	ChainCheck
	// marks lists hashes that are known from outside the log.
	marks []mark
}

// mark is the known hash of a place. The field other describes a log with a different hash at that
// place. The field missing describes a log that ends before that place.
type mark struct {
	Checkpoint
	other, missing string
}

// Verify reads a chain page by page, and finds the first wrong place. The argument `seen` is the
// checkpoint of an earlier check, or nil. Other processes may record acts and assign places while
// Verify runs. Verify calls the function progress with the number of acts that it has read.
func Verify(ctx context.Context, db *store.Reader, chain passerelle.DomainID, seen *Checkpoint, progress func(acts int64)) (ChainCheck, error) {
	before, err := operatorstore.From(db).AuditEnd(ctx, chain)
	if err != nil {
		return ChainCheck{}, fmt.Errorf("read the end of a chain: %w", err)
	}
	r := &reading{ChainCheck: ChainCheck{Chain: chain, Last: Checkpoint{Hash: Origin()}}}
	if seen != nil {
		r.marks = append(r.marks, mark{*seen, "it has another hash than the checkpoint", "it is missing: the checkpoint is of a longer log"})
	}
	if before.Number > 0 {
		missing := fmt.Sprintf("it is missing: the chain had %d acts", before.Number)
		r.marks = append(r.marks, mark{Checkpoint{before.Number, before.Hash}, "it is not the act that the chain ended with", missing})
	}
	if err := r.walk(ctx, db, progress); err != nil {
		return ChainCheck{}, err
	}
	r.Waiting, err = operatorstore.From(db).CountUnchainedAudit(ctx, chain, MaxWaiting)
	if err != nil {
		return ChainCheck{}, fmt.Errorf("count the acts without a place: %w", err)
	}
	return r.ChainCheck, nil
}

// walk checks acts until it finds a wrong act.
func (r *reading) walk(ctx context.Context, db *store.Reader, progress func(int64)) error {
	var last operatorstore.AuditLink
	for {
		acts, err := operatorstore.From(db).AuditLinks(ctx, r.Chain, last, page)
		if err != nil {
			return fmt.Errorf("read a chain: %w", err)
		}
		for _, act := range acts {
			if r.step(act); !r.Intact() {
				return nil
			}
		}
		progress(r.Last.Number)
		if len(acts) < page {
			return r.end(ctx, db)
		}
		last = acts[len(acts)-1]
	}
}

// step compares an act with the previous act.
func (r *reading) step(act operatorstore.AuditLink) {
	next := r.Last.Number + 1
	switch {
	case act.Number > next:
		r.breaks(next, "it is missing: the act after it is there")
	case act.Number < next:
		r.breaks(act.Number, "there is more than one act")
	case !bytes.Equal(act.Previous, r.Last.Hash):
		r.breaks(next, "it does not follow the act before it: one of the two was put in the place of another")
	case !bytes.Equal(act.Hash, hashOf(act.Previous, act.Number, act.Content)):
		r.breaks(next, "it was changed after it was stored")
	default:
		r.Last = Checkpoint{next, act.Hash}
		r.compare()
	}
}

// compare compares the current act with the marks for its place.
func (r *reading) compare() {
	for _, m := range r.marks {
		if m.Number == r.Last.Number && !bytes.Equal(m.Hash, r.Last.Hash) {
			r.breaks(m.Number, m.other)
			return
		}
	}
}

// end checks that the log ends neither too early nor after the recorded end.
func (r *reading) end(ctx context.Context, db *store.Reader) error {
	for _, m := range r.marks {
		if m.Number > r.Last.Number {
			r.breaks(r.Last.Number+1, m.missing)
			return nil
		}
	}
	after, err := operatorstore.From(db).AuditEnd(ctx, r.Chain)
	if err != nil {
		return fmt.Errorf("read the end of a chain: %w", err)
	}
	if r.Last.Number > after.Number {
		r.breaks(after.Number+1, "it is past the end of the chain: it was added by hand, or the record of the end is lost")
	}
	return nil
}

func (r *reading) breaks(place int64, why string) { r.Broken, r.Why = place, why }
