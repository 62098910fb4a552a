package console

import (
	"fmt"
	"net/url"
	"strings"

	"passerelle/internal/console/page"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func (c *Console) configurationRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/configuration", c.configuration),
		page.Get("domains/#/configuration/key", c.configurationKey),
		page.Post("domains/#/configuration/key", c.configure),
		page.Get("domains/#/configuration/log", c.configurationLog),
	}
}

const actConfigure = "change configuration"

// keyRow is a configuration key with its value.
type keyRow struct {
	Name, Aliases, Value, Default, Takes, Help string
	// Set is true when the domain has set a value. By and At say who set the value, and when.
	Set, Unused bool
	By          string
	At          page.When
	// Address is the address of the key's page.
	Address string
}

func (c *Console) keyRow(pc *page.Context, k settings.Key, supplied map[string]store.Setting) keyRow {
	row := keyRow{
		Name: k.Name, Aliases: strings.Join(k.Aliases, ", "), Value: k.Default, Default: k.Default, Takes: k.Takes(), Help: k.Help, Unused: k.Unused,
		Address: pc.Path("/configuration/key?name=%s", url.QueryEscape(k.Name)),
	}
	if own, is := supplied[k.Name]; is {
		row.Value, row.Set, row.By, row.At = own.Value, true, own.By, pc.When(own.At)
	}
	return row
}

// configurationData has the configuration keys of a domain.
type configurationData struct {
	Search       string
	Keys, Unused []keyRow
}

// configuration lists the configuration keys. Keys without an effect come last.
func (c *Console) configuration(pc *page.Context) error {
	supplied, err := c.DB.SettingRecords(pc, pc.Domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", pc.Domain.ID, err)
	}
	data := configurationData{Search: strings.TrimSpace(pc.Request.URL.Query().Get("search"))}
	for _, k := range valuesOf(supplied).Keys() {
		if !k.Matches(data.Search) {
			continue
		}
		if k.Unused {
			data.Unused = append(data.Unused, c.keyRow(pc, k, supplied))
		} else {
			data.Keys = append(data.Keys, c.keyRow(pc, k, supplied))
		}
	}
	return pages.Send(pc, "configuration", "Configuration", data)
}

// valuesOf returns the values of settings, without the records of their changes.
func valuesOf(supplied map[string]store.Setting) settings.Values {
	values := settings.Values{}
	for name, one := range supplied {
		values[name] = one.Value
	}
	return values
}

// keyData is the content of a key's page, with the history of the key's values.
type keyData struct {
	keyRow
	Choices  []string
	Long     bool
	Log      []changeRow
	Pager    page.Pager
	MaySetUp bool
}

// changeRow is a change of a key.
type changeRow struct {
	Key, By, Was, Is string
	At               page.When
	// Began is set when the old value was the default, and Ended when the new value is.
	Began, Ended bool
}

func newChangeRow(pc *page.Context, s store.SettingChange) changeRow {
	row := changeRow{Key: s.Key, At: pc.When(s.At), By: s.By, Began: s.Previous == nil, Ended: s.New == nil}
	if s.Previous != nil {
		row.Was = *s.Previous
	}
	if s.New != nil {
		row.Is = *s.New
	}
	return row
}

// keyOf returns the key that the address or the form names.
func keyOf(pc *page.Context) (settings.Key, error) {
	key, known := settings.Find(pc.Request.FormValue("name"))
	if !known {
		return key, page.ErrNoPage
	}
	return key, nil
}

func (c *Console) configurationKey(pc *page.Context) error {
	key, err := keyOf(pc)
	if err != nil {
		return err
	}
	supplied, err := c.DB.SettingRecords(pc, pc.Domain.ID)
	if err != nil {
		return fmt.Errorf("load the settings of domain %d: %w", pc.Domain.ID, err)
	}
	data := keyData{keyRow: c.keyRow(pc, key, supplied), Choices: key.Choices(), Long: key.Long(), MaySetUp: pc.MaySetUp()}
	if data.Log, data.Pager, err = c.changes(pc, store.SettingChanges{Domain: pc.Domain.ID, Key: key.Name}); err != nil {
		return err
	}
	if pc.Problem != "" {
		data.Value = pc.Field("value")
	}
	return pages.Send(pc, "configuration-key", key.Name, data)
}

// changes returns one page of changes, for the position in the address.
func (c *Console) changes(pc *page.Context, f store.SettingChanges) ([]changeRow, page.Pager, error) {
	w := pc.Window(2)
	all, err := c.DB.SettingChanges(pc, f, w)
	if err != nil {
		return nil, page.Pager{}, fmt.Errorf("list the changes of settings of domain %d: %w", pc.Domain.ID, err)
	}
	all, around := page.Paged(pc, w, all, store.SettingChange.Place)
	rows := make([]changeRow, len(all))
	for i, one := range all {
		rows[i] = newChangeRow(pc, one)
	}
	return rows, around, nil
}

// configure sets the value of a key, or resets it to its default.
func (c *Console) configure(pc *page.Context) error {
	key, err := keyOf(pc)
	if err != nil {
		return err
	}
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	value := strings.ReplaceAll(pc.Field("value"), "\r\n", "\n")
	wanted := &value
	switch pc.Field("act") {
	case "set":
	case "reset":
		wanted = nil
	default:
		return page.ErrForm
	}
	err = settings.Change(pc, c.DB, pc.Domain.ID, map[string]*string{key.Name: wanted}, pc.By(), pc.Now(), pc.Record(actConfigure, "", 0))
	done := key.Name + " is set."
	if wanted == nil {
		done = key.Name + " is back to its default."
	}
	return pc.After(err, done, pc.Path("/configuration/key?name=%s", url.QueryEscape(key.Name)), c.configurationKey)
}

// logData is the content of the page that lists the changes of all keys.
type logData struct {
	Rows  []changeRow
	Pager page.Pager
}

func (c *Console) configurationLog(pc *page.Context) error {
	var (
		data logData
		err  error
	)
	if data.Rows, data.Pager, err = c.changes(pc, store.SettingChanges{Domain: pc.Domain.ID}); err != nil {
		return err
	}
	return pages.Send(pc, "configuration-log", "Configuration changes", data)
}
