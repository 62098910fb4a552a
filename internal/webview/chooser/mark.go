package chooser

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is the picture of an institution in a list: a logo that the operator provides, or letters on
// a coloured shape. The name determines the letters, the shape and the colour, so neighbours
// usually look different.
type Mark struct {
	// Logo is the address of the logo that the operator provides, or empty.
	Logo string
	// Class names the shape and the colour in the style sheet.
	Class   string
	Letters string
}

// These are the numbers of shapes and of colours in the style sheet.
const (
	markShapes = 6
	markColors = 12
)

// NewMark returns the mark of an institution that has no logo. Soft hyphens in the name do not count.
func NewMark(name string) Mark {
	name = strings.ReplaceAll(name, "\u00ad", "")
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // a write to a hash does not fail
	n := sum.Sum32()
	return Mark{Class: fmt.Sprintf("s%d c%d", n%markShapes, n/markShapes%markColors), Letters: lettersOf(name)}
}

// particles are the words that lettersOf skips if a name has other words.
var particles = []string{"a", "and", "da", "das", "de", "del", "der", "des", "di", "die", "do", "du", "e", "et", "la", "le", "les", "of", "the", "und", "y"}

// lettersOf returns up to two letters of a name: the first letters of its first two words, or the
// first two letters of its only word.
func lettersOf(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if main := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(particles, strings.ToLower(word)) }); len(main) > 0 {
		words = main
	}
	if len(words) == 0 {
		return ""
	}
	first := []rune(words[0])
	if len(words) == 1 {
		return string(unicode.ToUpper(first[0])) + string(first[1:min(2, len(first))])
	}
	second, _ := utf8.DecodeRuneInString(words[1])
	return string([]rune{unicode.ToUpper(first[0]), unicode.ToUpper(second)})
}
