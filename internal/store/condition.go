package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// About names the database and its version.
func (r *Reader) About(ctx context.Context) (string, error) {
	words := r.engine.words()
	version, err := one(ctx, r, scanString, words.about)
	if err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	return words.name + " " + version, nil
}

// Clock is the database's clock, to the millisecond, by which leases lapse.
func (r *Reader) Clock(ctx context.Context) (time.Time, error) {
	now, err := one(ctx, r, scanInt, `SELECT {now}`)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the database for its clock: %w", err)
	}
	return instant(now), nil
}

// CheckFile has a database that is one file look for damage in it, and for
// references that lead nowhere; it reads the whole file. PostgreSQL has programs
// of its own for that, and enforces references at all times.
func (r *Reader) CheckFile(ctx context.Context) error {
	var found []error
	for _, check := range r.engine.words().checks {
		lines, err := collect(ctx, r, scanString, check)
		if err != nil {
			return fmt.Errorf("check the file of the database: %w", err)
		}
		if len(lines) > 0 && lines[0] != "ok" {
			found = append(found, errors.New(strings.Join(lines[:min(len(lines), maxBroken)], "; ")))
		}
	}
	return errors.Join(found...)
}
