// Package nearest finds the known name that a misspelt name means.
//
// It owns the measure of similarity and its limit. It does not own the known names or the messages
// that suggest one. It never fails: without a similar name, it returns an empty text.
package nearest

import "strings"

// maxLength is the length of the longest name for which Name searches, in bytes. The search takes
// time in proportion to the length.
const maxLength = 60

// Name returns the known name that is most similar to a misspelt name. It returns an empty text if
// every known name has a distance of more than len(name)/3 + 1, or if name is longer than
// maxLength.
func Name(name string, known []string) string {
	if len(name) > maxLength {
		return ""
	}
	best, least := "", len(name)/3+2
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of two names. This is the smallest number of bytes to
// insert, delete or replace to make one name from the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
