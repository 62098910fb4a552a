package ledger

import (
	"database/sql"
	"fmt"
	"time"
)

// Movement is a transfer of money from one account to another.
type Movement struct {
	// Cause identifies the reason for the movement. The ledger refuses a second movement with the
	// same cause.
	Cause string
	// From and To are ids of accounts.
	From, To string
	// Amount is in minor units and above zero.
	Amount int64
	// These are the names and numbers of the parties. Each party sees the other's name and number
	// on its statement.
	FromName, FromNumber, ToName, ToNumber string
	Text, Reference                        string
	Day                                    time.Time
}

const dayLayout = "2006-01-02"

// Enter makes the two entries of a movement. The entries are pending until Post books them.
func (t *Tx) Enter(m Movement) error {
	if m.Amount <= 0 || m.From == m.To {
		return fmt.Errorf("a movement of %d from %s to %s is none", m.Amount, m.From, m.To)
	}
	if err := t.exec("enter a movement", `INSERT INTO movement (cause) VALUES (?)`, m.Cause); err != nil {
		return err
	}
	change, err := t.nextChange()
	if err != nil {
		return err
	}
	if err := t.enter(m, change, m.From, -m.Amount, m.ToName, m.ToNumber); err != nil {
		return err
	}
	return t.enter(m, change, m.To, m.Amount, m.FromName, m.FromNumber)
}

func (t *Tx) enter(m Movement, change int64, account string, amount int64, other, number string) error {
	err := t.exec("make an entry", `INSERT INTO entry (movement, account, amount, other_name, other_number, text, reference, entered, entered_at)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM movement WHERE cause = ?`,
		account, amount, other, number, m.Text, m.Reference, m.Day.Format(dayLayout), change, m.Cause)
	if err != nil {
		return err
	}
	return t.exec("change a balance", `UPDATE account SET expected = expected + ? WHERE id = ?`, amount, account)
}

// Post books a pending movement. It does not change a booked movement.
func (t *Tx) Post(cause string, day time.Time) error {
	change, err := t.nextChange()
	if err != nil {
		return err
	}
	const unbooked = `entry.movement = (SELECT id FROM movement WHERE cause = ?) AND entry.booked IS NULL`
	err = t.exec("change balances", `UPDATE account SET booked = booked + (SELECT SUM(amount) FROM entry WHERE entry.account = account.id AND `+unbooked+`)
		WHERE id IN (SELECT account FROM entry WHERE `+unbooked+`)`, cause, cause)
	if err != nil {
		return err
	}
	return t.exec("book a movement", `UPDATE entry SET booked = ?, booked_at = ? WHERE `+unbooked, day.Format(dayLayout), change, cause)
}

// Drop deletes a movement that is not booked.
func (t *Tx) Drop(cause string) error {
	const entries = `entry.movement = (SELECT id FROM movement WHERE cause = ?) AND entry.booked IS NULL`
	err := t.exec("change balances", `UPDATE account SET expected = expected - (SELECT SUM(amount) FROM entry WHERE entry.account = account.id AND `+entries+`)
		WHERE id IN (SELECT account FROM entry WHERE `+entries+`)`, cause, cause)
	if err != nil {
		return err
	}
	if err := t.exec("drop entries", `DELETE FROM entry WHERE `+entries, cause); err != nil {
		return err
	}
	return t.exec("drop a movement", `DELETE FROM movement WHERE cause = ? AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.movement = movement.id)`, cause)
}

// Pending lists the causes of an account's pending movements, oldest first. It lists only causes
// with the prefix.
func (t *Tx) Pending(account, prefix string) ([]string, error) {
	var causes []string
	err := t.each("list what is pending", `SELECT m.cause FROM movement m JOIN entry e ON e.movement = m.id
		WHERE e.account = ? AND e.booked IS NULL AND substr(m.cause, 1, length(?)) = ? ORDER BY m.id`, []any{account, prefix, prefix},
		func(rows *sql.Rows) error {
			var cause string
			err := rows.Scan(&cause)
			causes = append(causes, cause)
			return err
		})
	return causes, err
}

// Booked returns the number of movements whose causes begin with a prefix, and the sum that they
// moved.
func (t *Tx) Booked(prefix string) (int64, int64, error) {
	var (
		count  int64
		amount int64
	)
	err := t.row("count movements", `SELECT COUNT(DISTINCT m.id), COALESCE(-SUM(e.amount), 0) FROM movement m JOIN entry e ON e.movement = m.id
		WHERE substr(m.cause, 1, length(?)) = ? AND e.amount < 0`, []any{prefix, prefix}, []any{&count, &amount})
	return count, amount, err
}

// Check checks the books and returns a sentence for each error.
func (t *Tx) Check() ([]string, error) {
	var wrong []string
	for _, rule := range rules {
		err := t.each("check the books", rule.query, nil, func(rows *sql.Rows) error {
			var what string
			err := rows.Scan(&what)
			wrong = append(wrong, fmt.Sprintf(rule.says, what))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// rules lists the rules of the books. Each query selects the rows that break the rule.
var rules = []struct{ says, query string }{
	{"the entries of %s do not add up to zero", `SELECT m.cause FROM movement m JOIN entry e ON e.movement = m.id GROUP BY m.id HAVING SUM(e.amount) <> 0`},
	{"%s has not two entries", `SELECT m.cause FROM movement m LEFT JOIN entry e ON e.movement = m.id GROUP BY m.id HAVING COUNT(e.id) <> 2`},
	{"%s is booked in part", `SELECT m.cause FROM movement m JOIN entry e ON e.movement = m.id GROUP BY m.id HAVING COUNT(e.booked) NOT IN (0, 2)`},
	{"the booked balance of account %s is not that of its entries", `SELECT id FROM account WHERE booked <> (SELECT COALESCE(SUM(amount), 0) FROM entry WHERE entry.account = account.id AND entry.booked IS NOT NULL)`},
	{"the expected balance of account %s is not that of its entries", `SELECT id FROM account WHERE expected <> (SELECT COALESCE(SUM(amount), 0) FROM entry WHERE entry.account = account.id)`},
	{"account %s is below its limit", `SELECT id FROM account WHERE kind <> 'own' AND expected < -overdraft`},
	{"all accounts together have %s", `SELECT SUM(expected) FROM account HAVING SUM(expected) <> 0`},
}
