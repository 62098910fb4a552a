package main

import (
	"errors"
	"fmt"
	"io/fs"

	"passerelle/internal/keys"
)

type keysCommand struct {
	Create keysCreate `cmd:"" help:"Make the key file of a new deployment, readable by its owner alone; one that is there stays as it is."`
	List   keysList   `cmd:"" help:"List the ids of the master keys, oldest first; the keys themselves are not shown."`
	Rotate keysRotate `cmd:"" help:"Add a new master key, which seals from the next start of the service on; the older ones stay, as they open what they sealed."`
}

// ownKeys is the flag of the commands about a key file.
type ownKeys struct {
	KeyFile string `required:"" placeholder:"FILE" type:"path" help:"The key file."`
}

// keyFileView is a key file as it is printed; Current is the id of the master
// key that seals.
type keyFileView struct {
	File    string `json:"file"`
	Current string `json:"current"`
}

type keysCreate struct{ ownKeys }

// Run makes a key file.
func (n *keysCreate) Run(c *console) error {
	err := keys.Create(n.KeyFile)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--key-file: %s is there already and stays as it is: without it nothing opens that was sealed with it", n.KeyFile)
	}
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	return n.show(c)
}

func (o ownKeys) show(c *console) error {
	ring, err := openKeys(o.KeyFile)
	if err != nil {
		return err
	}
	ids := ring.MasterKeys()
	return c.show(keyFileView{o.KeyFile, ids[len(ids)-1]})
}

// masterKeyView is a master key as it is listed.
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
	ring, err := openKeys(r.KeyFile)
	if err != nil {
		return err
	}
	if err := ring.Rotated().Save(r.KeyFile); err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	return r.show(c)
}

// openKeys reads a key file that has to be there, and says how one is made.
func openKeys(file string) (*keys.Ring, error) {
	ring, err := keys.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--key-file: there is no %s; for a new database make it with passerelle keys create --key-file %s, for one in use restore the file it was made with", file, file)
	}
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w", err)
	}
	return ring, nil
}
