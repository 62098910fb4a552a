// Package wire has the JSON objects of the API, field by field. Fields are masked for callers who
// may not see them.
//
// It owns the names and the order of the fields in answers, and which of them can be null. It does
// not own the meaning of the values, and it reads no requests. It only computes and cannot fail,
// because every value was checked before it was stored.
package wire
