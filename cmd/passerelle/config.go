package main

import (
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

type configCommand struct {
	domainFlags
	List   configList   `cmd:"" help:"List all settings with their values and meaning."`
	Show   configShow   `cmd:"" aliases:"get" help:"Print one setting."`
	Update configUpdate `cmd:"" aliases:"set" help:"Set a setting."`
	Delete configDelete `cmd:"" aliases:"unset" help:"Reset a setting to its default."`
	Check  configCheck  `cmd:"" help:"Check the variables and files that serve would read, without starting it. Does not check the database; doctor does."`
	Log    configLog    `cmd:"" help:"List the changes of settings, newest first."`
}

// settingView is a setting as the commands print it. Value is the effective value. Set reports
// whether a value was set. If not, Value is the default.
type settingView struct {
	Key     string `json:"key"`
	Aliases string `json:"aliases,omitempty"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Set     bool   `json:"set"`
	Help    string `json:"help"`
	Unused  bool   `json:"unused,omitempty"`
}

// setting returns a function that describes a key with the domain's value.
func setting(values settings.Values) func(settings.Key) settingView {
	return func(k settings.Key) settingView {
		_, set := values[k.Name]
		return settingView{k.Name, strings.Join(k.Aliases, ", "), values.Text(k.Name), k.Default, set, k.Help, k.Unused}
	}
}

type configList struct{}

// Run lists the keys.
func (configList) Run(c *console, g *configCommand) error {
	return g.at(c, func(d target) (any, error) {
		values, err := settings.Load(c.ctx, &d.db.Reader, d.domain.ID)
		if err != nil {
			return nil, err
		}
		return views(values.Keys(), setting(values)), nil
	})
}

type configShow struct {
	Key string `arg:"" help:"Name of the setting."`
}

// Run prints a key.
func (s *configShow) Run(c *console, g *configCommand) error {
	return g.changed(c, s.Key, nil)
}

type configUpdate struct {
	Key   string `arg:"" help:"Name of the setting."`
	Value string `arg:"" help:"New value. Booleans are 0 and 1."`
}

// Run sets a key. The change applies from the next request on.
func (u *configUpdate) Run(c *console, g *configCommand) error {
	return g.changed(c, u.Key, map[string]*string{u.Key: &u.Value})
}

type configDelete struct {
	Key string `arg:"" help:"Name of the setting."`
}

// Run resets a key to its default.
func (r *configDelete) Run(c *console, g *configCommand) error {
	return g.changed(c, r.Key, map[string]*string{r.Key: nil})
}

// changed makes the changes, if any, to an existing key, and then prints the key.
func (g *configCommand) changed(c *console, name string, changes map[string]*string) error {
	key, known := settings.Find(name)
	if !known {
		return passerelle.InvalidField(name, "is not a configuration key; passerelle config list shows all keys")
	}
	return g.at(c, func(d target) (any, error) {
		if err := settings.Change(c.ctx, d.db, d.domain.ID, changes, settings.ByCommand, d.domain.Clock.Now(time.Now())); err != nil {
			return nil, err
		}
		values, err := settings.Load(c.ctx, &d.db.Reader, d.domain.ID)
		if err != nil {
			return nil, err
		}
		return setting(values)(key), nil
	})
}

type configLog struct {
	Search string `placeholder:"TEXT" help:"List only settings with a name that contains the text."`
	Limit  int    `default:"100" least:"1" most:"1000" placeholder:"N" help:"List at most this many changes, up to 1000."`
}

// settingChangeView is the printed form of a change.
type settingChangeView struct {
	ID       int64   `json:"id"`
	Key      string  `json:"key"`
	Type     string  `json:"type"`
	Previous *string `json:"previous_value,omitempty"`
	New      *string `json:"new_value,omitempty"`
	By       string  `json:"changed_by"`
	At       string  `json:"timestamp"`
}

// Run lists the newest changes of the settings that match --search.
func (l *configLog) Run(c *console, g *configCommand) error {
	return g.at(c, func(d target) (any, error) {
		filter := store.SettingChanges{Domain: d.domain.ID, Name: l.Search, Keys: settings.Matching(l.Search)}
		all, err := d.db.SettingChanges(c.ctx, filter, store.Window{Limit: l.Limit})
		if err != nil {
			return nil, fmt.Errorf("list the changes: %w", err)
		}
		return views(all, func(s store.SettingChange) settingChangeView {
			return settingChangeView{s.ID, s.Key, s.Type, s.Previous, s.New, s.By, d.moment(&s.At)}
		}), nil
	})
}
