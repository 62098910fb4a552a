package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// costsOf is the number of payments, at scale 1, from which the cost of one payment is calculated.
const costsOf = 10_000

// spending is the total cost so far. It consists of processor time of this process and of the
// database server, bytes of the transaction log, and the number of transactions that wrote.
type spending struct {
	process, server time.Duration
	log, written    int64
}

// costs prints the cost of a payment on PostgreSQL. The cost includes all changes up to a final
// state, and their webhooks.
func (o options) costs(ctx context.Context, out io.Writer) (err error) {
	p := &place{options: o}
	defer func() { err = errors.Join(err, p.close()) }()
	database, err := p.database(ctx, postgres)
	if err != nil {
		return err
	}
	w, err := p.payingService(ctx, postgres, database)
	if err != nil {
		return err
	}
	receiver, err := p.serve(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		return err
	}
	if err := w.subscribe(ctx, receiver); err != nil {
		return err
	}
	if err := w.payThrough(ctx, p, manyClients); err != nil { // excludes costs that only the first payments have
		return err
	}
	payments := p.amount(costsOf)
	before, err := p.spent(ctx, database)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := w.payThrough(ctx, p, payments); err != nil {
		return err
	}
	took := time.Since(begun)
	after, err := p.spent(ctx, database)
	if err != nil {
		return err
	}
	each := func(total time.Duration) float64 { return float64(total.Microseconds()) / 1000 / float64(payments) }
	fmt.Fprintf(out, "%d payments, %.0f a second. Each took %.2f ms of a processor in the service and its clients, %.2f ms in the server, %d bytes of log, %.1f transactions.\n",
		payments, float64(payments)/took.Seconds(), each(after.process-before.process), each(after.server-before.server),
		(after.log-before.log)/int64(payments), float64(after.written-before.written)/float64(payments))
	return nil
}

// payThrough brings payments to a final state. It returns when all their webhooks are delivered.
func (w *instance) payThrough(ctx context.Context, p *place, payments int) error {
	c := newCaller(w.token, manyClients)
	_, err := load(ctx, manyClients, payments, func(ctx context.Context, _ int) error {
		var v customer
		for _, take := range []step{(*customer).order, (*customer).validate, (*customer).comeBack} {
			if err := take(&v, ctx, c, w.base); err != nil {
				return err
			}
		}
		return nil
	})
	for left := int64(1); err == nil && left > 0; pause(ctx, 10*time.Millisecond) {
		if err = ctx.Err(); err == nil {
			left, err = p.numberIn(ctx, w.kind, w.database, `SELECT (SELECT count(*) FROM event) - (SELECT count(*) FROM delivery WHERE delivered IS NOT NULL)`)
		}
	}
	return err
}

// spent returns the spending so far. It requires that the database server is on this machine.
func (p *place) spent(ctx context.Context, database string) (spending, error) {
	s := spending{process: processorTime()}
	pool, err := p.pool(ctx, database)
	if err != nil {
		return s, err
	}
	err = pool.QueryRow(ctx, `SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS BIGINT), CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT)`).Scan(&s.log, &s.written)
	if err != nil {
		return s, fmt.Errorf("ask for the log of the server: %w", err)
	}
	rows, err := pool.Query(ctx, `SELECT pid FROM pg_stat_activity`)
	if err != nil {
		return s, fmt.Errorf("list the processes of the server: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var process int
		if err := rows.Scan(&process); err != nil {
			return s, err
		}
		used, err := timeOf(process)
		if err != nil {
			return s, err
		}
		s.server += used
	}
	return s, rows.Err()
}

// clockTicks is the number of units of processor time that the kernel counts per second.
const clockTicks = 100

func timeOf(process int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, fmt.Errorf("read the time of a process of the server: %w", err)
	}
	_, fields, _ := strings.Cut(string(text), ") ") // after the name of the program
	var ticks int64
	for _, field := range strings.Fields(fields)[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the time of a process of the server: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}
