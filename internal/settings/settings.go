// Package settings is the catalogue of a domain's configuration keys. It has each key's type,
// default and help, and reads typed values.
//
// The package decides which keys exist, and owns their names and values. It refuses to write
// invalid values. For all readers except Text, Flat and Configured, an invalid stored value counts
// as the default, and an invalid word of a list does not count. The command doctor reports such
// values. Numbers in a form that only earlier versions wrote, such as ".5", still count. The
// package records every change, with the person or program that made it. It does not own the flags
// of the program. It keeps no values in memory after a request, so the next request sees values
// that another process has changed.
//
// The package fails with an Invalid *passerelle.Error for an unknown key or an invalid value. It
// fails with the store's error when the database does not respond.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// Key is a configuration key. Values are texts, and booleans are "0" and "1".
type Key struct {
	Name string
	// Aliases are other names that programs of this API family use for the same value.
	Aliases []string
	Default string
	Help    string
	// Unused marks a key that has no effect here. The service stores such a key for programs of
	// this API family, which use it.
	Unused bool
	max    int                       // the largest number of characters; zero means maxSettingLength
	check  func(value string) string // returns a description of the allowed values, or "" for an allowed value
	// reads reports whether a stored value counts although check refuses it. It is nil for most keys.
	reads func(value string) bool
}

// Keys returns the catalogue, ordered by name.
func Keys() []Key {
	return slices.SortedFunc(slices.Values(catalogue), func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns the key with a name or an alias. For a name with a prefix in families, Find returns
// an unused key, although the catalogue does not list this key.
func Find(name string) (Key, bool) {
	i := slices.IndexFunc(catalogue, func(k Key) bool { return k.Name == name || slices.Contains(k.Aliases, name) })
	if i >= 0 {
		return catalogue[i], true
	}
	return familiar(name)
}

// Matching returns the names of the catalogue's keys with a name or an alias that contains the
// text. It ignores case. An empty text matches all keys.
func Matching(text string) []string {
	var names []string
	for _, key := range Keys() {
		if key.Matches(text) {
			names = append(names, key.Name)
		}
	}
	return names
}

// impossible is a value that is invalid for every key.
const impossible = "\x00"

// Takes returns a description of the key's allowed values.
func (k Key) Takes() string { return cmp.Or(k.check(impossible), "any text") }

// Choices returns the allowed values of a key with only a few such values. It returns nil for other
// keys.
func (k Key) Choices() []string {
	if k.check("2") == "" {
		return nil // a key that accepts 2 has more than a few values
	}
	all := slices.DeleteFunc([]string{"", "0", "1"}, func(value string) bool { return k.check(value) != "" })
	if len(all) < 2 {
		return nil
	}
	return all
}

// Long reports whether the key's values may have several lines.
func (k Key) Long() bool { return k.max > maxSettingLength }

// Matches reports whether a name of the key contains the text. It ignores case.
func (k Key) Matches(text string) bool {
	contains := func(name string) bool { return strings.Contains(name, strings.ToLower(text)) }
	return contains(k.Name) || slices.ContainsFunc(k.Aliases, contains)
}

// Check fails when the key does not exist or may not have the value.
func Check(name, value string) error {
	key, known := Find(name)
	if !known {
		return passerelle.InvalidField(name, "is not a configuration key")
	}
	if err := passerelle.CheckText(name, value, cmp.Or(key.max, maxSettingLength)); err != nil {
		return err
	}
	if right := key.check(value); right != "" {
		return passerelle.InvalidField(name, "must be %s", right)
	}
	return nil
}

// Set sets keys for a command. It checks values like [Change].
func Set(ctx context.Context, db *store.DB, domain passerelle.DomainID, values map[string]string, now time.Time) error {
	changes := make(map[string]*string, len(values))
	for name, value := range values {
		changes[name] = &value
	}
	return Change(ctx, db, domain, changes, ByCommand, now)
}

// ByCommand is the author of the changes that a command makes.
const ByCommand = "command"

// Change checks values and sets keys: all of them or none. Nil resets a key to its default. Names
// may be aliases. Two names of one key must have the same value. Change records who made each
// change, and adds acts to the audit log. It changes keys in a fixed order. It therefore always
// reports the same error, and two writers cannot deadlock.
func Change(ctx context.Context, db *store.DB, domain passerelle.DomainID, changes map[string]*string, by string, now time.Time, acts ...store.Audit) error {
	wanted, err := canonical(changes)
	if err != nil {
		return err
	}
	if err := hasRoom(ctx, db, domain, wanted); err != nil {
		return err
	}
	return write(ctx, db, domain, wanted, by, now, acts)
}

func write(ctx context.Context, db *store.DB, domain passerelle.DomainID, wanted map[string]*string, by string, now time.Time, acts []store.Audit) error {
	err := db.Write(ctx, func(tx *store.Tx) error {
		if len(wanted) > 0 {
			tx.HoldSettings(domain)
		}
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			if value := wanted[name]; value != nil {
				tx.SetSetting(domain, name, *value, by, now)
			} else {
				tx.DeleteSetting(domain, name, by, now)
			}
		}
		return tx.Audit(acts...)
	})
	if err != nil {
		return fmt.Errorf("change settings of domain %d: %w", domain, err)
	}
	return nil
}

// canonical checks changes. It replaces aliases with the names under which the service stores
// values.
func canonical(changes map[string]*string) (map[string]*string, error) {
	wanted := make(map[string]*string, len(changes))
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		key, known := Find(name)
		if value != nil || !known {
			if err := Check(name, deref(value)); err != nil {
				return nil, err
			}
		}
		other, set := wanted[key.Name]
		if set && (other == nil) != (value == nil) || set && deref(other) != deref(value) {
			return nil, passerelle.InvalidField(name, "is given twice with different values, under two names of the same key")
		}
		wanted[key.Name] = value
	}
	return wanted, nil
}

func deref(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// hasRoom fails when a domain would have too many keys with a prefix in families. The limit
// exists because clients choose the names of these keys.
func hasRoom(ctx context.Context, db *store.DB, domain passerelle.DomainID, wanted map[string]*string) error {
	isFamiliar := func(name string) bool {
		_, is := familiar(name)
		return is
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), isFamiliar) {
		return nil
	}
	values, err := Load(Anew(ctx), &db.Reader, domain)
	if err != nil {
		return err
	}
	taken := 0
	for name := range values {
		if _, changed := wanted[name]; !changed && isFamiliar(name) {
			taken++
		}
	}
	for name, value := range wanted {
		if value != nil && isFamiliar(name) {
			taken++
		}
	}
	if taken > maxFamiliar {
		return passerelle.Conflicting("The domain would have more than %d keys that have no effect here; remove some first.", maxFamiliar)
	}
	return nil
}

// Values has the settings of one domain at one moment.
type Values map[string]string

// snapshot has the settings of a domain that were loaded for a context.
type snapshot struct {
	domain passerelle.DomainID
	values Values
}

type snapshotKey struct{}

// Within returns a request's context with the settings that were loaded at its arrival. Load then
// does not read them again.
func Within(ctx context.Context, domain passerelle.DomainID, values Values) context.Context {
	return context.WithValue(ctx, snapshotKey{}, snapshot{domain, values})
}

// Anew returns a context in which Load reads the current settings again. It is for a request that
// changes settings.
func Anew(ctx context.Context) context.Context {
	return context.WithValue(ctx, snapshotKey{}, snapshot{})
}

// Load returns the settings of a domain. It reads them from the store, unless the request's context
// has them.
func Load(ctx context.Context, r *store.Reader, domain passerelle.DomainID) (Values, error) {
	if known, _ := ctx.Value(snapshotKey{}).(snapshot); known.values != nil && known.domain == domain {
		return known.values, nil
	}
	values, err := r.Settings(ctx, domain)
	if err != nil {
		return nil, fmt.Errorf("load the settings of domain %d: %w", domain, err)
	}
	return values, nil
}

// Text returns the value of a key, or its default. The name may be an alias.
func (v Values) Text(name string) string {
	if value, set := v[name]; set {
		return value
	}
	key, _ := Find(name)
	if value, set := v[key.Name]; set {
		return value
	}
	return key.Default
}

// Keys returns the keys of the catalogue and the domain's other keys, ordered by name.
func (v Values) Keys() []Key {
	keys := Keys()
	for name := range v {
		if key, isFamiliar := familiar(name); isFamiliar {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return keys
}

// Flat returns the values of keys, by name. A key appears under each of its names that contains
// the argument `search`. Flat ignores case.
func (v Values) Flat(search string) map[string]string {
	flat := map[string]string{}
	for _, key := range v.Keys() {
		for _, name := range append([]string{key.Name}, key.Aliases...) {
			if strings.Contains(name, strings.ToLower(search)) {
				flat[name] = v.Text(key.Name)
			}
		}
	}
	return flat
}

// Valid does the same as Text, but returns the default instead of an invalid value.
func (v Values) Valid(name string) string {
	value := v.Text(name)
	if key, known := Find(name); known && key.wrong(value) != "" {
		return key.Default
	}
	return value
}

// wrong returns a description of the allowed values for a stored value that does not count.
func (k Key) wrong(value string) string {
	right := k.check(value)
	if right != "" && k.reads != nil && k.reads(value) {
		return ""
	}
	return right
}

// Invalid returns an error for each stored value that does not count, ordered by name.
func (v Values) Invalid() []error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(v)) {
		key, known := Find(name)
		if !known {
			continue
		}
		if right := key.wrong(v[name]); right != "" {
			all = append(all, fmt.Errorf("the stored value of %s must be %s", name, right))
		}
	}
	return all
}

// On reports whether a boolean key is "1".
func (v Values) On(name string) bool { return v.Valid(name) == "1" }

// Limited reports whether a domain of this kind limits the number of requests.
func (v Values) Limited(kind passerelle.DomainKind) bool {
	if v.Valid(RateEnabled) == "" {
		return kind != passerelle.Sandbox
	}
	return v.On(RateEnabled)
}

// Int returns the value of a whole-number key.
func (v Values) Int(name string) int64 {
	n, _ := strconv.ParseInt(v.Valid(name), 10, 64) // zero only for a key that is not a whole number
	return n
}

// Seconds returns the value of a whole-number key as a duration.
func (v Values) Seconds(name string) time.Duration { return time.Duration(v.Int(name)) * time.Second }

// Days returns the value of a key in days as a duration. The value may have decimals.
func (v Values) Days(name string) time.Duration {
	length, _ := DaysOf(v.Valid(name))
	return length
}

// zones caches time zones by name, because reading a zone needs a file.
var zones sync.Map // the keys are of type string, the values of type *time.Location

// Location returns the domain's time zone.
func (v Values) Location() *time.Location {
	name := v.Text(Timezone)
	if known, read := zones.Load(name); read {
		return known.(*time.Location) //nolint:errcheck // the map stores nothing else
	}
	location, err := time.LoadLocation(v.Valid(Timezone))
	if err != nil {
		return time.UTC
	}
	zones.Store(name, location)
	return location
}

// List returns the valid words in the value of a key. Commas separate the words.
func (v Values) List(name string) []string {
	key, known := Find(name)
	return slices.DeleteFunc(words(v.Text(name)), func(one string) bool { return known && key.check(one) != "" })
}

func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}
