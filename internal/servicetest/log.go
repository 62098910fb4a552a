package servicetest

import (
	"bytes"
	"io"
	"sync"
	"testing"
)

const (
	keptLines    = 15
	keptWarnings = 30
)

// programLog prints a program's last lines, warnings and errors after a failed test. A whole log
// would hide the messages of the test.
type programLog struct {
	mu              sync.Mutex
	begun           []byte
	lines, warnings [][]byte
}

func logOf(t testing.TB) io.Writer {
	if testing.Verbose() {
		return t.Output()
	}
	l := &programLog{}
	t.Cleanup(func() {
		if t.Failed() {
			l.print(t)
		}
	})
	return l
}

// Write stores text line by line, and always succeeds.
func (l *programLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, text...)
	for {
		line, rest, complete := bytes.Cut(l.begun, []byte("\n"))
		if !complete {
			return len(text), nil
		}
		l.keep(bytes.Clone(line))
		l.begun = rest
	}
}

func (l *programLog) keep(line []byte) {
	if bytes.Contains(line, []byte(`"level":"INFO"`)) {
		l.lines = last(append(l.lines, line), keptLines)
	} else {
		l.warnings = last(append(l.warnings, line), keptWarnings)
	}
}

func last(lines [][]byte, count int) [][]byte { return lines[max(0, len(lines)-count):] }

func (l *programLog) print(t testing.TB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("the last warnings of a program:\n%s", bytes.Join(l.warnings, []byte("\n")))
	t.Logf("its last lines:\n%s", bytes.Join(l.lines, []byte("\n")))
}
