package failpoint

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// active is set when a test links the program. In all other programs it is empty, and marks do
// nothing. A build tag would compile nearly all packages of the program a second time.
var active string

// Before marks the place before an action. The process may crash at this place.
func Before(what string) {
	if active != "" {
		pass("before ", what)
	}
}

// After marks the place after an action. The process may crash at this place.
func After(what string) {
	if active != "" {
		pass("after ", what)
	}
}

// A test sets these variables in the environment. dieAt is the mark to crash at. If "#" and a
// number n follow the mark, the process crashes when it passes the mark for the nth time. seen is
// the file to which the process writes the names of the marks that it has passed.
var (
	dieAt = sync.OnceValue(func() string { return os.Getenv("PASSERELLE_TEST_DEATH") })
	seen  = sync.OnceValue(func() string { return os.Getenv("PASSERELLE_TEST_DEATHS_SEEN") })
)

var (
	mu     sync.Mutex
	passes = map[string]int{}
)

func pass(side, what string) {
	if dieAt() == "" && seen() == "" {
		return
	}
	name := side + what + " in " + place()
	mu.Lock()
	defer mu.Unlock()
	if passes[name]++; passes[name] == 1 {
		note(name)
	}
	chosen, pass, _ := strings.Cut(dieAt(), "#")
	if wanted, _ := strconv.Atoi(pass); name == chosen && passes[name] >= wanted {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // wait, because the kill may take effect only after this thread has continued
	}
}

func note(name string) {
	if seen() == "" {
		return
	}
	file, err := os.OpenFile(seen(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, name)
		_ = file.Close()
	}
	if err != nil {
		panic(err)
	}
}

// compiled returns a function that compiles an expression at its first call. Only tests call it.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// shared matches functions that many other functions call in the same way. The name of the function
// that calls them describes the place better. The functions of package failpoint are on every
// stack.
var shared = compiled(`^(failpoint|database|store|bankstore|operatorstore|bankcall|runtime)\.|\.(commit|commitChoice|write|ask|callBank|begin|finish|limitDB)$|connector\.Guard`)

// reservation is the function that reserves ids. The caller of this function is random, because any
// write may use the last reserved id. The function's own name therefore describes the place better.
const reservation = "database.(*Handle).reserve"

// literal matches the compiler's name for a function literal.
var literal = compiled(`(\.func\d+|\.\d+|-range\d+|\[\.\.\.\])+$`)

// inlined matches a function literal in a function that the compiler has inlined.
var inlined = compiled(`^(\w+)\..+\.(\(\*\w+\)\.\w+)$`)

// place returns the innermost function on the stack that does not match the expression `shared`, or
// is the function in `reservation`.
func place() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		name := inlined().ReplaceAllString(literal().ReplaceAllString(path.Base(frame.Function), ""), "$1.$2")
		if name == reservation || !shared().MatchString(name) || !more {
			return name
		}
	}
}
