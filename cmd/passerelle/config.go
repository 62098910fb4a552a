package main

import (
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

type configCommand struct {
	tenant
	List   configList   `cmd:"" help:"List all keys, with their values and meaning."`
	Show   configShow   `cmd:"" aliases:"get" help:"Print one key."`
	Update configUpdate `cmd:"" aliases:"set" help:"Give a key a value."`
	Delete configDelete `cmd:"" aliases:"unset" help:"Return a key to its default."`
}

// settingView is a key as it is printed: Value is in effect, Set says whether
// it was given or is the default.
type settingView struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Set     bool   `json:"set"`
	Help    string `json:"help"`
	Unused  bool   `json:"unused,omitempty"`
}

// setting tells about a key from what the domain has set.
func setting(values settings.Values) func(settings.Key) settingView {
	return func(k settings.Key) settingView {
		_, set := values[k.Name]
		return settingView{k.Name, values.Text(k.Name), k.Default, set, k.Help, k.Unused}
	}
}

type configList struct{}

// Run lists the keys.
func (configList) Run(c *console, g *configCommand) error {
	return g.at(c, func(d desk) (any, error) {
		values, err := settings.Load(c.ctx, &d.db.Reader, d.domain.ID)
		if err != nil {
			return nil, err
		}
		return views(settings.Keys(), setting(values)), nil
	})
}

type configShow struct {
	Key string `arg:"" help:"Name of the key."`
}

// Run prints a key.
func (s *configShow) Run(c *console, g *configCommand) error {
	return g.changed(c, s.Key, func(desk) error { return nil })
}

type configUpdate struct {
	Key   string `arg:"" help:"Name of the key."`
	Value string `arg:"" help:"Its new value; booleans are 0 and 1."`
}

// Run sets a key. The service notices at the next request.
func (u *configUpdate) Run(c *console, g *configCommand) error {
	return g.changed(c, u.Key, func(d desk) error {
		return settings.Set(c.ctx, d.db, d.domain.ID, map[string]string{u.Key: u.Value}, time.Now())
	})
}

type configDelete struct {
	Key string `arg:"" help:"Name of the key."`
}

// Run makes the default the value of the key.
func (r *configDelete) Run(c *console, g *configCommand) error {
	return g.changed(c, r.Key, func(d desk) error {
		return d.db.Write(c.ctx, func(tx *store.Tx) error {
			tx.DeleteSetting(d.domain.ID, r.Key)
			return nil
		})
	})
}

// changed makes a change to a key that exists and shows the key afterwards.
func (g *configCommand) changed(c *console, name string, change func(desk) error) error {
	i := slices.IndexFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == name })
	if i < 0 {
		return passerelle.InvalidField(name, "is not a configuration key; passerelle config list has them all")
	}
	return g.at(c, func(d desk) (any, error) {
		if err := change(d); err != nil {
			return nil, fmt.Errorf("change %s: %w", name, err)
		}
		values, err := settings.Load(c.ctx, &d.db.Reader, d.domain.ID)
		if err != nil {
			return nil, err
		}
		return setting(values)(settings.Keys()[i]), nil
	})
}
