package settings

import (
	"context"
	"slices"
	"strconv"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
)

// The keys for a domain's settings of its connectors are not in the catalogue. The operations that
// change connectors set these keys, and this file reads them. The service records changes of these
// keys like changes of other keys.

// ConnectorHidden returns the key that hides a connector.
func ConnectorHidden(uuid string) string { return connectorKey(uuid, "hidden") }

// ConnectorMechanism returns the key for the mechanism that connections use by default.
func ConnectorMechanism(uuid string) string { return connectorKey(uuid, "auth_mechanism") }

// ConnectorFrequency returns the key for the number of days between two syncs.
func ConnectorFrequency(uuid string) string { return connectorKey(uuid, "sync_frequency") }

// SourceMechanism returns the key for the mechanism of a source.
func SourceMechanism(id int64) string { return sourceKey(id, "auth_mechanism") }

// SourceDisabled returns the key for the instant at which a source was disabled.
func SourceDisabled(id int64) string { return sourceKey(id, "disabled") }

func connectorKey(name, member string) string { return "connectors." + name + "." + member }

func sourceKey(id int64, member string) string {
	return connectorKey("sources."+strconv.FormatInt(id, 10), member)
}

// ConfigureConnectors sets keys of connectors: all of them or none. Nil restores a connector's own
// value. The caller knows the connectors, and must check the values.
func ConfigureConnectors(ctx context.Context, db *store.DB, domain passerelle.DomainID, changes map[string]*string, by string, now time.Time, acts ...store.Audit) error {
	return write(ctx, db, domain, changes, by, now, acts)
}

// moment writes an instant as the value of a key.
func moment(at time.Time) *string {
	text := at.UTC().Format(time.RFC3339Nano)
	return &text
}

// Configured returns a connector with the settings of the domain.
func (v Values) Configured(p connector.Profile) connector.Profile {
	if hidden, set := v[ConnectorHidden(p.UUID)]; set {
		p.Hidden = hidden == "1"
	}
	p.Mechanism, p.SyncDays = passerelle.AuthMechanism(v[ConnectorMechanism(p.UUID)]), PlainDays(v[ConnectorFrequency(p.UUID)])
	p.Sources = slices.Clone(p.Sources)
	for i := range p.Sources {
		s := &p.Sources[i]
		if chosen := passerelle.AuthMechanism(v[SourceMechanism(s.ID)]); slices.Contains(s.Mechanisms, chosen) {
			others := slices.DeleteFunc(slices.Clone(s.Mechanisms), func(m passerelle.AuthMechanism) bool { return m == chosen })
			s.Mechanisms = append([]passerelle.AuthMechanism{chosen}, others...)
		}
		if since, err := time.Parse(time.RFC3339Nano, v[SourceDisabled(s.ID)]); err == nil {
			s.Disabled = &since
		}
	}
	return p
}

// PlainDays returns a stored number of days in a form that is also a JSON number. It returns an empty
// text for a value that is no number of days.
func PlainDays(text string) string {
	if !areDays(text) {
		return ""
	}
	n, _ := strconv.ParseFloat(text, 64) // areDays has parsed it
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// DaysOf converts a number of days, which may have decimals, to a duration. It returns false for a
// text that is not a number.
func DaysOf(text string) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return time.Duration(n * float64(24*time.Hour)), err == nil
}
