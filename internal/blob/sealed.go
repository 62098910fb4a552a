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
// therefore reveals nothing about the content of files. Sealed stores a file without a key
// unencrypted. The format is DARE 2.0: pieces of 64 KiB, each encrypted and authenticated together
// with its position. Readers can read any part without the other parts. Reading fails when someone
// has altered, cut or exchanged a file.
type Sealed struct {
	Store
	// Key returns the key of a file, which has 32 bytes. It returns nil for a file without a key.
	Key func(ctx context.Context, id passerelle.FileID) ([]byte, error)
}

func (s Sealed) config(ctx context.Context, id passerelle.FileID) (sio.Config, bool, error) {
	var config sio.Config
	key, err := s.Key(ctx, id)
	if err != nil {
		return config, false, fmt.Errorf("find the key of file %d: %w", id, err)
	}
	return sio.Config{Key: key, MinVersion: sio.Version20, CipherSuites: []byte{sio.AES_256_GCM}}, key != nil, nil
}

// Put encrypts and stores the content. It returns the size of the unencrypted content.
func (s Sealed) Put(ctx context.Context, id passerelle.FileID, content io.Reader) (int64, error) {
	config, sealed, err := s.config(ctx, id)
	if err != nil {
		return 0, err
	}
	if !sealed {
		return s.Store.Put(ctx, id, content)
	}
	counted := &counting{r: reading{ctx, content}}
	secret, err := sio.EncryptReader(counted, config)
	if err != nil {
		return 0, fmt.Errorf("seal file %d: %w", id, err)
	}
	if _, err = s.Store.Put(ctx, id, secret); err != nil {
		return 0, err
	}
	return counted.n, nil
}

// counting counts the bytes that are read.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Open opens a file. The caller can read any part of it. Reading fails at a part that someone has
// altered.
func (s Sealed) Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error) {
	config, sealed, err := s.config(ctx, id)
	if err != nil {
		return nil, err
	}
	stored, err := s.Store.Open(ctx, id)
	if err != nil || !sealed {
		return stored, err
	}
	opened, err := open(stored, config)
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
	if err != nil {
		return nil, err
	}
	return opened{io.NewSectionReader(plain, 0, int64(size)), stored}, nil
}
