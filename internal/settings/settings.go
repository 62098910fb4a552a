// Package settings is the catalogue of configuration keys of a domain: each
// key's type, default and help, and the typed reading of its value.
//
// It owns which keys exist and which values they take; a value that a key
// cannot have is refused when it is written, so that readers need not doubt
// it. It does not own flags of the program, and it keeps nothing in memory:
// a value changed by another process is seen by the next reader.
//
// It fails with an Invalid *passerelle.Error for an unknown key or a bad
// value, and with the store's error when the database does not answer.
package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// Key is one configuration key. Values are text; booleans are "0" and "1".
type Key struct {
	Name    string
	Default string
	Help    string
	// Unused keys are known to programs of this API family and stored for
	// them, but have no effect here.
	Unused bool
	check  func(value string) string // what would be right, "" when it is
}

// The keys that have an effect.
const (
	Timezone          = "api.timezone"
	MaxAmount         = "payment.max_amount"
	PeriodicEnabled   = "payment.periodic.enabled"
	PlainFields       = "payment.allow_plain_fields"
	AutoConfirmation  = "payment.auto_confirmation"
	ExpireDays        = "payment.manual_expire_time_days"
	FlushInterval     = "webhooks.flush_interval_seconds"
	DeliveryTimeout   = "webhooks.timeout_seconds"
	SignatureAliases  = "webhooks.signature.aliases"
	ServiceTokenLife  = "auth.scoped_token_expire"
	maxSettingLength  = 4096
	maxTimeoutSeconds = 300
)

var catalogue = []Key{
	{Name: Timezone, Default: "UTC", Help: "IANA time zone in which dates and times are written and read.", check: zone},
	{Name: ServiceTokenLife, Default: "30", Help: "Minutes a service token is valid.", check: whole(1, 1440)},
	{Name: MaxAmount, Default: "0", Help: "Highest sum of a payment, in units of its currency; 0 for none.", check: amount},
	{Name: PeriodicEnabled, Default: "0", Help: "Whether periodic payments may be created.", check: boolean},
	{Name: PlainFields, Default: "0", Help: "Whether payment fields may come unencrypted in a live domain.", check: boolean},
	{Name: AutoConfirmation, Default: "1", Help: "Whether banks execute payments without waiting for the client to confirm them.", check: boolean},
	{Name: ExpireDays, Default: "30", Help: "Days after which a payment without a definitive status expires; 0 for never.", check: whole(0, 36500)},
	{Name: FlushInterval, Default: "60", Help: "Seconds between two runs of the flusher for a webhook that failed.", check: whole(1, 86400)},
	{Name: DeliveryTimeout, Default: "10", Help: "Seconds a receiver has to accept a webhook.", check: whole(1, maxTimeoutSeconds)},
	{Name: SignatureAliases, Default: "BI", Help: "Further prefixes, separated by commas, under which signature headers are repeated.", check: prefixes},
}

// Keys lists the catalogue, by name.
func Keys() []Key {
	return slices.SortedFunc(slices.Values(catalogue), func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
}

func find(name string) (Key, bool) {
	i := slices.IndexFunc(catalogue, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return catalogue[i], true
}

// Check reports whether the key exists and may have the value.
func Check(name, value string) error {
	key, known := find(name)
	if !known {
		return passerelle.InvalidField(name, "is not a configuration key")
	}
	if err := passerelle.CheckText(name, value, maxSettingLength); err != nil {
		return err
	}
	if right := key.check(value); right != "" {
		return passerelle.InvalidField(name, "must be %s", right)
	}
	return nil
}

// Set stores values, all or none, after checking them. Their order is fixed: of
// several errors it is always the same that is told, and two writers never wait
// for each other's rows.
func Set(ctx context.Context, db *store.DB, domain passerelle.DomainID, values map[string]string, now time.Time) error {
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if err := Check(name, values[name]); err != nil {
			return err
		}
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		for _, name := range names {
			tx.SetSetting(domain, name, values[name], now)
		}
		return nil
	})
}

// Values are the settings of one domain at one moment.
type Values map[string]string

// Load reads the settings of a domain.
func Load(ctx context.Context, r *store.Reader, domain passerelle.DomainID) (Values, error) {
	values, err := r.Settings(ctx, domain)
	if err != nil {
		return nil, fmt.Errorf("load the settings of domain %d: %w", domain, err)
	}
	return values, nil
}

// Text is the value of a key, or its default.
func (v Values) Text(name string) string {
	if value, set := v[name]; set {
		return value
	}
	key, _ := find(name)
	return key.Default
}

// On reports whether a boolean key is "1".
func (v Values) On(name string) bool { return v.Text(name) == "1" }

// Int is the value of a whole-number key.
func (v Values) Int(name string) int64 {
	n, err := strconv.ParseInt(v.Text(name), 10, 64)
	if err != nil {
		key, _ := find(name)
		n, _ = strconv.ParseInt(key.Default, 10, 64)
	}
	return n
}

// Seconds is the value of a whole-number key as a length of time.
func (v Values) Seconds(name string) time.Duration { return time.Duration(v.Int(name)) * time.Second }

// Location is the domain's time zone.
func (v Values) Location() *time.Location {
	location, err := time.LoadLocation(v.Text(Timezone))
	if err != nil {
		return time.UTC
	}
	return location
}

// List is the value of a key that lists words separated by commas.
func (v Values) List(name string) []string { return words(v.Text(name)) }

func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

func boolean(value string) string {
	if value == "0" || value == "1" {
		return ""
	}
	return `"0" or "1"`
}

func whole(low, high int64) func(string) string {
	return func(value string) string {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < low || n > high {
			return fmt.Sprintf("a whole number from %d to %d", low, high)
		}
		return ""
	}
}

func amount(value string) string {
	_, err := passerelle.ParseMoney("amount", value, "JPY")
	if err != nil || strings.HasPrefix(value, "-") {
		return "a whole amount, or 0 for none"
	}
	return ""
}

func zone(value string) string {
	if _, err := time.LoadLocation(value); err != nil || value == "" || value == "Local" {
		return "an IANA time zone such as Europe/Paris"
	}
	return ""
}

func prefixes(value string) string {
	for _, word := range words(value) {
		if len(word) > 32 || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "words of letters, digits and hyphens, separated by commas"
		}
	}
	return ""
}
