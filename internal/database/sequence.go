package database

import (
	"context"
	"fmt"
	"sync"
)

// A process reserves blockSize ids at first. Each later block is twice as large, up to maxBlock,
// because a writer that needs many ids would otherwise wait for the disk too often. A restart loses
// the rest of a block. Ids are unique and never reused, but they have gaps and are not in order.
const (
	blockSize = 100
	maxBlock  = 6400
)

// many is the minimum ratio of the size of a new block to the number of requested ids. A block can
// therefore be larger than maxBlock.
const many = 16

const reserveBlock = `INSERT INTO sequence (name, next) VALUES ($1, 1 + CAST($2 AS BIGINT))
	ON CONFLICT (name) DO UPDATE SET next = sequence.next + CAST($2 AS BIGINT)
	RETURNING next`

// sequences contains the blocks of ids that this process has reserved.
type sequences struct {
	mu     sync.Mutex
	byName map[string]*block
}

// block is a range of reserved ids. The field next is its first unused id, and end is the first id
// after the range. size is the number of ids that the last reservation added. lock guards the
// fields. lock is a channel and not a mutex, so that waiting ends with the context.
type block struct {
	lock      chan struct{}
	next, end int64
	size      int64
}

// NewID returns the next id of a sequence. The first id is 1, unless a migration sets another. When
// all reserved ids are used, NewID reserves a block of ids with a separate write. The block stays
// reserved even when this unit fails.
func (u *Unit) NewID(sequence string) (int64, error) { return u.NewIDs(sequence, 1) }

// NewIDs returns the first of count consecutive ids.
func (u *Unit) NewIDs(sequence string, count int) (int64, error) {
	id, err := u.handle.sequences.blockOf(sequence).take(u.ctx, int64(count), func(ctx context.Context, size int64) (int64, error) {
		return u.handle.reserve(ctx, sequence, size)
	})
	if sequence == u.watched && u.first == 0 && err == nil {
		u.first = id
	}
	return id, err
}

// Watch selects the sequence for Watched. Watched then returns the first id that the unit takes
// from this sequence after the call of Watch.
func (u *Unit) Watch(sequence string) { u.watched = sequence }

// Watched returns the first id of the watched sequence, or zero.
func (u *Unit) Watched() int64 { return u.first }

func (s *sequences) blockOf(name string) *block {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]*block{}
	}
	if s.byName[name] == nil {
		s.byName[name] = &block{lock: make(chan struct{}, 1)}
	}
	return s.byName[name]
}

func (b *block) take(ctx context.Context, count int64, reserve func(ctx context.Context, size int64) (end int64, err error)) (int64, error) {
	select {
	case b.lock <- struct{}{}:
		defer func() { <-b.lock }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if b.end-b.next < count {
		size := max(blockSize, min(2*b.size, maxBlock), count*many)
		end, err := reserve(ctx, size)
		if err != nil {
			return 0, err
		}
		b.next, b.end, b.size = end-size, end, size
	}
	b.next += count
	return b.next - count, nil
}

// reserve advances a sequence by a block, and returns the end of that block.
func (p *Handle) reserve(ctx context.Context, sequence string, size int64) (int64, error) {
	var end int64
	err := p.Write(ctx, func(u *Unit) error {
		u.Returning(func(row Row) error { return row.Scan(&end) }, reserveBlock, sequence, size)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reserve ids of %s: %w", sequence, err)
	}
	return end, nil
}
