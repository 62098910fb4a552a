package initiation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"passerelle"
	"passerelle/internal/jwe"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// maxFields limits the number of payment fields. maxWebsite limits the website, in characters. This
// limit is lower than the limit of other values, because the column of the website is indexed.
const (
	maxFields  = payment.MaxReportFields
	maxWebsite = 255
)

// fieldPrefix precedes the name of a field in messages.
const fieldPrefix = "fields."

// fieldValues decrypts and returns the values in the argument `now`. If this argument is nil, it
// returns the stored values. It accepts encrypted values in all domains, and plain text only in
// sandboxes and in domains that allow it.
func (i *Initiation) fieldValues(ctx context.Context, d passerelle.Domain, u unvalidated, now map[string]string) (map[string]string, error) {
	if now == nil {
		if u.storedErr != nil {
			return nil, fmt.Errorf("load the field values of payment %d: %w", u.payment.ID, u.storedErr)
		}
		return u.stored, nil
	}
	if err := limitFields(now); err != nil {
		return nil, err
	}
	if err := i.checkEncrypted(ctx, d, now); err != nil {
		return nil, err
	}
	values, err := jwe.Open(ctx, &i.DB.Reader, d, fieldPrefix, now)
	if err != nil {
		return nil, err
	}
	if err := boundWebsite(values[websiteField]); err != nil {
		return nil, err // before the general limit, which would promise more characters
	}
	return values, boundFields(values)
}

// boundWebsite checks the length of a website.
func boundWebsite(website string) error {
	return passerelle.CheckText(fieldPrefix+websiteField, website, maxWebsite)
}

// limitFields checks the number of values. Callers must call it before they decrypt the values,
// because each decryption takes milliseconds of processor time.
func limitFields(values map[string]string) error {
	if len(values) > maxFields {
		return passerelle.InvalidField("fields", "has more than %d values", maxFields)
	}
	return nil
}

// boundFields checks the lengths of the names and of the values.
func boundFields(values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if utf8.RuneCountInString(name) > payment.MaxFieldName {
			return passerelle.InvalidField("fields", "has a name of more than %d characters", payment.MaxFieldName)
		}
		if err := passerelle.CheckText(fieldPrefix+name, values[name], payment.MaxFieldValue); err != nil {
			return err
		}
	}
	return nil
}

// checkEncrypted fails when a value is plain text in a domain that does not allow it.
func (i *Initiation) checkEncrypted(ctx context.Context, d passerelle.Domain, fields map[string]string) error {
	plain := func(value string) bool { _, encrypted := keys.Encrypted(value); return !encrypted }
	if d.Kind == passerelle.Sandbox || !slices.ContainsFunc(slices.Collect(maps.Values(fields)), plain) {
		return nil
	}
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil || values.On(settings.PlainFields) {
		return err
	}
	return passerelle.InvalidField("fields", "this domain does not accept field values in plain text; encrypt them with the key from /publickey")
}

// PublicKey returns the key with which clients of the domain encrypt field values. The first call
// for a domain generates this key.
func (i *Initiation) PublicKey(ctx context.Context, d passerelle.Domain) (keys.PublicKey, error) {
	stored, err := i.DB.NewestFieldKey(ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = i.makeKey(ctx, d)
	}
	if err != nil {
		return keys.PublicKey{}, fmt.Errorf("find the key for fields of domain %d: %w", d.ID, err)
	}
	key, err := keys.ParseFieldKey(stored.Private)
	if err != nil {
		return keys.PublicKey{}, err
	}
	return key.Public(), nil
}

// makeKey generates the first key of a domain. Concurrent callers receive the same key.
func (i *Initiation) makeKey(ctx context.Context, d passerelle.Domain) (store.StoredFieldKey, error) {
	key, err := keys.GenerateFieldKey()
	if err != nil {
		return store.StoredFieldKey{}, err
	}
	private, err := key.Private()
	if err != nil {
		return store.StoredFieldKey{}, err
	}
	made := store.StoredFieldKey{Domain: d.ID, Number: 1, KeyID: key.ID(), Private: private, Created: i.now(d)}
	err = i.DB.Write(ctx, func(tx *store.Tx) error { return tx.AddFieldKey(&made) })
	if errors.Is(err, store.ErrDuplicate) {
		return i.DB.NewestFieldKey(ctx, d.ID)
	}
	return made, err
}

// takeFields checks the values of a connector's fields. It drops all other values: values that the
// bank does not need must not be stored.
func takeFields(fields []payment.Field, values map[string]string) (map[string]string, error) {
	taken := map[string]string{}
	for _, field := range fields {
		path, value := "fields."+field.Name, values[field.Name]
		if value == "" && field.Required {
			return nil, passerelle.MissingField(path, fmt.Sprintf("%q is required, and %s", field.Label, right(field)))
		}
		if value == "" {
			continue
		}
		if err := checkField(path, field, value); err != nil {
			return nil, err
		}
		taken[field.Name] = value
	}
	return taken, nil
}

// checkField checks the value of a field. Its error never contains the value, because the value may
// be a secret.
func checkField(path string, field payment.Field, value string) error {
	if err := passerelle.CheckText(path, value, payment.MaxFieldValue); err != nil {
		return err
	}
	known := func(v payment.FieldValue) bool { return v.Value == value }
	if (field.Type == "list" && !slices.ContainsFunc(field.Values, known)) || !fits(field.Regex, value) {
		return passerelle.InvalidField(path, "%s", right(field))
	}
	return nil
}

// right describes the valid values of a field.
func right(field payment.Field) string {
	switch {
	case field.Type == "list":
		return fmt.Sprintf("must be one of %q", choices(field))
	case field.Regex != "":
		return "must match " + field.Regex
	}
	return fmt.Sprintf("must be text of at most %d characters", payment.MaxFieldValue)
}

// matchTime limits the time for matching a Perl pattern. A hostile value could otherwise make the
// match endless.
const matchTime = 50 * time.Millisecond

// fits reports whether a value matches a pattern. It also returns true when the pattern is invalid
// or the match takes too long. The bank must then check the value.
func fits(pattern, value string) bool {
	if compiled, err := regexp.Compile(pattern); err == nil {
		return compiled.MatchString(value)
	}
	perl, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return true
	}
	perl.MatchTimeout = matchTime
	matches, err := perl.MatchString(value)
	return err != nil || matches
}

func choices(field payment.Field) []string {
	var values []string
	for _, v := range field.Values {
		values = append(values, v.Value)
	}
	return values
}
