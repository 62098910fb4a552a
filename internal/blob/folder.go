package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"passerelle"
)

// incoming is the folder for incomplete files.
const incoming = "incoming"

// abandoned is the age from which NewFolder removes an incomplete file.
const abandoned = 24 * time.Hour

// Folder stores files in a folder that contains nothing else. Several processes may share the
// folder if its file system renames files atomically.
type Folder struct{ root *os.Root }

// NewFolder opens a folder, or makes it if it does not exist. It removes incomplete files that
// nobody has written to for a day.
func NewFolder(folder string) (*Folder, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of files: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	f := &Folder{root: root}
	if err := root.MkdirAll(incoming, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of incoming files: %w", err)
	}
	if err := f.clear(time.Now().Add(-abandoned)); err != nil {
		return nil, fmt.Errorf("clear the folder of incoming files: %w", err)
	}
	return f, nil
}

// clear removes incomplete files that were last written before an instant.
func (f *Folder) clear(before time.Time) error {
	entries, err := fs.ReadDir(f.root.FS(), incoming)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // the file is gone, or another process may still write it
		}
		if err := f.root.Remove(path.Join(incoming, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Put writes a temporary file, and renames it when the content is on the disk.
func (f *Folder) Put(ctx context.Context, id passerelle.FileID, content io.Reader) (int64, error) {
	beside := path.Join(incoming, rand.Text())
	size, err := f.write(ctx, beside, content)
	if err == nil {
		err = f.publish(beside, name(id))
	}
	if err != nil {
		return 0, fmt.Errorf("store file %d: %w", id, errors.Join(err, f.drop(beside)))
	}
	return size, nil
}

func (f *Folder) write(ctx context.Context, beside string, content io.Reader) (int64, error) {
	file, err := f.root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, reading{ctx, content})
	if err == nil {
		err = file.Sync()
	}
	return size, errors.Join(err, file.Close())
}

// reading is a reader that fails when its context has ended.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// publish gives a complete file its name. It also writes the folder to the disk, because that makes
// the rename durable.
func (f *Folder) publish(beside, name string) error {
	folder := path.Dir(name)
	if err := f.root.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := f.root.Rename(beside, name); err != nil {
		return err
	}
	return errors.Join(f.sync(folder), f.sync("."))
}

func (f *Folder) sync(folder string) error {
	opened, err := f.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

func (f *Folder) drop(name string) error {
	err := f.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a file. The caller can read an open file to its end, even after the file's removal.
func (f *Folder) Open(_ context.Context, id passerelle.FileID) (io.ReadSeekCloser, error) {
	file, err := f.root.Open(name(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open file %d: %w", id, err)
	}
	return file, nil
}

// Remove removes a file. The removal is durable when Remove returns.
func (f *Folder) Remove(_ context.Context, id passerelle.FileID) error {
	err := f.root.Remove(name(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.sync(path.Dir(name(id)))
	}
	if err != nil {
		return fmt.Errorf("remove file %d: %w", id, err)
	}
	return nil
}

// Each reads one folder after the other.
func (f *Folder) Each(ctx context.Context, batch int, do func([]passerelle.FileID) error) error {
	for i := range folders {
		folder := fmt.Sprintf("%02x", i)
		opened, err := f.root.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(eachIn(ctx, opened, folder, batch, do), opened.Close())
		}
		if err != nil {
			return fmt.Errorf("list the files in %s: %w", folder, err)
		}
	}
	return nil
}

func eachIn(ctx context.Context, opened *os.File, folder string, batch int, do func([]passerelle.FileID) error) error {
	for {
		entries, err := opened.ReadDir(batch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var ids []passerelle.FileID
		for _, entry := range entries {
			if id, is := number(path.Join(folder, entry.Name())); is {
				ids = append(ids, id)
			}
		}
		if err = errors.Join(err, ctx.Err()); err == nil {
			err = do(ids)
		}
		if err != nil {
			return err
		}
	}
}
