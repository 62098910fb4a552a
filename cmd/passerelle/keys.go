package main

import (
	"errors"
	"fmt"
	"io/fs"

	"passerelle/internal/keys"
	"passerelle/internal/store"
)

type keysCommand struct {
	Create keysCreate `cmd:"" help:"Create the key file of a new deployment, readable only by its owner. An existing file is never replaced."`
	List   keysList   `cmd:"" help:"List the ids of the master keys, oldest first, without the keys."`
	Rotate keysRotate `cmd:"" help:"Add a master key. The service uses it after its next start. The older keys stay, because they decrypt existing values. Restart every process before keys rewrap."`
	Seal   keysSeal   `cmd:"" help:"Encrypt the account numbers of payments in a database from an earlier version. Stop every process first." resume:"the encrypted payments are kept, and the same command encrypts the rest"`
	Rewrap keysRewrap `cmd:"" help:"Re-encrypt all values in the database under the newest master key, while the service runs. First restart every process with the newest key file: other processes cannot encrypt values afterwards." resume:"the encrypted values are kept, and the same command encrypts the rest"`
}

// ownKeys is the flag of the commands that manage a key file.
type ownKeys struct {
	KeyFile string `required:"" placeholder:"FILE" type:"path" help:"The key file."`
}

// keyFileView is the printed form of a key file. Current is the id of the master key that encrypts
// new values. Note says what to do next.
type keyFileView struct {
	File    string `json:"file"`
	Current string `json:"current"`
	Note    string `json:"note,omitempty"`
}

// noteRotated and noteRewrapped say what to restart before the next step.
const (
	noteRotated   = "Before keys rewrap, stop every process, give it this file, and start it again: a process reads its key file only at its start."
	noteRewrapped = "A process that has not read the newest key cannot encrypt values any more, and its /readyz fails: restart it with the newest key file."
)

type keysCreate struct {
	ownKeys
	IfMissing bool `help:"Succeed without changing anything when the file exists."`
}

// Run makes a key file.
func (n *keysCreate) Run(c *console) error {
	err := keys.Create(n.KeyFile)
	if errors.Is(err, fs.ErrExist) && n.IfMissing {
		return n.show(c, "")
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--key-file: %s already exists and was left unchanged: without it, values encrypted with it cannot be decrypted", n.KeyFile)
	}
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	return n.show(c, "")
}

func (o ownKeys) show(c *console, note string) error {
	ring, err := openKeys(o.KeyFile)
	if err != nil {
		return err
	}
	ids := ring.MasterKeys()
	return c.show(keyFileView{o.KeyFile, ids[len(ids)-1], note})
}

// masterKeyView is a master key in a printed list.
type masterKeyView struct {
	ID      string `json:"id"`
	Current bool   `json:"current"`
}

type keysList struct{ ownKeys }

// Run lists the master keys.
func (l *keysList) Run(c *console) error {
	ring, err := openKeys(l.KeyFile)
	if err != nil {
		return err
	}
	ids := ring.MasterKeys()
	all := make([]masterKeyView, len(ids))
	for i, id := range ids {
		all[i] = masterKeyView{id, i == len(ids)-1}
	}
	return c.show(all)
}

type keysRotate struct{ ownKeys }

// Run adds a master key.
func (r *keysRotate) Run(c *console) error {
	return r.locked(func(ring *keys.Ring) error {
		if err := ring.Replace(r.KeyFile, ring.Rotated()); err != nil {
			return fmt.Errorf("--key-file: %w", err)
		}
		return r.show(c, noteRotated)
	})
}

// locked passes the keys of the key file to a function. On Unix, no other command changes the file
// while the function runs.
func (o ownKeys) locked(change func(*keys.Ring) error) (err error) {
	ring, err := openKeys(o.KeyFile)
	if err != nil {
		return err
	}
	release, err := keys.Lock(o.KeyFile)
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	return change(ring)
}

type keysRewrap struct {
	databaseFlag
	ownKeys
	Retire bool `help:"Then remove the older master keys from the key file. Keep a copy of the file: earlier copies of the database need these keys."`
}

// rewrapView is the output of rewrap: how many encrypted values it read, how many had an older key,
// and how many keys it removed. Note is set when it changed a value.
type rewrapView struct {
	Values    int64  `json:"values"`
	Rewrapped int64  `json:"rewrapped"`
	Retired   int    `json:"retired_keys"`
	Note      string `json:"note,omitempty"`
}

// rewrapBatch is the largest number of values that one transaction changes. It is also the largest
// number of payments that one query of seal lists.
const rewrapBatch = 500

// Run re-encrypts the values that have an older key.
func (r *keysRewrap) Run(c *console) error {
	if r.Retire {
		return r.locked(func(ring *keys.Ring) error {
			return r.do(c, ring, func(db *store.DB) (any, error) { return r.retire(c, db, ring) })
		})
	}
	ring, err := openKeys(r.KeyFile)
	if err != nil {
		return err
	}
	return r.do(c, ring, func(db *store.DB) (any, error) { return rewrap(c, db) })
}

// retire rewraps twice, and then removes the older keys. It fails when the second pass still finds
// a value with an older key, because a process that has not read the new key still encrypts with an
// older key.
func (r *keysRewrap) retire(c *console, db *store.DB, ring *keys.Ring) (rewrapView, error) {
	view, err := rewrap(c, db)
	if err != nil {
		return view, err
	}
	if left, err := rewrap(c, db); err != nil || left.Rewrapped > 0 {
		return view, errors.Join(err, fmt.Errorf("%d values were encrypted with an older key in the meantime: restart every process with this key file, then repeat the command", left.Rewrapped))
	}
	view.Retired = len(ring.MasterKeys()) - 1
	return view, ring.Replace(r.KeyFile, ring.Retired())
}

func rewrap(c *console, db *store.DB) (rewrapView, error) {
	var view rewrapView
	all, err := db.CountSealed(c.ctx)
	if err != nil {
		return view, err
	}
	meter := c.meter("rewrap")
	defer meter.End()
	meter.Expect(all, "values")
	view.Values, view.Rewrapped, err = db.Rewrap(c.ctx, rewrapBatch, meter.At)
	if view.Rewrapped > 0 {
		view.Note = noteRewrapped
	}
	return view, err
}

type keysSeal struct {
	databaseFlag
	ownKeys
}

// sealView is the output of seal: the number of payments with newly encrypted account numbers.
type sealView struct {
	Payments int64 `json:"payments"`
}

// Run encrypts account numbers. After an interruption, the next run encrypts the remaining numbers.
func (s *keysSeal) Run(c *console) error {
	ring, err := openKeys(s.KeyFile)
	if err != nil {
		return err
	}
	return s.do(c, ring, func(db *store.DB) (any, error) {
		meter := c.meter("seal")
		defer meter.End()
		meter.Expect(0, "payments")
		sealed, err := db.SealAccountNumbers(c.ctx, rewrapBatch, meter.At)
		return sealView{sealed}, err
	})
}

// openKeys reads a key file that must exist. The error says how to create one.
func openKeys(file string) (*keys.Ring, error) {
	ring, err := keys.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--key-file: %s does not exist; for a new database, create it with passerelle keys create --key-file %s; for a database in use, restore its key file", file, file)
	}
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w", err)
	}
	return ring, nil
}
