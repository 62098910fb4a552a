package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/sandbox"
	"passerelle/internal/service"
)

// bankFolder is the flag for the folder of bank files.
type bankFolder struct {
	Banks string `placeholder:"DIR" type:"path" help:"Folder of bank files (NAME.toml, described in docs/bank-file.md) and logos (UUID.png or .jpg). A running service reads it again on SIGHUP."`
}

// read reads the files in the folder. Without a folder, it returns no files.
func (b bankFolder) read(own []connector.Connector) ([]service.BankFile, error) {
	if b.Banks == "" {
		return nil, nil
	}
	return service.BankFiles(b.Banks, own)
}

// required reads the files in the folder, and fails without --banks.
func (b bankFolder) required() ([]service.BankFile, error) {
	if b.Banks == "" {
		return nil, passerelle.MissingField("--banks", "is required; it names the folder of bank files")
	}
	return b.read(service.Connectors(&sandbox.Bank{}))
}

type bankCommand struct {
	List  bankList  `cmd:"" help:"List the bank files in a folder, and their errors."`
	Show  bankShow  `cmd:"" help:"Print the values of a bank file, including defaults."`
	Check bankCheck `cmd:"" help:"Check the connection to a bank: our certificates and their roles, the TLS connection, the response to a request without effect, and the authorisation server. Moves no money."`
}

// bankView is a bank file in a list.
type bankView struct {
	File      string   `json:"file"`
	UUID      string   `json:"uuid,omitempty"`
	ID        int64    `json:"id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Countries []string `json:"countries,omitempty"`
	Wrong     []string `json:"wrong,omitempty"`
}

func viewBank(f service.BankFile) bankView {
	view := bankView{File: f.Path}
	if f.Bank != nil {
		p := f.Bank.Profile()
		view.UUID, view.ID, view.Name, view.Countries = p.UUID, p.ID, p.Name, p.Countries
	}
	if f.Err != nil {
		view.Wrong = strings.Split(f.Err.Error(), "\n")
	}
	return view
}

type bankList struct{ bankFolder }

// Run lists bank files. It fails when any file is wrong.
func (l *bankList) Run(c *console) error {
	files, err := l.required()
	if err != nil {
		return err
	}
	if err := c.show(views(files, viewBank)); err != nil {
		return err
	}
	if len(files) == 0 && !c.json {
		_, err := fmt.Fprintf(c.out, "%s has no bank file (*.toml)\n", l.Banks)
		return err
	}
	if slices.ContainsFunc(files, func(f service.BankFile) bool { return f.Err != nil }) {
		return errChecksFailed
	}
	return nil
}

type bankShow struct {
	bankFolder
	Bank string `arg:"" help:"UUID or number of the bank, or the path of its file."`
}

// bankField is the printed form of a field of a bank file.
type bankField struct {
	Field  string `json:"field"`
	Value  any    `json:"value"`
	Preset bool   `json:"preset,omitempty"`
}

// Run prints a bank file.
func (s *bankShow) Run(c *console) error {
	f, err := s.find(s.Bank)
	if err != nil {
		return err
	}
	if f.Err != nil {
		return f.Err
	}
	var all []bankField
	for _, one := range f.Bank.Settings() {
		all = append(all, bankField{one.Name, one.Value, one.Preset})
	}
	return c.show(all)
}

// find returns one bank file. A name that ends in .toml is the path of the file. Any other name
// selects a bank in the folder.
func (b bankFolder) find(name string) (service.BankFile, error) {
	if strings.HasSuffix(name, ".toml") {
		bank, err := berlingroup.Load(name)
		return service.BankFile{Path: name, Bank: bank, Err: err}, nil
	}
	files, err := b.required()
	if err != nil {
		return service.BankFile{}, err
	}
	i := slices.IndexFunc(files, func(f service.BankFile) bool {
		return f.Bank != nil && passerelle.NamesConnector(name, f.Bank.Profile().UUID, f.Bank.Profile().ID)
	})
	if i < 0 {
		return service.BankFile{}, absent("bank", "there is no bank with the UUID or number %q in %s", name, b.Banks)
	}
	return files[i], nil
}

type bankCheck struct {
	bankFolder
	Bank string `arg:"" help:"Path of the bank's file, or UUID or number of the bank."`
}

// Run calls a bank and prints the results. It fails when any check fails.
func (b *bankCheck) Run(c *console) error {
	f, err := b.find(b.Bank)
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return err
	}
	defer f.Bank.Close()
	return c.printFindings(bankFindings(f.Bank.Check(c.ctx), ""))
}

// bankFindings converts the findings about a bank to findings of the command doctor.
func bankFindings(all []berlingroup.Finding, prefix string) []finding {
	findings := make([]finding, len(all))
	for i, f := range all {
		findings[i] = finding{prefix + f.Check, fine, f.Detail}
		if f.Wrong {
			findings[i].Result = wrong
		}
	}
	return findings
}

// findings returns the findings about each bank file and its certificates.
func (b bankFolder) findings(now time.Time) []finding {
	if b.Banks == "" {
		return nil
	}
	files, err := b.required()
	if err != nil {
		return []finding{newFinding("banks", err, "")}
	}
	var all []finding
	for _, f := range files {
		all = append(all, newFinding("bank "+filepath.Base(f.Path), f.Err, "is valid"))
		if f.Bank != nil {
			all = append(all, bankFindings(f.Bank.CheckCertificates(now), "bank "+filepath.Base(f.Path)+" ")...)
		}
	}
	return all
}
