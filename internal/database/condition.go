package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// About returns the name and version of the database.
func (r *Querier) About(ctx context.Context) (string, error) {
	words := r.engine.words()
	version, err := One(ctx, r, ScanString, words.about)
	if err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	return words.Name + " " + version, nil
}

// Clock returns the database's time, accurate to the millisecond. Leases expire according to this
// clock.
func (r *Querier) Clock(ctx context.Context) (time.Time, error) {
	now, err := One(ctx, r, ScanInt, `SELECT {now}`)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the database for its clock: %w", err)
	}
	return time.UnixMicro(now).UTC(), nil
}

// CheckFile checks a database file for damage and broken references. It reads the whole file. For
// PostgreSQL it does nothing: PostgreSQL always enforces references, and has separate programs for
// this check.
func (r *Querier) CheckFile(ctx context.Context) error {
	var found []error
	for _, check := range r.engine.words().checks {
		lines, err := Collect(ctx, r, ScanString, check)
		if err != nil {
			return fmt.Errorf("check the file of the database: %w", err)
		}
		if len(lines) > 0 && lines[0] != "ok" {
			found = append(found, errors.New(strings.Join(lines[:min(len(lines), maxFindings)], "; ")))
		}
	}
	return errors.Join(found...)
}

// maxFindings limits the findings that a check reports, because one finding is already a reason to
// stop.
const maxFindings = 20
