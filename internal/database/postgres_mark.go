package database

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// mark identifies a transaction in the database: a number in a slot, perhaps the slot's first.
// process is the server process while there is a connection, and lost means that there is none
// any more.
type mark struct {
	slot, unit int64
	first      bool
	process    uint32
	since      time.Time
	lost       bool
}

// connectedSince is the name of when a connection was made.
const connectedSince = "passerelle.since"

func noteConnection(conn *pgx.Conn) { conn.PgConn().CustomData()[connectedSince] = time.Now() }

// on notes where the transaction takes place.
func (m *mark) on(conn *pgx.Conn) {
	m.process = conn.PgConn().PID()
	m.since, _ = conn.PgConn().CustomData()[connectedSince].(time.Time)
}

// slots are the unused slots. Their numbers are by chance, so that other processes have others.
type slots struct {
	mu   sync.Mutex
	free []int64
}

// take is a mark in a slot of its own until give.
func (s *slots) take() *mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &mark{unit: 1 + rand.Int64N(1<<62)} //nolint:gosec // a name, no secret
	last := len(s.free) - 1
	if m.first = last < 0; m.first {
		m.slot = rand.Int64() //nolint:gosec // a name, no secret
		return m
	}
	m.slot, s.free = s.free[last], s.free[:last]
	return m
}

// give ends the use of a slot. A slot that a server may still lock after a lost connection is
// not used again: the next transaction would wait for it.
func (s *slots) give(m *mark, held bool) {
	if held {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, m.slot)
}
