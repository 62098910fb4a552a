package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/tomlfile"
)

// BankFile is one file in a folder of banks. It has the bank, or the error of the file.
type BankFile struct {
	Path string
	Bank *berlingroup.Bank
	Err  error
}

// BankFiles reads the files *.toml of a folder, ordered by name. It fails when it cannot read the
// folder. An invalid file has its own error. A file whose UUID or number belongs to another
// connector also has its own error, even if that connector is built in.
func BankFiles(folder string, own []connector.Connector) ([]BankFile, error) {
	return readBanks(folder, own, nil)
}

// readBanks reads the files like BankFiles. It replaces an invalid file with the last valid version
// of that file, which it takes from the argument before.
func readBanks(folder string, own []connector.Connector, before map[string]*berlingroup.Bank) ([]BankFile, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.toml"))
	if err == nil && len(paths) == 0 {
		err = emptyFolder(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read the folder of banks %s: %w", folder, err)
	}
	slices.Sort(paths)
	names := takenNames{}
	for _, c := range own {
		if err := names.take(c.Profile(), "a connector of this program"); err != nil {
			return nil, err
		}
	}
	files := make([]BankFile, len(paths))
	for i, path := range paths {
		files[i] = BankFile{Path: path}
		files[i].Bank, files[i].Err = berlingroup.Load(path)
		if files[i].Err == nil {
			files[i].Err = names.take(files[i].Bank.Profile(), path)
		}
		if files[i].Err != nil {
			files[i].Bank = before[path]
		} else if former := before[path]; former != nil {
			files[i].Bank.Continue(former)
		}
		if kept := files[i].Bank; files[i].Err != nil && kept != nil {
			files[i].Err = errors.Join(files[i].Err, names.take(kept.Profile(), path))
		}
	}
	return files, nil
}

// emptyFolder fails unless the folder exists. An empty folder is valid, because the operator may
// add banks later.
func emptyFolder(folder string) error {
	matches, err := filepath.Glob(folder)
	if err == nil && len(matches) == 0 {
		err = fs.ErrNotExist
	}
	return err
}

// takenNames maps each UUID and number of a connector to the connector's source.
type takenNames map[string]string

// take reserves the UUID and the numbers of a connector. It reserves all of them or none.
func (t takenNames) take(p connector.Profile, whose string) error {
	names := []string{p.UUID, strconv.FormatInt(p.ID, 10)}
	for _, s := range p.Sources {
		names = append(names, "source "+strconv.FormatInt(s.ID, 10))
	}
	for _, name := range names {
		if other, taken := t[name]; taken {
			return fmt.Errorf("%s: %s is taken by %s", whose, name, other)
		}
	}
	for _, name := range names {
		t[name] = whose
	}
	return nil
}

// Reload reads the service's certificate and the folder of banks again.
func (s *Service) Reload(ctx context.Context) {
	if s.certificate != nil {
		s.certificate.Wake()
	}
	s.ReloadBanks(ctx)
}

// ReloadBanks reads the folder of banks again. For an invalid file, it logs the error and does not
// change the bank. If it cannot read the folder, it keeps all banks. A running call continues with
// the version of the bank that it started with.
func (s *Service) ReloadBanks(ctx context.Context) {
	if err := s.loadBanks(ctx); err != nil {
		s.config.Log.ErrorContext(ctx, "the banks are as they were", "error", err)
	}
}

// loadBanks registers the built-in connectors, the connector programs and the banks in the
// folder.
func (s *Service) loadBanks(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	programs, next, err := s.loadPrograms(ctx)
	if err != nil {
		return err
	}
	all := append(Connectors(s.Bank), programs...)
	if s.config.Banks != "" {
		return s.loadFiles(ctx, all, next)
	}
	if err := s.registry.Replace(all...); err != nil {
		return fmt.Errorf("list the connectors: %w", err)
	}
	s.programs = next
	return nil
}

// loadFiles registers the connectors in all and the banks in the folder.
func (s *Service) loadFiles(ctx context.Context, all []connector.Connector, programs map[int64]program) error {
	files, err := readBanks(s.config.Banks, all, s.banks)
	if err != nil {
		return err
	}
	next := map[string]*berlingroup.Bank{}
	for _, f := range files {
		for _, wrong := range tomlfile.Complaints(f.Err) {
			s.config.Log.ErrorContext(ctx, "a bank file is wrong", "file", wrong.Path, "line", wrong.Line, "field", wrong.Field, "wrong", wrong.Message, "kept", f.Bank != nil)
		}
		if f.Err != nil && len(tomlfile.Complaints(f.Err)) == 0 {
			s.config.Log.ErrorContext(ctx, "a bank file is wrong", "file", f.Path, "wrong", f.Err, "kept", f.Bank != nil)
		}
		if f.Bank != nil {
			if wrong := f.Bank.Invalid(time.Now()); wrong != "" {
				s.config.Log.ErrorContext(ctx, "a certificate for a bank is not valid", "file", f.Path, "bank", f.Bank.Profile().Name, "wrong", wrong)
			}
			all, next[f.Path] = append(all, f.Bank.Connector()), f.Bank
		}
	}
	if err := s.registry.Replace(all...); err != nil {
		return fmt.Errorf("list the connectors: %w", err)
	}
	s.banks, s.programs = next, programs
	if err := s.logos.Load(s.config.Banks); err != nil {
		s.config.Log.ErrorContext(ctx, "some logos cannot be shown", "error", err)
	}
	s.config.Log.InfoContext(ctx, "banks were read", "folder", s.config.Banks, "files", len(files), "banks", len(next))
	return nil
}
