package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/tomlfile"
)

// BankFile is one file in a folder of banks. If the file is wrong, Err is the reason. Bank is then
// nil, or the bank that an earlier version of the file described.
type BankFile struct {
	Path string
	Bank *berlingroup.Bank
	Err  error
}

// BankFiles reads the files *.toml of a folder, ordered by name. It fails when it cannot read the
// folder. An invalid file does not make BankFiles fail: Err of the file is the reason. Err is also
// set when the UUID or the number belongs to an earlier file, or to one of the connectors in the
// argument `own`.
func BankFiles(folder string, own []connector.Connector) ([]BankFile, error) {
	return readBanks(folder, own, nil)
}

// readBanks reads the files like BankFiles. The argument `before` contains the banks of the last
// read, by path. A bank in `before` replaces the bank of a file that has become invalid.
func readBanks(folder string, own []connector.Connector, before map[string]*berlingroup.Bank) ([]BankFile, error) {
	paths, err := bankPaths(folder)
	if err != nil {
		return nil, err
	}
	names := takenNames{}
	for _, c := range own {
		if taken := names.take(c.Profile(), "a connector of this program"); len(taken) > 0 {
			return nil, fmt.Errorf("a connector of this program: %s", taken[0].message)
		}
	}
	files := make([]BankFile, len(paths))
	for i, path := range paths {
		files[i] = BankFile{Path: path}
		files[i].Bank, files[i].Err = berlingroup.Load(path)
	}
	for _, i := range inTurn(files, before) {
		files[i].claim(names, before[files[i].Path])
	}
	return files, nil
}

// inTurn returns the indexes of the files in the order in which they reserve names, which are UUIDs
// and numbers: first banks that run and keep their names, then banks that run and change their
// names, and then new files. A copy of a file therefore cannot take the names of a running bank.
func inTurn(files []BankFile, before map[string]*berlingroup.Bank) []int {
	turn := func(i int) int {
		former, next := before[files[i].Path], files[i].Bank
		switch {
		case former == nil:
			return 2
		case next != nil && (next.Profile().UUID != former.Profile().UUID || next.Profile().ID != former.Profile().ID):
			return 1
		}
		return 0
	}
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return turn(a) - turn(b) })
	return order
}

// claim reserves the names of a file's bank. If the file is invalid or its names are taken, the
// file keeps its former bank. If the names of the former bank are taken too, the file has no bank.
func (f *BankFile) claim(names takenNames, former *berlingroup.Bank) {
	if f.Err == nil {
		f.Err = complaints(f.Bank, names.take(f.Bank.Profile(), f.Path))
	}
	switch {
	case f.Err == nil && former != nil:
		f.Bank.Continue(former)
	case f.Err != nil:
		f.Bank = former
		if former != nil && len(names.take(former.Profile(), f.Path)) > 0 {
			f.Bank = nil
		}
	}
}

// complaints converts taken names to complaints about the file of a bank.
func complaints(bank *berlingroup.Bank, taken []takenName) error {
	var all []error
	for _, one := range taken {
		all = append(all, bank.Complaint(one.field, one.message+": give each bank file its own uuid and id, or remove one of the two"))
	}
	return errors.Join(all...)
}

// bankPaths returns the paths of the bank files in a folder, ordered by name. It fails when it
// cannot read the folder. An empty folder is valid, because the operator may add banks later.
func bankPaths(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		err = wrong.Err // without the path, which the text below has
	}
	if err != nil {
		return nil, fmt.Errorf("read the folder of banks %s: %w", folder, err)
	}
	var paths []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".toml") {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths, nil
}

// takenNames maps each UUID and number of a connector to the file of the connector, or to words for
// a connector without a file.
type takenNames map[string]string

// takenName is a name that another connector has. field is the field that contains the name in the
// bank file.
type takenName struct{ field, message string }

// take reserves the UUID and the numbers of a connector. It reserves all of them or none. It
// returns the first taken name of each field.
func (t takenNames) take(p connector.Profile, whose string) []takenName {
	type claimed struct{ field, name string }
	claims := []claimed{{"uuid", p.UUID}, {"id", strconv.FormatInt(p.ID, 10)}}
	for _, s := range p.Sources {
		claims = append(claims, claimed{"id", "source " + strconv.FormatInt(s.ID, 10)})
	}
	var taken []takenName
	for _, c := range claims {
		if other, has := t[c.name]; has && !slices.ContainsFunc(taken, func(one takenName) bool { return one.field == c.field }) {
			taken = append(taken, takenName{c.field, fmt.Sprintf("%s is taken by %s", c.name, other)})
		}
	}
	if len(taken) > 0 {
		return taken
	}
	for _, c := range claims {
		t[c.name] = whose
	}
	return nil
}

// Reload reads the service's certificate, the folder of banks and the connector programs again.
func (s *Service) Reload(ctx context.Context) {
	if s.certificate != nil {
		s.certificate.Wake()
	}
	s.ReloadBanks(ctx)
}

// ReloadBanks reads the folder of banks and the connector programs again. For an invalid file, it
// logs the error and does not change the bank. If it cannot read the folder, it keeps all banks. A
// running call continues with the version of the bank that it started with.
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

// loadFiles registers the banks of the folder in addition to the other connectors.
func (s *Service) loadFiles(ctx context.Context, all []connector.Connector, programs map[int64]program) error {
	files, err := readBanks(s.config.Banks, all, s.banks)
	if err != nil {
		return err
	}
	next := map[string]*berlingroup.Bank{}
	faulty := int64(0)
	for _, f := range files {
		if f.Err != nil {
			faulty++
			s.logWrong(ctx, f)
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
	s.wrongFiles.Store(faulty)
	if err := s.logos.Load(s.config.Banks); err != nil {
		s.config.Log.ErrorContext(ctx, "some logos cannot be shown", "error", err)
	}
	s.config.Log.InfoContext(ctx, "banks were read", "folder", s.config.Banks, "files", len(files), "banks", len(next))
	return nil
}

// logWrong logs what is wrong with a bank file.
func (s *Service) logWrong(ctx context.Context, f BankFile) {
	all := tomlfile.Complaints(f.Err)
	for _, wrong := range all {
		s.config.Log.ErrorContext(ctx, "a bank file is wrong", "file", wrong.Path, "line", wrong.Line, "field", wrong.Field, "wrong", wrong.Message, "kept", f.Bank != nil)
	}
	if len(all) == 0 {
		s.config.Log.ErrorContext(ctx, "a bank file is wrong", "file", f.Path, "wrong", f.Err, "kept", f.Bank != nil)
	}
}
