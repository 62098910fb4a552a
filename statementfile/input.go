package statementfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// input is an open file.
type input struct {
	*bufio.Reader
	// first is the beginning of the file, for detection.
	first []byte
}

// peeked is the number of bytes that are read to detect the format.
const peeked = 4 << 10

// foreign lists other kinds of files that people mistake for statements, with their first bytes.
var foreign = []struct{ magic, what string }{
	{"PK\x03\x04", "a zip archive or a spreadsheet; send the statement files inside"},
	{"\x1f\x8b", "a gzip archive; send the file inside"},
	{"BZh", "a bzip2 archive; send the file inside"},
	{"7z\xbc\xaf", "a 7z archive; send the files in it"},
	{"%PDF", "a PDF; send the statement as camt.053, MT940, CFONB 120, OFX or CSV"},
	{"\xd0\xcf\x11\xe0", "an Excel file; send the statement as camt.053, MT940, CFONB 120, OFX or CSV"},
}

// open detects the encoding and the format of a file.
func open(r io.Reader, m *Mapping) (*input, Format, error) {
	raw := bufio.NewReaderSize(&capped{r: r, left: MaxSize}, peeked)
	first, err := raw.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", readError(0, err)
	}
	for _, f := range foreign {
		if bytes.HasPrefix(first, []byte(f.magic)) {
			return nil, "", at(0, "", "the file is %s", f.what).because(OtherFile)
		}
	}
	var text io.Reader
	if m != nil && m.Encoding != "" {
		text, err = encoded(m.Encoding, raw)
	} else {
		text, err = decoded(raw, first)
	}
	if err != nil {
		return nil, "", readError(0, err)
	}
	in := &input{Reader: bufio.NewReaderSize(text, maxToken)}
	if in.first, err = in.Peek(peeked); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", readError(0, err)
	}
	format, err := detect(in.first, m)
	return in, format, err
}

// encoded decodes text in a named encoding. A byte order mark has priority over the name.
func encoded(name string, r io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, errEncoding
	}
	return transform.NewReader(r, unicode.BOMOverride(e.NewDecoder())), nil
}

// readError converts an error of the underlying reader.
func readError(line int, err error) error {
	var own *FileError
	if errors.As(err, &own) {
		return own
	}
	return &FileError{Line: line, Err: fmt.Errorf("read: %w", err)}
}

// capped returns an error when a file is too large.
type capped struct {
	r    io.Reader
	left int64
}

var errSize = at(0, "", "a file can have at most %d bytes", MaxSize).because(TooLarge)

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errSize
	}
	return n, err
}

// decoded returns the file in UTF-8 without byte order mark. UTF-16 is detected by its byte order
// mark or by the zero bytes of its first characters. XML that declares an encoding other than UTF-8
// is passed on unchanged, and the function charset decodes it. In other files each byte that is not
// valid UTF-8 is read as its character in Windows-1252, which includes ISO 8859-1. The byte of the
// currency sign is read as the euro sign of ISO 8859-15, because no bank uses the currency sign.
func decoded(raw *bufio.Reader, first []byte) (io.Reader, error) {
	utf16 := func(order unicode.Endianness, mark unicode.BOMPolicy) io.Reader {
		return transform.NewReader(raw, unicode.UTF16(order, mark).NewDecoder())
	}
	switch {
	case bytes.HasPrefix(first, []byte{0xfe, 0xff}), bytes.HasPrefix(first, []byte{0xff, 0xfe}):
		return utf16(unicode.BigEndian, unicode.ExpectBOM), nil
	case len(first) > 3 && first[0] == 0 && first[1] != 0 && first[2] == 0:
		return utf16(unicode.BigEndian, unicode.IgnoreBOM), nil
	case len(first) > 3 && first[0] != 0 && first[1] == 0 && first[3] == 0:
		return utf16(unicode.LittleEndian, unicode.IgnoreBOM), nil
	case bytes.HasPrefix(first, utf8Mark):
		_, err := raw.Discard(len(utf8Mark))
		return transform.NewReader(raw, lenient{}), err
	case declaresEncoding(first):
		return raw, nil
	}
	return transform.NewReader(raw, lenient{}), nil
}

var utf8Mark = []byte("\xef\xbb\xbf")

// declaresEncoding reports whether a file is XML that declares an encoding other than UTF-8.
func declaresEncoding(first []byte) bool {
	head, _, complete := bytes.Cut(bytes.ToLower(first), []byte("?>"))
	return complete && bytes.HasPrefix(bytes.TrimSpace(head), []byte("<?xml")) &&
		bytes.Contains(head, []byte("encoding")) && !bytes.Contains(head, []byte("utf-8"))
}

// lenient copies UTF-8 and replaces each invalid byte with its character in Windows-1252.
type lenient struct{ transform.NopResetter }

const (
	currencySign = 0xa4
	euroSign     = '€'
)

// Transform implements transform.Transformer.
func (lenient) Transform(dst, src []byte, atEOF bool) (int, int, error) {
	written, read := 0, 0
	for read < len(src) {
		if b := src[read]; b < utf8.RuneSelf && written < len(dst) {
			dst[written] = b
			written, read = written+1, read+1
			continue
		}
		if !atEOF && !utf8.FullRune(src[read:]) {
			return written, read, transform.ErrShortSrc
		}
		r, size := utf8.DecodeRune(src[read:])
		if r == utf8.RuneError && size == 1 {
			r = windows(src[read])
		}
		if written+utf8.RuneLen(r) > len(dst) {
			return written, read, transform.ErrShortDst
		}
		written += utf8.EncodeRune(dst[written:], r)
		read += size
	}
	return written, read, nil
}

func windows(b byte) rune {
	if b == currencySign {
		return euroSign
	}
	return charmap.Windows1252.DecodeByte(b)
}

// lines reads a file line by line. Lines end with LF or CR LF.
type lines struct {
	in *input
	// line is the number of the line that was read last, from 1.
	line int
}

// next returns the next line, or io.EOF.
func (l *lines) next() (string, error) {
	text, err := l.in.ReadSlice('\n')
	l.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", at(l.line, "", "a line can have at most %d bytes", maxToken)
	case errors.Is(err, io.EOF) && len(text) == 0:
		return "", io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return "", readError(l.line, err)
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return "", at(l.line, "", "the file is not text").because(NoStatement)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
