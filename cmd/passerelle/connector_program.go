package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"passerelle/connector/connectortest"
	"passerelle/connector/remote/conformance"
	"passerelle/connector/remote/start"
	"passerelle/internal/programs"
	"passerelle/internal/service"
	"passerelle/internal/store"
)

// programKeys is the flag for the key file with the keys that encrypt the secrets of programs.
type programKeys struct {
	KeyFile string `placeholder:"FILE" type:"path" help:"Key file of the deployment, with the keys that encrypt the program's secret (default: the file keys beside a SQLite database, or passerelle-data/keys)."`
}

// programView is the printed form of a connector program.
type programView struct {
	UUID    string `json:"uuid"`
	Address string `json:"address"`
	Result  string `json:"result"`
}

// do runs a command on the database with the keys in the key file.
func (k programKeys) do(c *console, g *connectorCommand, command func(*store.DB) (any, error)) error {
	ring, err := g.openKeys(k.KeyFile)
	if err != nil {
		return err
	}
	return g.do(c, ring, command)
}

type connectorAdd struct {
	programKeys
	Address    string `arg:"" help:"Base address of the program: the part before /v1/profile."`
	SecretFile string `required:"" type:"path" help:"File with the secret that the program and the service share, 32 to 256 characters."`
}

// Run adds a connector for all domains. A running service offers it within seconds.
func (a *connectorAdd) Run(c *console, g *connectorCommand) error {
	secret, err := os.ReadFile(a.SecretFile)
	if err != nil {
		return fmt.Errorf("--secret-file: %w", err)
	}
	return a.do(c, g, func(db *store.DB) (any, error) {
		row, err := service.Programs(db).Add(c.ctx, a.Address, strings.TrimSpace(string(secret)), act(0, programs.ActAdd, programs.Subject))
		if err != nil {
			return nil, err
		}
		return programView{row.UUID, row.Address, "added"}, nil
	})
}

type connectorTest struct {
	Address    string `arg:"" help:"Base address of the program: the part before /v1/profile."`
	SecretFile string `required:"" type:"path" help:"File with the program's secret, 32 to 256 characters."`
}

// Run checks a program and prints the result of each rule. It fails when the program breaks one.
func (t *connectorTest) Run(c *console) error {
	secret, err := os.ReadFile(t.SecretFile)
	if err != nil {
		return fmt.Errorf("--secret-file: %w", err)
	}
	results, err := conformance.Run(c.ctx, t.Address, strings.TrimSpace(string(secret)))
	if err != nil {
		return err
	}
	if err := c.show(views(results, viewRule)); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r connectortest.Result) bool { return len(r.Faults) > 0 }) {
		return errChecksFailed
	}
	return nil
}

// ruleView is the printed form of the result of a rule.
type ruleView struct {
	Rule   string   `json:"rule"`
	Result string   `json:"result"`
	Faults []string `json:"faults,omitempty"`
	Right  string   `json:"right,omitempty"`
	Note   string   `json:"note,omitempty"`
}

func viewRule(r connectortest.Result) ruleView {
	view := ruleView{r.Rule, "passed", r.Faults, r.Right, r.Note}
	switch {
	case len(r.Faults) > 0:
		view.Result = "broken"
	case r.Note != "":
		view.Result = "does not apply"
	}
	return view
}

type connectorNew struct {
	Language string `default:"python" placeholder:"LANGUAGE" help:"Language of the programs: python, node, go or shell."`
	Folder   string `arg:"" type:"path" help:"Folder to write to."`
}

// fileView is the printed form of a written file.
type fileView struct {
	File string `json:"file"`
}

// Run writes the example programs of a language into a folder. It never overwrites a file.
func (n *connectorNew) Run(c *console) error {
	written, err := start.Write(n.Language, n.Folder)
	if err != nil {
		return err
	}
	return c.show(views(written, func(path string) fileView { return fileView{path} }))
}

type connectorCheck struct {
	programKeys
	Connector string `arg:"" help:"UUID, number or address of an added connector."`
}

// Run reads the program's profile and stores it.
func (k *connectorCheck) Run(c *console, g *connectorCommand) error {
	return k.do(c, g, func(db *store.DB) (any, error) {
		row, err := namedProgram(c, db, k.Connector)
		if err == nil {
			err = service.Programs(db).Check(c.ctx, row, act(0, programs.ActCheck, programs.Subject))
		}
		if err != nil {
			return nil, err
		}
		return programView{row.UUID, row.Address, "responds, and its profile was stored"}, nil
	})
}

type connectorRemove struct {
	Connector string `arg:"" help:"UUID, number or address of an added connector."`
}

// Run removes a connector from all domains.
func (r *connectorRemove) Run(c *console, g *connectorCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		row, err := namedProgram(c, db, r.Connector)
		if err != nil {
			return nil, err
		}
		err = service.Programs(db).Remove(c.ctx, row, act(0, programs.ActRemove, programs.Subject))
		return programView{row.UUID, row.Address, "removed"}, err
	})
}

func namedProgram(c *console, db *store.DB, name string) (programs.Program, error) {
	row, err := programs.Find(c.ctx, &db.Reader, name)
	if errors.Is(err, store.ErrNotFound) {
		return row, absent("connector", "no connector with the UUID, number or address %q was added", name)
	}
	return row, err
}
