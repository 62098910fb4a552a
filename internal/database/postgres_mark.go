package database

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// mark identifies a transaction in the database by a number in a slot. first means that the slot
// was not used before. process is the number of the server process, or zero without a connection.
// since is the time at which the connection was made. lost means that the connection was lost.
type mark struct {
	slot, unit int64
	first      bool
	process    uint32
	since      time.Time
	lost       bool
}

// connectedSince is the key under which a connection stores the time of its start.
const connectedSince = "passerelle.since"

func noteConnection(conn *pgx.Conn) { conn.PgConn().CustomData()[connectedSince] = time.Now() }

// recordConnection records the connection of the transaction.
func (m *mark) recordConnection(conn *pgx.Conn) {
	m.process = conn.PgConn().PID()
	m.since, _ = conn.PgConn().CustomData()[connectedSince].(time.Time)
}

// slots contains the free slots of this process. Their numbers are random, so other processes use
// different slots.
type slots struct {
	mu   sync.Mutex
	free []int64
}

// acquire returns a mark in a slot. No other transaction uses the slot until release.
func (s *slots) acquire() *mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &mark{unit: 1 + rand.Int64N(1<<62)} //nolint:gosec // an identifier, not a secret
	last := len(s.free) - 1
	if m.first = last < 0; m.first {
		m.slot = rand.Int64() //nolint:gosec // an identifier, not a secret
		return m
	}
	m.slot, s.free = s.free[last], s.free[:last]
	return m
}

// release makes a slot free, unless unusable is true. After a lost connection, a server may still
// lock the slot, and the next transaction would wait. After a COMMIT that was not confirmed,
// [postgresEngine.outcome] may have invalidated the slot, and the next transaction would fail.
func (s *slots) release(m *mark, unusable bool) {
	if unusable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, m.slot)
}
