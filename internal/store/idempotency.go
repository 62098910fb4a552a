package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// responseRetention is the time during which responses are stored for repeated requests. keyLease is
// the time after which another request may take over the key of an interrupted request. The
// executing request renews the lease of its key after each keyRenewal. The database's clock
// measures responseRetention and keyLease.
const (
	responseRetention = 24 * time.Hour
	keyLease          = 20 * time.Second
	keyRenewal        = keyLease / 4
)

// RepeatKey identifies a request by its token and the hash of its Idempotency-Key. It also contains
// the hash of the request.
type RepeatKey struct {
	Domain  passerelle.DomainID
	Token   int64
	Key     []byte // SHA-256
	Request []byte // SHA-256
}

// Execution is the right to execute the request of a key. Its zero value stands for a request
// without a key: with it, [Tx.Executed] and the other methods of Tx that take an Execution change
// nothing.
type Execution struct {
	Domain passerelle.DomainID
	ID     int64
	Run    int64
	// form is the key of a form. It is set only by FormExecution.
	form [sha256.Size]byte
}

// FormExecution returns the right to create one object for a form of a page. The form's key must be
// unguessable. Nobody claims the key before [Tx.Executed] does, in the transaction that creates the
// object. A second transaction with the same key fails with ErrRepeated, and [Reader.MadeFor]
// returns the object of the first one. This works for responseRetention.
func FormExecution(domain passerelle.DomainID, key string) Execution {
	return Execution{Domain: domain, form: sha256.Sum256([]byte(key))}
}

// formToken takes the place of a token's id in the keys of forms. No token has this id.
const formToken = 0

// Claim is the outcome of an attempt to claim a key. Exactly one of Execution.ID, Response, Other
// and Wait is set.
type Claim struct {
	// Execution is set when the caller must execute the request now. Subject is then the id of the
	// object that an earlier, interrupted execution created, or zero. The caller must not create
	// that object again.
	Execution Execution
	Subject   int64
	// Response is the stored response of an earlier execution.
	Response []byte
	// Other is true when the key belongs to a different request.
	Other bool
	// Wait is the time until the lease of the running execution lapses, at least one second. The
	// execution may renew its lease.
	Wait time.Duration
}

// ClaimKey claims the right to execute a request, and commits this claim. A caller can claim a new
// or expired key. It can also claim a key whose execution was interrupted, after the lease has
// lapsed. Only one of several simultaneous callers gets the key.
func (db *DB) ClaimKey(ctx context.Context, k RepeatKey) (Claim, error) {
	var row keyRow
	err := db.Write(ctx, func(tx *Tx) error { return tx.claimKey(k, &row) })
	if err != nil {
		return Claim{}, fmt.Errorf("claim an idempotency key: %w", err)
	}
	return row.claim(k, db.keys)
}

// keyRow is the row of a key after the attempt to claim it.
type keyRow struct {
	execution Execution
	claimed   bool
	request   []byte
	wait      int64
	subject   *int64
	response  []byte
}

// claimKey claims the row if it is free, and reads the row in any case.
func (tx *Tx) claimKey(k RepeatKey, row *keyRow) error {
	id, err := tx.unit.NewID("idempotency")
	if err != nil {
		return err
	}
	tx.unit.OnRetry(func() { *row = keyRow{} })
	tx.unit.Returning(func(s database.Row) error {
		row.claimed = true
		return s.Scan(&row.execution.ID)
	}, `INSERT INTO idempotency (id, domain_id, token_id, key_hash, request_hash, run, lease_until, expires)
		VALUES ($1, $2, $3, $4, $5, 1, {now} + $6, {now} + $7)
		ON CONFLICT (domain_id, token_id, key_hash) DO UPDATE SET
			request_hash = excluded.request_hash, run = idempotency.run + 1,
			lease_until = excluded.lease_until, expires = excluded.expires,
			answer = NULL, subject = CASE WHEN idempotency.expires < {now} THEN NULL ELSE idempotency.subject END
		WHERE idempotency.expires < {now} OR (idempotency.answer IS NULL
			AND idempotency.lease_until < {now} AND idempotency.request_hash = excluded.request_hash)
		RETURNING id`,
		id, int64(k.Domain), k.Token, k.Key, k.Request, keyLease.Microseconds(), responseRetention.Microseconds())
	tx.unit.Returning(func(s database.Row) error {
		row.execution.Domain = k.Domain
		return s.Scan(&row.execution.ID, &row.execution.Run, &row.request, &row.wait, &row.subject, &row.response)
	}, `SELECT id, run, request_hash, lease_until - {now}, subject, answer FROM idempotency
		WHERE domain_id = $1 AND token_id = $2 AND key_hash = $3`, int64(k.Domain), k.Token, k.Key)
	return nil
}

func (row keyRow) claim(k RepeatKey, ring *keys.Ring) (Claim, error) {
	switch {
	case row.claimed:
		return Claim{Execution: row.execution, Subject: database.ID[int64](row.subject)}, nil
	case !bytes.Equal(row.request, k.Request):
		return Claim{Other: true}, nil
	case row.response == nil:
		return Claim{Wait: max(time.Duration(row.wait)*time.Microsecond, time.Second)}, nil
	}
	response, err := row.execution.open(ring, row.response)
	return Claim{Response: response}, err
}

func (e Execution) place() keys.Place {
	return keys.Place{Domain: int64(e.Domain), Table: "idempotency", Column: "answer", Row: e.ID}
}

// HoldKey renews the right to execute a request until the caller calls the returned function. If
// renewals fail until the lease lapses, another request may take over the key.
func (db *DB) HoldKey(ctx context.Context, e Execution) func() {
	every, ended := cmp.Or(db.keyRenewal, keyRenewal), make(chan struct{})
	ctx = context.WithoutCancel(ctx)
	timer := time.AfterFunc(every, func() {
		for waiting := true; waiting; {
			if err := db.renewKey(ctx, e); err != nil {
				db.log.WarnContext(ctx, "an idempotency key could not be held", "execution", e.ID, "error", err)
			}
			select {
			case <-ended:
				waiting = false
			case <-time.After(every):
			}
		}
	})
	return func() { timer.Stop(); close(ended) }
}

// renewKey renews the lease of a key once. It gives up after a quarter of the lease, which leaves
// time for another try.
func (db *DB) renewKey(ctx context.Context, e Execution) error {
	ctx, cancel := context.WithTimeout(ctx, keyRenewal)
	defer cancel()
	return db.Write(ctx, func(tx *Tx) error { tx.renewKey(e); return nil })
}

func (tx *Tx) renewKey(e Execution) {
	tx.unit.Exec(`UPDATE idempotency SET lease_until = {now} + $1 WHERE +domain_id = $2 AND id = $3 AND run = $4 AND answer IS NULL AND lease_until > 0`,
		keyLease.Microseconds(), int64(e.Domain), e.ID, e.Run)
}

// Executed records the id of an object in the transaction that creates the object. The unit fails
// with ErrTakenOver when another execution has taken over the key. An interrupted execution
// therefore cannot create a second object. For an execution from FormExecution, the unit fails with
// ErrRepeated when an object was created with the same key.
func (tx *Tx) Executed(e Execution, subject int64) error {
	if e.form != ([sha256.Size]byte{}) {
		return tx.executedForm(e, subject)
	}
	if e.ID == 0 {
		return nil
	}
	tx.unit.ExecOne(ErrTakenOver, `UPDATE idempotency SET subject = $1 WHERE +domain_id = $2 AND id = $3 AND run = $4 AND answer IS NULL`,
		subject, int64(e.Domain), e.ID, e.Run)
	return nil
}

func (tx *Tx) executedForm(e Execution, subject int64) error {
	id, err := tx.unit.NewID("idempotency")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrRepeated, `INSERT INTO idempotency (id, domain_id, token_id, key_hash, request_hash, run, lease_until, expires, subject)
		VALUES ($1, $2, $3, $4, $4, 1, 0, {now} + $5, $6) ON CONFLICT (domain_id, token_id, key_hash) DO NOTHING`,
		id, int64(e.Domain), formToken, e.form[:], responseRetention.Microseconds(), subject)
	return nil
}

// MadeFor returns the id of the object that was created with an execution from FormExecution. It
// fails with ErrNotFound when no object was created.
func (r *Reader) MadeFor(ctx context.Context, e Execution) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT subject FROM idempotency WHERE domain_id = $1 AND token_id = $2 AND key_hash = $3`,
		int64(e.Domain), formToken, e.form[:])
}

type creationKey struct{}

// creation is an execution that creates an object. The object's id comes from a sequence.
type creation struct {
	Execution
	sequence string
}

// Creating returns a context for an execution. A unit that is written with this context records the
// first id that it takes from the sequence, like [Tx.Executed].
func Creating(ctx context.Context, e Execution, sequence string) context.Context {
	if e.ID == 0 || sequence == "" {
		return ctx
	}
	return context.WithValue(ctx, creationKey{}, creation{e, sequence})
}

// Responded does the same as Executed, and ends the execution. It stores the response that
// repetitions of the request get.
func (tx *Tx) Responded(e Execution, subject int64, response []byte) error {
	if e.ID == 0 {
		return nil
	}
	sealed, err := tx.sealResponse(e, response)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrTakenOver, `UPDATE idempotency SET subject = $1, answer = $2, lease_until = 0 WHERE +domain_id = $3 AND id = $4 AND run = $5 AND answer IS NULL`,
		subject, sealed, int64(e.Domain), e.ID, e.Run)
	return nil
}

func (tx *Tx) sealResponse(e Execution, response []byte) ([]byte, error) {
	sealed, err := tx.Seal(e.place(), response)
	if err != nil {
		return nil, fmt.Errorf("encrypt a response: %w", err)
	}
	return sealed, nil
}

// KeepResponse ends an execution and stores the response that repetitions of the request get. The
// unit fails with ErrTakenOver when a response is stored already, or when another execution has
// taken over the key. [Reader.StoredResponse] then returns the response that repetitions get.
func (tx *Tx) KeepResponse(e Execution, response []byte) error {
	if e.ID == 0 {
		return nil
	}
	sealed, err := tx.sealResponse(e, response)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrTakenOver, `UPDATE idempotency SET answer = $1, lease_until = 0 WHERE +domain_id = $2 AND id = $3 AND run = $4 AND answer IS NULL`,
		sealed, int64(e.Domain), e.ID, e.Run)
	return nil
}

// StoredResponse returns the stored response to the request of an execution. It fails with
// ErrNotFound when no response is stored.
func (r *Reader) StoredResponse(ctx context.Context, e Execution) ([]byte, error) {
	scan := func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}
	sealed, err := database.One(ctx, r.rows, scan, `SELECT answer FROM idempotency WHERE +domain_id = $1 AND id = $2 AND answer IS NOT NULL`, int64(e.Domain), e.ID)
	if err != nil {
		return nil, fmt.Errorf("read a stored response: %w", err)
	}
	return e.open(r.keys, sealed)
}

// open decrypts the stored response to the request of an execution.
func (e Execution) open(ring *keys.Ring, sealed []byte) ([]byte, error) {
	response, err := ring.Open(e.place(), sealed)
	if err != nil {
		return nil, fmt.Errorf("decrypt a stored response: %w", err)
	}
	return response, nil
}

// ForgetSubject removes the id of an object that the execution created and then deleted.
func (tx *Tx) ForgetSubject(e Execution) {
	tx.unit.Exec(`UPDATE idempotency SET subject = NULL WHERE +domain_id = $1 AND id = $2 AND run = $3 AND answer IS NULL`, int64(e.Domain), e.ID, e.Run)
}

// ReleaseKey ends an execution without a response, so that the same key can be used again
// immediately. The id of an object that the execution created stays recorded. The unit fails with
// ErrTakenOver in the same cases as with KeepResponse.
func (tx *Tx) ReleaseKey(e Execution) {
	if e.ID == 0 {
		return
	}
	tx.unit.ExecOne(ErrTakenOver, `UPDATE idempotency SET lease_until = 0 WHERE +domain_id = $1 AND id = $2 AND run = $3 AND answer IS NULL`, int64(e.Domain), e.ID, e.Run)
	tx.unit.Exec(`DELETE FROM idempotency WHERE +domain_id = $1 AND id = $2 AND run = $3 AND answer IS NULL AND subject IS NULL`, int64(e.Domain), e.ID, e.Run)
}

// PurgeResponses removes at most limit expired keys, but not a key that is claimed meanwhile.
func (tx *Tx) PurgeResponses(limit int) {
	tx.unit.Exec(`DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency WHERE expires < {now} ORDER BY expires` + database.UpTo(limit) + `) AND +expires < {now}`)
}
