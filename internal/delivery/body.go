package delivery

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// body is the body of a request. It can be read several times: for the signature, and each time
// that net/http sends the request. A large body is never completely in memory.
type body struct {
	size int64
	open func() io.Reader
}

// body returns the body of an event. JSON objects get the id of the delivery as their first member,
// followed by the added members. Bodies of other types do not change.
func (s *leaseSession) body(ctx context.Context, d store.Delivery, added []byte) (body, error) {
	if d.Parted == 0 {
		return s.whole(ctx, d, added)
	}
	stored := func() io.Reader { return guarded{s.d.DB.Body(ctx, s.job.domain.ID, d)} }
	if d.MediaType != store.JSON {
		return body{d.Parted, stored}, nil
	}
	const enough = 512 // enough bytes to see the beginning of the object
	begins := make([]byte, min(d.Parted, enough))
	if _, err := io.ReadFull(stored(), begins); err != nil {
		return body{}, err
	}
	named := withID(begins, d.ID, added)
	return body{d.Parted + int64(len(named)-len(begins)), func() io.Reader {
		return io.MultiReader(bytes.NewReader(named), &tail{stored(), int64(len(begins))})
	}}, nil
}

// whole returns the body of an event if this body is stored in one piece.
func (s *leaseSession) whole(ctx context.Context, d store.Delivery, added []byte) (body, error) {
	whole, err := d.Body, error(nil)
	if len(whole) == 0 {
		whole, err = io.ReadAll(s.d.DB.Body(ctx, s.job.domain.ID, d))
	}
	switch {
	case err != nil:
		return body{}, err
	case d.MediaType == store.JSON && len(whole) == 0:
		return body{}, errEmpty
	case d.MediaType == store.JSON:
		whole = withID(whole, d.ID, added)
	}
	return body{int64(len(whole)), func() io.Reader { return bytes.NewReader(whole) }}, nil
}

// errEmpty reports an empty JSON body. Only a corrupt row can have one.
var errEmpty = errors.New("the body is empty")

// withID returns the body of an event, a JSON object, with the delivery's id as its first member,
// followed by the added members. It returns nil for an empty body.
func withID(body []byte, id passerelle.DeliveryID, added []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	rest := bytes.TrimLeft(body[1:], " \t\r\n")
	const opening = `{"` + webhook.DeliveryMember + `":`
	out := append(make([]byte, 0, len(opening)+len("-9223372036854775808,")+len(added)+len(rest)), opening...)
	out = strconv.AppendInt(out, int64(id), 10)
	if len(added) > 0 {
		out = append(append(out, ','), bytes.TrimSuffix(added, []byte(","))...)
	}
	if !bytes.HasPrefix(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// tail reads a body without its first bytes.
type tail struct {
	io.Reader
	skip int64
}

func (t *tail) Read(into []byte) (int, error) {
	if t.skip > 0 {
		if _, err := io.CopyN(io.Discard, t.Reader, t.skip); err != nil {
			return 0, err
		}
		t.skip = 0
	}
	return t.Reader.Read(into)
}

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// compressed returns a reader that compresses a body while it is read. The caller must close the
// reader.
func compressed(plain io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		z := compressors.Get().(*gzip.Writer) //nolint:errcheck // the pool contains only such writers
		defer compressors.Put(z)
		z.Reset(in)
		_, err := io.Copy(z, plain)
		in.CloseWithError(errors.Join(err, z.Close()))
	}()
	return out
}
