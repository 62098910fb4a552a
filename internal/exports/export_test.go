package exports

// AtOnce is the largest number of exports that execute a query at the same time.
func AtOnce() int { return cap(turns) }
