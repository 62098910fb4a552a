package blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/sio"

	"passerelle"
)

// Sealed encrypts the files in another store. Each file has its own key. The folder or bucket
// therefore reveals nothing of a file except its size. Sealed reads a file that has no key as
// unencrypted. It never stores a file without a key. The format is DARE 2.0: pieces of 64 KiB, each
// encrypted and authenticated together with its position. Readers can read any part without the
// other parts. Reading fails when someone has altered, cut or exchanged a file. A sealed file is never
// empty, because the format has no piece for empty content.
type Sealed struct {
	Store
	// Key returns the key of a file for reading. A key has 32 bytes. Key returns nil for an old
	// file without a key. SealingKey returns the key of a file for storing its content.
	Key, SealingKey func(ctx context.Context, id passerelle.FileID) ([]byte, error)
}

func configWith(key []byte) sio.Config {
	return sio.Config{Key: key, MinVersion: sio.Version20, CipherSuites: []byte{sio.AES_256_GCM}}
}

// Put encrypts and stores the content. It returns the size of the unencrypted content. It stores
// nothing without a key, and no empty content.
func (s Sealed) Put(ctx context.Context, id passerelle.FileID, content io.Reader) (int64, error) {
	key, err := s.SealingKey(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("find the key to seal file %d: %w", id, err)
	}
	counted := &counting{r: reading{ctx, content}}
	secret, err := sio.EncryptReader(counted, configWith(key))
	if err != nil {
		return 0, fmt.Errorf("seal file %d: %w", id, err)
	}
	if _, err = s.Store.Put(ctx, id, secret); err != nil {
		return 0, err
	}
	return counted.n, nil
}

// counting counts the bytes that are read. It fails when there are none.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n == 0 && errors.Is(err, io.EOF) {
		err = errEmpty
	}
	return n, err
}

// Open opens a file. The caller can read any part of it. Reading fails at a part that someone has
// altered.
func (s Sealed) Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error) {
	key, err := s.Key(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("find the key of file %d: %w", id, err)
	}
	stored, err := s.Store.Open(ctx, id)
	if err != nil || key == nil {
		return stored, err
	}
	opened, err := open(stored, configWith(key))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open file %d: %w", id, err), stored.Close())
	}
	return opened, nil
}

// opened is a sealed file that is being read.
type opened struct {
	*io.SectionReader
	io.Closer
}

func open(stored io.ReadSeekCloser, config sio.Config) (io.ReadSeekCloser, error) {
	at, able := stored.(io.ReaderAt)
	if !able {
		return nil, errors.New("the store reads no parts")
	}
	total, err := stored.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	size, err := sio.DecryptedSize(uint64(total))
	if err != nil {
		return nil, err
	}
	plain, err := sio.DecryptReaderAt(at, config)
	if err == nil {
		err = checkEnd(plain, int64(size))
	}
	if err != nil {
		return nil, err
	}
	return opened{io.NewSectionReader(plain, 0, int64(size)), stored}, nil
}

var (
	errEmpty = errors.New("the file is empty")
	errEnd   = errors.New("the file cannot be read to its end")
)

// checkEnd fails when a file lacks its last piece. The last piece is marked as such, and a read
// beyond a different piece fails. Other reads do not notice that the pieces after it are missing.
func checkEnd(plain io.ReaderAt, size int64) error {
	if size == 0 {
		return errEmpty
	}
	n, err := plain.ReadAt(make([]byte, 2), size-1)
	if n != 1 || !errors.Is(err, io.EOF) {
		return errors.Join(errEnd, err)
	}
	return nil
}
