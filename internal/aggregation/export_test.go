package aggregation

// SetMaxStated changes the largest payload that a statement is made of, and
// returns what it was.
func SetMaxStated(most int) (before int) {
	before, maxStated = maxStated, most
	return before
}
