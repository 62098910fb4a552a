package settings

import (
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
)

// ConnectorChange is a domain's change of a connector. Nil leaves a field unchanged. An empty text
// restores the connector's own value.
type ConnectorChange struct {
	// Connector is the UUID or the number of the connector.
	Connector string
	// Hidden is "0" or "1". SyncDays is a number of days in a form that passerelle.IsDecimal
	// accepts.
	Hidden, Mechanism, SyncDays *string
}

// Want adds the requested values of a connector to `changes`. It fails with Invalid when the
// connector cannot have one of them.
func (c ConnectorChange) Want(p connector.Profile, changes map[string]*string) error {
	var offered []passerelle.AuthMechanism
	for _, s := range p.Sources {
		offered = append(offered, s.Mechanisms...)
	}
	if err := checkMechanism(c.Mechanism, offered); err != nil {
		return err
	}
	if c.SyncDays != nil && *c.SyncDays != "" {
		if right := days(*c.SyncDays); right != "" {
			return passerelle.InvalidField("sync_frequency", "must be %s", right)
		}
	}
	want(changes, ConnectorHidden(p.UUID), c.Hidden)
	want(changes, ConnectorMechanism(p.UUID), c.Mechanism)
	want(changes, ConnectorFrequency(p.UUID), c.SyncDays)
	return nil
}

// SourceChange is a domain's change of a source of a connector.
type SourceChange struct {
	Connector string
	Source    int64
	Mechanism *string
	Disabled  *bool
}

// Want adds the requested values of a source to `changes`. p is the connector with the domain's
// current settings. Want fails with NotFound when the source does not exist, and with Invalid when
// the source cannot have one of these values.
func (c SourceChange) Want(p connector.Profile, now time.Time, changes map[string]*string) error {
	i := slices.IndexFunc(p.Sources, func(s connector.Source) bool { return s.ID == c.Source })
	if i < 0 {
		return passerelle.Missing()
	}
	if err := checkMechanism(c.Mechanism, p.Sources[i].Mechanisms); err != nil {
		return err
	}
	want(changes, SourceMechanism(c.Source), c.Mechanism)
	if c.Disabled == nil || *c.Disabled == (p.Sources[i].Disabled != nil) {
		return nil
	}
	changes[SourceDisabled(c.Source)] = nil
	if *c.Disabled {
		changes[SourceDisabled(c.Source)] = moment(now)
	}
	return nil
}

// want adds a change of a key, if the value is not nil.
func want(changes map[string]*string, key string, value *string) {
	switch {
	case value == nil:
	case *value == "":
		changes[key] = nil
	default:
		changes[key] = value
	}
}

func checkMechanism(wanted *string, offered []passerelle.AuthMechanism) error {
	if wanted == nil || *wanted == "" || slices.Contains(offered, passerelle.AuthMechanism(*wanted)) {
		return nil
	}
	return passerelle.InvalidField("auth_mechanism", "must be one of the available ones: %v", offered)
}
