package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"passerelle/connector/remote/start"
	"passerelle/internal/service"
	"passerelle/internal/store"
)

// programKeys is the flag for the key file, which encrypts the secrets of programs.
type programKeys struct {
	KeyFile string `default:"passerelle-data/keys" type:"path" help:"Key file of the deployment, which encrypts the program's secret."`
}

// programView is a connector program as it is printed.
type programView struct {
	UUID    string `json:"uuid"`
	Address string `json:"address"`
	Result  string `json:"result"`
}

// do runs a command on the database with its keys.
func (k programKeys) do(c *console, g *connectorCommand, command func(*store.DB) (any, error)) error {
	ring, err := openKeys(k.KeyFile)
	if err != nil {
		return err
	}
	return g.do(c, ring, command)
}

type connectorAdd struct {
	programKeys
	Address    string `arg:"" help:"Address of the program: what stands before /v1/profile."`
	SecretFile string `required:"" type:"path" help:"File with the secret that the program and the service share, of 32 to 256 characters."`
}

// Run adds a connector for all domains. A running service offers it within seconds.
func (a *connectorAdd) Run(c *console, g *connectorCommand) error {
	secret, err := os.ReadFile(a.SecretFile)
	if err != nil {
		return fmt.Errorf("--secret-file: %w", err)
	}
	return a.do(c, g, func(db *store.DB) (any, error) {
		row, err := service.AddProgram(c.ctx, db, a.Address, strings.TrimSpace(string(secret)))
		if err != nil {
			return nil, err
		}
		return programView{row.UUID, row.Address, "added"}, nil
	})
}

type connectorNew struct {
	Language string `default:"python" placeholder:"LANGUAGE" help:"Language of the programs: python or node."`
	Folder   string `arg:"" type:"path" help:"Folder to write to."`
}

// fileView is a file that was written as it is printed.
type fileView struct {
	File string `json:"file"`
}

// Run writes the programs. A file that is there already is not overwritten.
func (n *connectorNew) Run(c *console) error {
	written, err := start.Write(n.Language, n.Folder)
	if err != nil {
		return err
	}
	return c.show(views(written, func(path string) fileView { return fileView{path} }))
}

type connectorCheck struct {
	programKeys
	Connector string `arg:"" help:"UUID or number of a connector that was added."`
}

// Run asks the program what it is and stores the answer.
func (k *connectorCheck) Run(c *console, g *connectorCommand) error {
	return k.do(c, g, func(db *store.DB) (any, error) {
		row, err := namedProgram(c, db, k.Connector)
		if err == nil {
			err = service.RefreshProgram(c.ctx, db, row)
		}
		if err != nil {
			return nil, err
		}
		return programView{row.UUID, row.Address, "answers, and its profile was stored"}, nil
	})
}

type connectorRemove struct {
	Connector string `arg:"" help:"UUID or number of a connector that was added."`
}

// Run removes a connector from all domains.
func (r *connectorRemove) Run(c *console, g *connectorCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		row, err := namedProgram(c, db, r.Connector)
		if err != nil {
			return nil, err
		}
		err = db.Write(c.ctx, func(tx *store.Tx) error {
			tx.RemoveConnectorProgram(row.ID)
			return nil
		})
		return programView{row.UUID, row.Address, "removed"}, err
	})
}

func namedProgram(c *console, db *store.DB, name string) (store.ConnectorProgram, error) {
	row, err := service.FindProgram(c.ctx, &db.Reader, name)
	if errors.Is(err, store.ErrNotFound) {
		return row, absent("connector", "none with the UUID or the number %q was added", name)
	}
	return row, err
}
