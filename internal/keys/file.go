package keys

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// fixedID is the word before the fixed key in a key file. No master key may have this id.
const fixedID = "fixed"

// maxFileSize is much larger than every real key file, which has about 60 bytes for each key.
const maxFileSize = 1 << 20

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Load reads a key file. Each line has the form "id key", where the key is 32 bytes in base64. The
// id "fixed" marks the fixed key. All other keys are master keys, and the last one is the current
// master key. Load ignores blank lines, and lines that begin with #. Load also fails when
// CheckPrivate fails.
func Load(path string) (*Ring, error) {
	return load(path, CheckPrivate)
}

// LoadOrCreate reads the key file. If the file does not exist, it creates a file with the keys of
// Generate. Only the owner can read that file. When several processes start together, all get the
// keys of the first file. LoadOrCreate accepts a file with any mode, because it is for development
// on any file system.
func LoadOrCreate(path string) (*Ring, error) {
	anyMode := func(*os.File) error { return nil }
	ring, err := load(path, anyMode)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	if err := Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return load(path, anyMode)
}

// Create makes a key file with the keys of Generate. Only the owner can read the file. When the
// file exists, Create fails with fs.ErrExist and does not change the file.
func Create(path string) error { return Generate().write(path, nameNew) }

// Save writes the ring to a key file. If no key file exists yet, only the owner can read the new
// file. Save replaces the whole file, so a crash leaves either the old file or the new file. The
// new file gets the mode of the old file. If root calls Save, the new file also gets the owner and
// group, so that the service can still read it.
func (r *Ring) Save(path string) error {
	return r.write(path, replace)
}

// These errors mean that a command did not change the key file.
var (
	ErrBusy    = errors.New("another command is changing the key file; try again when it has ended")
	ErrChanged = errors.New("the key file has changed meanwhile, and was left unchanged; try again")
)

// Lock takes the lock of a key file, until the returned function is called or the process ends.
// Commands must have this lock before they change an existing key file. Lock fails with ErrBusy
// while another process has the lock. The lock is on a separate file beside the key file, because a
// change replaces the key file. The lock file is never removed. On systems other than Unix, Lock
// locks nothing.
func Lock(path string) (func() error, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("lock key file: %w", err)
	}
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock key file: %w", err)
	}
	if err = keepOwner(file.Name(), stat); err == nil {
		err = lock(file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock key file: %w", err), file.Close())
	}
	return file.Close, nil
}

// Replace saves another ring in the key file from which r was loaded. It fails with ErrChanged when
// the file no longer has the keys of r, because the other ring would lack keys that processes
// already use. The caller must have the lock of the file.
func (r *Ring) Replace(path string, other *Ring) error {
	now, err := Load(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now.text(), r.text()) {
		return fmt.Errorf("write key file: %w", ErrChanged)
	}
	return other.Save(path)
}

// replace gives a file the name and the mode of another file. As root, it also gives the file the
// owner and the group.
func replace(from, to string) error {
	stat, err := os.Stat(to)
	if err == nil {
		err = errors.Join(keepOwner(from, stat), os.Chmod(from, stat.Mode().Perm()))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

func load(path string, check func(*os.File) error) (*Ring, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer file.Close()
	if err := check(file); err != nil {
		return nil, fmt.Errorf("key file %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileSize))
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	ring, err := parseFile(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return ring, nil
}

func parseFile(text string) (*Ring, error) {
	ring := &Ring{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := ring.addLine(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if len(ring.masters) == 0 {
		return nil, errors.New("no master key: a line of an id and 32 bytes in base64 is needed")
	}
	if ring.fixed == nil {
		return nil, fmt.Errorf("no line %q with 32 bytes in base64", fixedID)
	}
	return ring, nil
}

func (r *Ring) addLine(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	id, encoded, _ := strings.Cut(line, " ")
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil || len(secret) != keySize || !validID.MatchString(id) {
		// The line contains a key, so the error must not repeat the line.
		return fmt.Errorf("want an id of letters, digits, - and _, a space, and %d bytes in base64", keySize)
	}
	return r.add(id, secret)
}

func (r *Ring) add(id string, secret []byte) error {
	if r.has(id) || id == fixedID && r.fixed != nil {
		return fmt.Errorf("%q comes twice", id)
	}
	if id == fixedID {
		r.fixed = secret
		return nil
	}
	r.masters = append(r.masters, newMaster(id, secret))
	return nil
}

// write makes a complete file in the folder of path. Then it calls the function `name`, which moves
// the file to path.
func (r *Ring) write(path string, name func(from, to string) error) error {
	temporary, err := writeTemporary(filepath.Dir(path), r.text())
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	if err := name(temporary, path); err != nil {
		return fmt.Errorf("write key file: %w", errors.Join(err, os.Remove(temporary)))
	}
	return syncDirectory(filepath.Dir(path))
}

// nameNew gives a file a name that must not exist yet. It uses a link, because a link fails when
// another process has already made a file with that name. A rename would replace that file.
func nameNew(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

func (r *Ring) text() []byte {
	var b bytes.Buffer
	b.WriteString("# Keys of this deployment; the last line is the current master key. Losing this file is losing every secret in the database.\n")
	line := func(id string, secret []byte) {
		fmt.Fprintf(&b, "%s %s\n", id, base64.StdEncoding.EncodeToString(secret))
	}
	line(fixedID, r.fixed)
	for _, m := range r.masters {
		line(m.id, m.secret)
	}
	return b.Bytes()
}

// writeTemporary writes a file and makes it durable. CreateTemp gives it the mode 0600.
func writeTemporary(dir string, text []byte) (string, error) {
	file, err := os.CreateTemp(dir, ".keys-*")
	if err != nil {
		return "", err
	}
	_, writeErr := file.Write(text)
	if err := errors.Join(writeErr, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// syncDirectory makes the new name of a file durable. The name then survives a crash.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync key directory: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync key directory: %w", err)
	}
	return nil
}
