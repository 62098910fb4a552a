package console

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func clientID(v *desk.Visit) passerelle.ClientID { return passerelle.ClientID(v.Numbers[1]) }

// makeKeys gives an application a new pair of keys. Nobody sees the private one.
func (c *Console) makeKeys(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := clientID(v)
	_, _, err := c.Access.Update(v, v.Domain.ID, id, access.Change{GenerateKeys: true}, v.Record(actMakeKeys, "client", int64(id)))
	return c.afterClient(v, err)
}

// afterClient shows the application anew, or what kept an act on it from being
// done.
func (c *Console) afterClient(v *desk.Visit, err error) error {
	return v.After(err, v.Path("/clients/%d", clientID(v)), c.client)
}

// clientLogo sends the picture of an application. It has a new number whenever it
// changes, so that browsers may keep it.
func (c *Console) clientLogo(v *desk.Visit) error {
	logo, err := c.DB.Logo(v, v.Domain.ID, clientID(v))
	if err == nil && logo.ID != v.Numbers[2] {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("load the logo of client %d: %w", clientID(v), err)
	}
	web.Picture(v.Writer, v.Request, logo.MediaType, logo.Content)
	return nil
}

// setLogo gives an application the picture that the form carries.
func (c *Console) setLogo(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := clientID(v)
	content, err := v.File("logo")
	if err == nil {
		_, err = c.Access.SetLogo(v, v.Domain.ID, id, content, v.Record(actSetLogo, "client", int64(id)))
	}
	return c.afterClient(v, err)
}

// deleteLogo removes the picture of an application; one that is gone already is no
// fault.
func (c *Console) deleteLogo(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := clientID(v)
	err := c.Access.DeleteLogo(v, v.Domain.ID, id, v.Record(actDeleteLogo, "client", int64(id)))
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return c.afterClient(v, err)
}

// addKept adds the texts that programs keep with an application, by key.
func (c *Console) addKept(v *desk.Visit, one store.Client, data *clientData) {
	for _, key := range slices.Sorted(maps.Keys(one.Config)) {
		data.Kept = append(data.Kept, desk.Fact{Name: key, Value: one.Config[key]})
	}
	if v.Problem != "" {
		data.KeptKey, data.KeptText = v.Field("key"), v.Lines("value")
	}
}

// configureClient keeps a text with an application under a key, or removes the key.
func (c *Console) configureClient(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id, key := clientID(v), strings.TrimSpace(v.Field("key"))
	if key == "" {
		return c.afterClient(v, passerelle.MissingField("key", "is required"))
	}
	change := access.Change{Config: map[string]string{key: v.Lines("value")}, MergeConfig: true}
	switch v.Field("act") {
	case "set":
	case "remove":
		one, err := c.DB.Client(v, v.Domain.ID, id)
		if err != nil {
			return fmt.Errorf("load client %d: %w", id, err)
		}
		change.Config, change.MergeConfig = map[string]string{}, false
		maps.Copy(change.Config, one.Config)
		delete(change.Config, key)
	default:
		return desk.ErrForm
	}
	_, _, err := c.Access.Update(v, v.Domain.ID, id, change, v.Record(actChangeClient, "client", int64(id)))
	return c.afterClient(v, err)
}
