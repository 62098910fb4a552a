// Package audit makes the audit log tamper-evident. Each act has a place in the chain of its
// domain, with a hash over its stored content and the hash of the previous act.
//
// It owns the hash, the order of the acts, and the search for the first broken place. It does
// not own the acts, which use cases record in their transactions. Nor does it own the storage of
// acts, or who may read them. A person who can write to the database can rebuild a complete
// chain. A checkpoint that is stored elsewhere reveals this.
//
// It fails with the errors of the store. A broken chain is a result, not an error.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// These are the limits of a process: the number of acts in a unit, and the time for a unit.
const (
	batch = 100
	lease = 30 * time.Second
)

// release limits how long the release of the lease may take when the process stops.
const release = time.Second

// Log gives acts their places. Only one process works at a time. Name distinguishes this process
// from others.
type Log struct {
	DB   *store.DB
	Name string
}

// format is at the beginning of the hashed bytes, so that other forms can be distinguished
// later.
const format = "passerelle audit 1\n"

// Origin returns the hash that the first act of a chain has as its previous hash.
func Origin() []byte { return make([]byte, sha256.Size) }

// hashOf returns the hash of an act in its place: SHA-256 over the format's name, the previous
// hash, the place as eight bytes, and the act's content.
func hashOf(previous []byte, number int64, content []byte) []byte {
	h := sha256.New()
	h.Write([]byte(format))
	h.Write(previous)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(number)))
	h.Write(content)
	return h.Sum(nil)
}

// Chain gives waiting acts their places at the end of their chain. It does nothing while another
// process is doing this. Acts get their places in the order of their ids, after all acts that
// already have a place. The order does not depend on clocks or on how long transactions took. If
// a chain cannot be extended, the others still are.
func (l *Log) Chain(ctx context.Context) error {
	_, err := operatorstore.From(l.DB).NextUnchained(ctx, first)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = l.DB.Write(ctx, func(tx *store.Tx) error {
			operatorstore.In(tx).LeaseAuditChains(l.Name, lease)
			return nil
		})
	}
	if err == nil {
		err = errors.Join(l.each(ctx), l.release(ctx))
	}
	if errors.Is(err, operatorstore.ErrNoLease) {
		return nil
	}
	return failed("lengthen the chains of the audit log", err)
}

// first is a number that comes before those of all chains.
const first passerelle.DomainID = -1

// each extends every chain in which an act waits.
func (l *Log) each(ctx context.Context) error {
	var failures []error
	for chain := first; ; {
		next, err := operatorstore.From(l.DB).NextUnchained(ctx, chain)
		if errors.Is(err, store.ErrNotFound) {
			return errors.Join(failures...)
		}
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		err = l.lengthen(ctx, next)
		if errors.Is(err, operatorstore.ErrNoLease) {
			return err
		}
		failures = append(failures, failed(fmt.Sprintf("chain %d", next), err))
		chain = next
	}
}

func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// release ends the lease, even when the process is stopping.
func (l *Log) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), release)
	defer cancel()
	return l.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).ReleaseAuditChains(l.Name)
		return nil
	})
}

// lengthen adds the waiting acts to the end of a chain, batch by batch.
func (l *Log) lengthen(ctx context.Context, chain passerelle.DomainID) error {
	for {
		acts, err := operatorstore.From(l.DB).UnchainedAudit(ctx, chain, batch)
		if err != nil || len(acts) == 0 {
			return err
		}
		if err := l.append(ctx, chain, acts); err != nil || len(acts) < batch {
			return err
		}
	}
}

func (l *Log) append(ctx context.Context, chain passerelle.DomainID, acts []operatorstore.AuditLink) error {
	end, err := operatorstore.From(l.DB).AuditEnd(ctx, chain)
	if err != nil {
		return err
	}
	number, hash := end.Number, end.Hash
	if number == 0 {
		hash = Origin()
	}
	for i := range acts {
		act := &acts[i]
		number++
		act.Number, act.Previous = number, hash
		hash = hashOf(hash, number, act.Content)
		act.Hash = hash
	}
	return l.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).Chain(end, acts, l.Name, lease)
		return nil
	})
}
