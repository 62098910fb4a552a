// Package audit makes the audit log tamper-evident. Each act gets a place in the chain of its
// domain. Acts without a domain share one chain. The hash of a place covers the act's stored
// content and the hash of the previous place.
//
// The package owns the hash, the order of the acts, and the search for the first broken place. Use
// cases record the acts in their transactions. Package store stores the acts, and package
// operatorstore stores their places. Callers decide who may read the acts. A person who can write
// to the database can rebuild a complete chain. A checkpoint outside the database reveals such a
// change.
//
// The package fails with the errors of the store. A broken chain is a result, not an error.
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

// batch is the largest number of acts that one transaction chains. lease is the time after which
// another process may take over.
const (
	batch = 100
	lease = 30 * time.Second
)

// release limits the time for releasing the lease.
const release = time.Second

// Log assigns places to acts. Only one process assigns places at a time. Name distinguishes this
// process from the others.
type Log struct {
	DB   *store.DB
	Name string
}

// format is the beginning of the hashed bytes. It distinguishes this form of hash from later forms.
const format = "passerelle audit 1\n"

// Origin returns the hash that the first act of a chain uses as the previous hash.
func Origin() []byte { return make([]byte, sha256.Size) }

// hashOf returns the hash of an act at its place. It is the SHA-256 of the format's name, the
// previous hash, the place as eight bytes, and the act's content.
func hashOf(previous []byte, number int64, content []byte) []byte {
	h := sha256.New()
	h.Write([]byte(format))
	h.Write(previous)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(number)))
	h.Write(content)
	return h.Sum(nil)
}

// Chain assigns waiting acts their places at the end of their chain. It does nothing while another
// process does this work. Acts get their places in the order of their ids, after all acts that
// already have a place. Clocks and the length of transactions do not affect this order. When Chain
// cannot extend one chain, it still extends the other chains.
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

// first is less than the numbers of all chains.
const first passerelle.DomainID = -1

// each extends every chain for which an act waits.
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
			return errors.Join(failures...) // the lease lapsed; its next holder extends the other chains
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
