package exports

// AtOnce is the largest number of exports that execute a query at the same time.
func AtOnce() int { return cap(turns) }

// MaxBeginning is the largest number of exports that wait for their first query or execute it.
const MaxBeginning = maxBeginning
