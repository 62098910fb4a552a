package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

var configurationRoutes = []route{
	{http.MethodGet, "domains/#/configuration", (*Console).configuration, false},
	{http.MethodGet, "domains/#/configuration/key", (*Console).configurationKey, false},
	{http.MethodPost, "domains/#/configuration/key", (*Console).configure, false},
	{http.MethodGet, "domains/#/configuration/log", (*Console).configurationLog, false},
}

const actConfigure = "change configuration"

// setUp puts a page among those about how a domain is set up.
func (v *visit) setUp(here string) {
	for _, one := range [][2]string{
		{"Configuration", "/configuration"}, {"Connectors", "/connectors"}, {"Clients", "/clients"}, {"Tokens", "/tokens"}, {"Domain", "/domain"},
	} {
		v.tabs = append(v.tabs, tab{one[0], v.path("%s", one[1]), one[0] == here})
	}
}

// maySetUp reports whether the operator may change how the domain is set up.
func (v *visit) maySetUp() bool {
	return (v.who.May(admission.SetUp) || v.domain.Kind == passerelle.Sandbox && v.who.May(admission.SetUpSandbox)) && v.certain()
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

func (c *Console) keyRow(v *visit, k settings.Key, given map[string]store.Setting) keyRow {
	row := keyRow{
		Name: k.Name, Aliases: strings.Join(k.Aliases, ", "), Value: k.Default, Default: k.Default, Takes: k.Takes(), Help: k.Help, Unused: k.Unused,
		Address: v.path("/configuration/key?name=%s", url.QueryEscape(k.Name)),
	}
	if own, is := given[k.Name]; is {
		row.Value, row.Given, row.By, row.At = own.Value, true, own.By, v.moment(&own.At)
	}
	return row
}

// configurationData is the keys of a domain.
type configurationData struct {
	Search       string
	Keys, Unused []keyRow
}

// configuration lists the keys, those without an effect last.
func (c *Console) configuration(v *visit) error {
	given, err := c.DB.GivenSettings(v, v.domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", v.domain.ID, err)
	}
	v.setUp("Configuration")
	data := configurationData{Search: strings.TrimSpace(v.request.URL.Query().Get("search"))}
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
	return c.send(v, "configuration", "Configuration", data)
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
	Turn     turn
	MaySetUp bool
}

// changeRow is a change of a key.
type changeRow struct {
	Key, At, By, Was, Is string
	// Began and Ended mark a change from and to the default.
	Began, Ended bool
}

func (v *visit) changeRow(s store.SettingChange) changeRow {
	row := changeRow{Key: s.Key, At: v.moment(&s.At), By: s.By, Began: s.Previous == nil, Ended: s.New == nil}
	if s.Previous != nil {
		row.Was = *s.Previous
	}
	if s.New != nil {
		row.Is = *s.New
	}
	return row
}

// keyOf is the key that the address or the form names.
func (v *visit) keyOf() (settings.Key, error) {
	key, known := settings.Find(v.request.FormValue("name"))
	if !known {
		return key, errNoPage
	}
	return key, nil
}

func (c *Console) configurationKey(v *visit) error {
	key, err := v.keyOf()
	if err != nil {
		return err
	}
	given, err := c.DB.GivenSettings(v, v.domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", v.domain.ID, err)
	}
	v.setUp("Configuration")
	data := keyData{keyRow: c.keyRow(v, key, given), Choices: key.Choices(), Long: key.Long(), MaySetUp: v.maySetUp()}
	if data.Log, data.Turn, err = c.changes(v, store.SettingChanges{Domain: v.domain.ID, Key: key.Name}); err != nil {
		return err
	}
	if v.problem != "" {
		data.Value = v.field("value")
	}
	return c.send(v, "configuration-key", key.Name, data)
}

// changes is the page of the record of changes that the address names.
func (c *Console) changes(v *visit, f store.SettingChanges) ([]changeRow, turn, error) {
	w := v.window(2)
	all, err := c.DB.SettingChanges(v, f, w)
	if err != nil {
		return nil, turn{}, fmt.Errorf("list the changes of settings of domain %d: %w", v.domain.ID, err)
	}
	all, around := page(v, w, all, store.SettingChange.Place)
	rows := make([]changeRow, len(all))
	for i, one := range all {
		rows[i] = v.changeRow(one)
	}
	return rows, around, nil
}

// configure gives a key a value, or returns it to its default.
func (c *Console) configure(v *visit) error {
	key, err := v.keyOf()
	if err != nil {
		return err
	}
	if !v.maySetUp() {
		return errForbidden
	}
	value := strings.ReplaceAll(v.field("value"), "\r\n", "\n")
	wanted := &value
	switch v.field("act") {
	case "set":
	case "reset":
		wanted = nil
	default:
		return errForm
	}
	err = settings.Change(v, c.DB, v.domain.ID, map[string]*string{key.Name: wanted}, v.by(), c.now(v), c.record(v, actConfigure, "", 0))
	return c.after(v, err, v.path("/configuration/key?name=%s", url.QueryEscape(key.Name)), (*Console).configurationKey)
}

// logData is a page of the changes of all keys.
type logData struct {
	Rows []changeRow
	Turn turn
}

func (c *Console) configurationLog(v *visit) error {
	v.setUp("Configuration")
	var (
		data logData
		err  error
	)
	if data.Rows, data.Turn, err = c.changes(v, store.SettingChanges{Domain: v.domain.ID}); err != nil {
		return err
	}
	return c.send(v, "configuration-log", "Changes of the configuration", data)
}
