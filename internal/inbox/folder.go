package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"passerelle"
)

// Named returns the named files, and the files in the named folders except hidden files and files
// with the names of incomplete files. The files of a folder are ordered by name.
func Named(names []string) ([]WaitingFile, error) {
	var files []WaitingFile
	for _, name := range names {
		stat, err := os.Stat(name)
		if err != nil {
			return nil, passerelle.InvalidField("file", "%s", err)
		}
		if !stat.IsDir() {
			files = append(files, onDisk(name))
			continue
		}
		within, err := inFolder(name)
		if err != nil {
			return nil, err
		}
		files = append(files, within...)
	}
	if len(files) == 0 {
		return nil, passerelle.InvalidField("file", "the folder has no files")
	}
	return files, nil
}

func onDisk(name string) WaitingFile {
	return WaitingFile{Name: name, open: func(context.Context) (io.ReadCloser, error) { return os.Open(name) }}
}

func inFolder(folder string) ([]WaitingFile, error) {
	within, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	var files []WaitingFile
	for _, e := range within {
		if e.Type().IsRegular() && !unfinished(e.Name()) {
			files = append(files, onDisk(filepath.Join(folder, e.Name())))
		}
	}
	return files, nil
}

// folder is an inbox in a folder. A file is complete when it has not changed for the time settle. seen
// has the files that the last call of Files found.
type folder struct {
	name   string
	settle time.Duration
	now    func() time.Time
	seen   map[string]sighting
}

// sighting is the state of a file, and the time when Files found the file in this state first.
type sighting struct {
	os.FileInfo
	since time.Time
}

func (s sighting) same(now os.FileInfo) bool {
	return s.FileInfo != nil && os.SameFile(s.FileInfo, now) && s.Size() == now.Size() && s.ModTime().Equal(now.ModTime())
}

// NewFolder makes the inbox of a folder that exists. A file is complete when it has not changed
// between two calls of Files, and for the time settle.
func NewFolder(name string, settle time.Duration, now func() time.Time) (Inbox, error) {
	for _, within := range []string{importedFolder, refusedFolder} {
		if err := os.MkdirAll(filepath.Join(name, within), 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for files that are done: %w", err)
		}
	}
	return &folder{name: name, settle: settle, now: now}, nil
}

func (*folder) Pause() time.Duration { return 2 * time.Second }

func (f *folder) Files(context.Context) ([]WaitingFile, error) {
	all, err := inFolder(f.name)
	if err != nil {
		return nil, err
	}
	seen, now := f.seen, f.now()
	f.seen = map[string]sighting{}
	var complete []WaitingFile
	for _, file := range all {
		stat, err := os.Stat(file.Name)
		if err != nil {
			continue // the file has disappeared
		}
		before := seen[file.Name]
		if !before.same(stat) {
			f.seen[file.Name] = sighting{stat, now}
			continue
		}
		f.seen[file.Name] = before
		if stat.Size() > 0 && now.Sub(before.since) >= f.settle {
			file.changed = func() bool { return f.changed(file.Name) }
			complete = append(complete, file)
		}
	}
	return complete, nil
}

// changed reports whether a file has changed since the last call of Files.
func (f *folder) changed(name string) bool {
	now, err := os.Stat(name)
	return err == nil && !f.seen[name].same(now)
}

func (f *folder) Done(_ context.Context, file WaitingFile, refused string) error {
	if file.changed != nil && file.changed() {
		return nil
	}
	to := importedFolder
	if refused != "" {
		to = refusedFolder
	}
	name, err := freeName(filepath.Join(f.name, to, filepath.Base(file.Name)), refused != "", func(name string) (bool, error) {
		_, err := os.Lstat(name)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return true, err
	})
	if err == nil && refused != "" {
		err = os.WriteFile(name+reasonEnding, []byte(refused+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(file.Name, name)
	}
	if _, there := os.Lstat(file.Name); err != nil && errors.Is(there, os.ErrNotExist) {
		return nil // somebody else has moved the file
	}
	if err != nil {
		return fmt.Errorf("move a file that is done: %w", err)
	}
	return nil
}
