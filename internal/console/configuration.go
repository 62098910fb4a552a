package console

import (
	"fmt"
	"net/url"
	"strings"

	"passerelle/internal/desk"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func (c *Console) configurationRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/configuration", c.configuration),
		desk.Get("domains/#/configuration/key", c.configurationKey),
		desk.Post("domains/#/configuration/key", c.configure),
		desk.Get("domains/#/configuration/log", c.configurationLog),
	}
}

const actConfigure = "change configuration"

// setUp puts a page among those about how a domain is set up.
func setUp(v *desk.Visit, here string) {
	for _, one := range [][2]string{
		{"Configuration", "/configuration"}, {"Connectors", "/connectors"}, {"Clients", "/clients"}, {"Tokens", "/tokens"}, {"Domain", "/domain"}, {"Audit log", "/audit"},
	} {
		v.Tabs = append(v.Tabs, desk.Tab{Name: one[0], Address: v.Path("%s", one[1]), Here: one[0] == here})
	}
}

// keyRow is a configuration key.
type keyRow struct {
	Name, Aliases, Value, Default, Takes, Help string
	// Given is set when the domain gave it a value; By and At are who and when.
	Given, Unused bool
	By, At        string
	// Address is that of its page.
	Address string
}

func (c *Console) keyRow(v *desk.Visit, k settings.Key, given map[string]store.Setting) keyRow {
	row := keyRow{
		Name: k.Name, Aliases: strings.Join(k.Aliases, ", "), Value: k.Default, Default: k.Default, Takes: k.Takes(), Help: k.Help, Unused: k.Unused,
		Address: v.Path("/configuration/key?name=%s", url.QueryEscape(k.Name)),
	}
	if own, is := given[k.Name]; is {
		row.Value, row.Given, row.By, row.At = own.Value, true, own.By, v.Moment(&own.At)
	}
	return row
}

// configurationData is the keys of a domain.
type configurationData struct {
	Search       string
	Keys, Unused []keyRow
}

// configuration lists the keys, those without an effect last.
func (c *Console) configuration(v *desk.Visit) error {
	given, err := c.DB.GivenSettings(v, v.Domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", v.Domain.ID, err)
	}
	setUp(v, "Configuration")
	data := configurationData{Search: strings.TrimSpace(v.Request.URL.Query().Get("search"))}
	for _, k := range valuesOf(given).Keys() {
		if !k.Matches(data.Search) {
			continue
		}
		if k.Unused {
			data.Unused = append(data.Unused, c.keyRow(v, k, given))
		} else {
			data.Keys = append(data.Keys, c.keyRow(v, k, given))
		}
	}
	return pages.Send(v, "configuration", "Configuration", data)
}

// valuesOf are the values alone.
func valuesOf(given map[string]store.Setting) settings.Values {
	values := settings.Values{}
	for name, one := range given {
		values[name] = one.Value
	}
	return values
}

// keyData is one key with its history.
type keyData struct {
	keyRow
	Choices  []string
	Long     bool
	Log      []changeRow
	Turn     desk.Turn
	MaySetUp bool
}

// changeRow is a change of a key.
type changeRow struct {
	Key, At, By, Was, Is string
	// Began and Ended mark a change from and to the default.
	Began, Ended bool
}

func newChangeRow(v *desk.Visit, s store.SettingChange) changeRow {
	row := changeRow{Key: s.Key, At: v.Moment(&s.At), By: s.By, Began: s.Previous == nil, Ended: s.New == nil}
	if s.Previous != nil {
		row.Was = *s.Previous
	}
	if s.New != nil {
		row.Is = *s.New
	}
	return row
}

// keyOf is the key that the address or the form names.
func keyOf(v *desk.Visit) (settings.Key, error) {
	key, known := settings.Find(v.Request.FormValue("name"))
	if !known {
		return key, desk.ErrNoPage
	}
	return key, nil
}

func (c *Console) configurationKey(v *desk.Visit) error {
	key, err := keyOf(v)
	if err != nil {
		return err
	}
	given, err := c.DB.GivenSettings(v, v.Domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", v.Domain.ID, err)
	}
	setUp(v, "Configuration")
	data := keyData{keyRow: c.keyRow(v, key, given), Choices: key.Choices(), Long: key.Long(), MaySetUp: v.MaySetUp()}
	if data.Log, data.Turn, err = c.changes(v, store.SettingChanges{Domain: v.Domain.ID, Key: key.Name}); err != nil {
		return err
	}
	if v.Problem != "" {
		data.Value = v.Field("value")
	}
	return pages.Send(v, "configuration-key", key.Name, data)
}

// changes is the page of the record of changes that the address names.
func (c *Console) changes(v *desk.Visit, f store.SettingChanges) ([]changeRow, desk.Turn, error) {
	w := v.Window(2)
	all, err := c.DB.SettingChanges(v, f, w)
	if err != nil {
		return nil, desk.Turn{}, fmt.Errorf("list the changes of settings of domain %d: %w", v.Domain.ID, err)
	}
	all, around := desk.Paged(v, w, all, store.SettingChange.Place)
	rows := make([]changeRow, len(all))
	for i, one := range all {
		rows[i] = newChangeRow(v, one)
	}
	return rows, around, nil
}

// configure gives a key a value, or returns it to its default.
func (c *Console) configure(v *desk.Visit) error {
	key, err := keyOf(v)
	if err != nil {
		return err
	}
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	value := strings.ReplaceAll(v.Field("value"), "\r\n", "\n")
	wanted := &value
	switch v.Field("act") {
	case "set":
	case "reset":
		wanted = nil
	default:
		return desk.ErrForm
	}
	err = settings.Change(v, c.DB, v.Domain.ID, map[string]*string{key.Name: wanted}, v.By(), v.Now(), v.Record(actConfigure, "", 0))
	return v.After(err, v.Path("/configuration/key?name=%s", url.QueryEscape(key.Name)), c.configurationKey)
}

// logData is a page of the changes of all keys.
type logData struct {
	Rows []changeRow
	Turn desk.Turn
}

func (c *Console) configurationLog(v *desk.Visit) error {
	setUp(v, "Configuration")
	var (
		data logData
		err  error
	)
	if data.Rows, data.Turn, err = c.changes(v, store.SettingChanges{Domain: v.Domain.ID}); err != nil {
		return err
	}
	return pages.Send(v, "configuration-log", "Changes of the configuration", data)
}
