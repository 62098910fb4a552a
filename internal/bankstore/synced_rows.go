package bankstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"passerelle"
	"passerelle/internal/database"
)

// SyncedRows selects the rows that syncs have stored for an account or a subscription since the
// user last began to share it. Each row from a sync has the institution's key.
type SyncedRows struct {
	table, owner string
	id, epoch    int64
	// reading is the number of the next complete read.
	reading int64
	// manual means that the table also contains rows that clients created.
	manual bool
}

// SyncedTransactions selects the transactions of an account.
func SyncedTransactions(a StoredAccount) SyncedRows {
	return SyncedRows{"bank_transaction", "account_id", int64(a.ID), a.Epoch, a.NextReading(), true}
}

// SyncedAssets selects the assets of an account. Their keys are the results of NewAsset.StoredKey.
func SyncedAssets(a StoredAccount) SyncedRows {
	return SyncedRows{"asset", "account_id", int64(a.ID), a.Epoch, a.NextReading(), false}
}

// SyncedDocuments selects the documents of a subscription.
func SyncedDocuments(s StoredSubscription) SyncedRows {
	return SyncedRows{"document", "subscription_id", int64(s.ID), s.Epoch, s.NextReading(), true}
}

func (s SyncedRows) where() database.Clauses {
	var c database.Clauses
	c.And(s.owner+" = %s AND epoch = %s", s.id, s.epoch)
	return c
}

// Known contains the data that a sync needs about a stored row.
type Known struct {
	ID      int64
	Key     string
	Digest  int64
	Deleted bool
}

func scanKnown(row database.Row) (Known, error) {
	var k Known
	err := row.Scan(&k.ID, &k.Key, &k.Digest, &k.Deleted)
	return k, err
}

// KnownByKey returns the rows with one of the keys.
func (r Reader) KnownByKey(ctx context.Context, s SyncedRows, keys []string) (map[string]Known, error) {
	c := s.where()
	var names []string
	for _, key := range database.Padded(keys) {
		names = append(names, c.Bind(key))
	}
	all, err := database.Collect(ctx, r.rows, scanKnown, `SELECT id, key, digest, deleted IS NOT NULL FROM `+s.table+` WHERE `+c.String()+` AND key IN (`+strings.Join(names, ", ")+`)`, c.Args...)
	found := map[string]Known{}
	for _, k := range all {
		found[k.Key] = k
	}
	return found, err
}

// Unreported stands for a read's number in rows that clients have created or deleted, and in rows of
// reads whose events were dropped, until ReportOwnChanges replaces it. It also stands for a sync's
// number in accounts and subscriptions. It differs from the numbers of all reads and syncs.
const Unreported = -2

// NoRows reports whether the account or subscription has no rows, and whether it has rows with the
// number Unreported. Deleted rows also count.
func (r Reader) NoRows(ctx context.Context, s SyncedRows) (bool, bool, error) {
	c := s.where()
	first := `(SELECT id FROM ` + s.table + ` WHERE ` + c.String()
	unreported := first + ` AND changed = ` + c.Bind(Unreported) + ` LIMIT 1) IS NOT NULL`
	found, err := database.One(ctx, r.rows, func(row database.Row) ([2]bool, error) {
		var found [2]bool
		err := row.Scan(&found[0], &found[1])
		return found, err
	}, `SELECT `+first+` LIMIT 1) IS NULL, `+unreported, c.Args...)
	return found[0], found[1], err
}

// ReportOwnChanges replaces the number Unreported of rows by the number of the next complete read.
// The events of that read then contain these rows. Rows that clients change later wait for the
// following read, because the events of this read may already be written.
func (tx Tx) ReportOwnChanges(s SyncedRows) {
	c := s.where()
	c.And("changed = %s", Unreported)
	which := c.String()
	reading := c.Bind(s.reading)
	tx.unit.Exec(`UPDATE `+s.table+` SET changed = `+reading+` WHERE `+which, c.Args...)
}

// manualKey returns the key of a row that a client created. It begins with a control character,
// which no key of an institution contains.
func manualKey(id int64) string { return "\t" + strconv.FormatInt(id, 10) }

// EachKey calls the function do for the institution's rows that are not deleted. If the argument
// from is not zero, EachKey leaves out rows before this day. The order of the calls is undefined.
// EachKey executes one query for all rows, because PostgreSQL with outdated statistics would read
// all rows again for each page.
func (r Reader) EachKey(ctx context.Context, s SyncedRows, from passerelle.Date, do func(id int64, key string)) error {
	c := s.where()
	c.All = append(c.All, "deleted IS NULL")
	if s.manual {
		c.All = append(c.All, "NOT manual")
	}
	if !from.IsZero() {
		c.And("date >= %s", from.String())
	}
	return r.rows.Each(ctx, `SELECT id, key FROM `+s.table+` WHERE `+c.String(), c.Args, func(row database.Row) (bool, error) {
		var (
			id  int64
			key string
		)
		err := row.Scan(&id, &key)
		if err == nil {
			do(id, key)
		}
		return true, err
	})
}

// OneKey returns the key of any row that EachKey selects, or an empty text when EachKey selects no
// row.
func (r Reader) OneKey(ctx context.Context, s SyncedRows) (string, error) {
	c := s.where()
	if s.manual {
		c.All = append(c.All, "NOT manual")
	}
	first, err := database.Collect(ctx, r.rows, func(row database.Row) (string, error) {
		var key string
		err := row.Scan(&key)
		return key, err
	}, `SELECT key FROM `+s.table+` WHERE `+c.String()+` AND deleted IS NULL LIMIT 1`, c.Args...)
	return strings.Join(first, ""), err
}

// Details contains an institution's details of an object in stored form, and a digest by which a
// sync detects changes.
type Details struct {
	text   string
	Digest int64
}

// maxDetails limits the size of the details of one object, in bytes. No account, transaction or
// document needs more.
const maxDetails = 64 << 10

// EncodeDetails encodes an institution's details. A transaction that is imported again from another
// file gets the same digest.
func EncodeDetails(details any) (Details, error) {
	encoded, err := json.Marshal(details)
	if err != nil {
		return Details{}, fmt.Errorf("encode details: %w", err)
	}
	if len(encoded) > maxDetails {
		return Details{}, fmt.Errorf("details of %d bytes are more than %d", len(encoded), maxDetails)
	}
	same := encoded
	if t, is := details.(passerelle.TransactionDetails); is && t.Origin != nil {
		t.Origin = nil
		if same, err = json.Marshal(t); err != nil {
			return Details{}, fmt.Errorf("encode details: %w", err)
		}
	}
	sum := sha256.Sum256(same)
	text, err := compact(encoded)
	return Details{text, int64(binary.BigEndian.Uint64(sum[:8]))}, err //nolint:gosec // any 64 bits are good enough
}

// decodeDetails decodes an institution's details. Requests for lists spend most of their time
// on decoding. This function therefore uses the second version of encoding/json, which is three
// times as fast.
func decodeDetails(text string, into any) error { return jsonv2.Unmarshal([]byte(text), into) }

// compact removes an object's members that are null or an empty text. Half of the data that
// institutions send consists of such members, and every list would have to read them. The result
// decodes to the same value.
func compact(object []byte) (string, error) {
	from := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := from.ReadToken(); err != nil {
		return "", fmt.Errorf("compact details: %w", err)
	}
	out := append(make([]byte, 0, len(object)), '{')
	for from.PeekKind() == '"' {
		name, err := from.ReadValue()
		if err != nil {
			return "", fmt.Errorf("compact details: %w", err)
		}
		before := len(out)
		out = append(append(out, name...), ':')
		value, err := from.ReadValue()
		if err != nil {
			return "", fmt.Errorf("compact details: %w", err)
		}
		if string(value) == `null` || string(value) == `""` {
			out = out[:before]
			continue
		}
		out = append(append(out, value...), ',')
	}
	return string(append(bytes.TrimSuffix(out, []byte(",")), '}')), nil
}
