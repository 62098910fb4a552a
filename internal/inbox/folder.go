package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"passerelle"
)

// Named returns the named files, and the files in the named folders except hidden files. The files
// of a folder are ordered by name.
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
	return WaitingFile{name, "", func(context.Context) (io.ReadCloser, error) { return os.Open(name) }}
}

func inFolder(folder string) ([]WaitingFile, error) {
	within, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	var files []WaitingFile
	for _, e := range within {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, onDisk(filepath.Join(folder, e.Name())))
		}
	}
	return files, nil
}

// folder is an inbox in a folder. It remembers the files that the last call of Files found.
type folder struct {
	name string
	seen map[string]os.FileInfo
}

// NewFolder makes the inbox of a folder that exists.
func NewFolder(name string) (Inbox, error) {
	for _, within := range []string{importedFolder, refusedFolder} {
		if err := os.MkdirAll(filepath.Join(name, within), 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for files that are done: %w", err)
		}
	}
	return &folder{name: name}, nil
}

func (*folder) Pause() time.Duration { return 2 * time.Second }

func (f *folder) Files(context.Context) ([]WaitingFile, error) {
	all, err := inFolder(f.name)
	if err != nil {
		return nil, err
	}
	seen := f.seen
	f.seen = map[string]os.FileInfo{}
	var complete []WaitingFile
	for _, file := range all {
		stat, err := os.Stat(file.Name)
		if err != nil {
			continue // the file has disappeared
		}
		f.seen[file.Name] = stat
		if before := seen[file.Name]; before != nil && unchanged(before, stat) {
			complete = append(complete, file)
		}
	}
	return complete, nil
}

func unchanged(before, now os.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

func (f *folder) Done(_ context.Context, file WaitingFile, refused string) error {
	if now, err := os.Stat(file.Name); err == nil && f.seen[file.Name] != nil && !unchanged(f.seen[file.Name], now) {
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
