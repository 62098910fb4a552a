package console

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func clientID(pc *page.Context) passerelle.ClientID { return passerelle.ClientID(pc.Numbers[1]) }

// makeKeys gives an application a new pair of keys. No page ever shows the private key.
func (c *Console) makeKeys(pc *page.Context) error {
	id := clientID(pc)
	_, _, err := c.Access.Update(pc, pc.Domain.ID, id, access.ClientUpdate{GenerateKeys: true}, pc.Record(access.ActMakeKeys, access.SubjectClient, 0))
	return c.afterClient(pc, err, "The application has a new pair of keys.")
}

// afterClient shows the application again, with a confirmation or with the reason for a refusal.
func (c *Console) afterClient(pc *page.Context, err error, done string) error {
	return pc.After(err, done, pc.Path("/clients/%d", clientID(pc)), c.client)
}

// clientLogo sends an application's logo. Browsers may cache it: each new logo has a new number.
func (c *Console) clientLogo(pc *page.Context) error {
	logo, err := c.DB.Logo(pc, pc.Domain.ID, clientID(pc))
	if err == nil && logo.ID != pc.Numbers[2] {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("load the logo of client %d: %w", clientID(pc), err)
	}
	web.Picture(pc.Writer, pc.Request, logo.MediaType, logo.Content)
	return nil
}

// setLogo stores the picture in the form as the logo of an application.
func (c *Console) setLogo(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	id := clientID(pc)
	content, err := pc.File("logo")
	if err == nil {
		_, err = c.Access.SetLogo(pc, pc.Domain.ID, id, content, pc.Record(access.ActSetLogo, access.SubjectClient, 0))
	}
	return c.afterClient(pc, err, "The logo is set.")
}

// deleteLogo removes an application's logo. It also succeeds when there is no logo.
func (c *Console) deleteLogo(pc *page.Context) error {
	id := clientID(pc)
	err := c.Access.DeleteLogo(pc, pc.Domain.ID, id, pc.Record(access.ActDeleteLogo, access.SubjectClient, 0))
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return c.afterClient(pc, err, "The logo was removed.")
}

// addKept adds the texts that are stored for the application, sorted by key. Clients of the API
// store them, and operators store them in the console.
func (c *Console) addKept(pc *page.Context, one store.Client, data *clientData) {
	for _, key := range slices.Sorted(maps.Keys(one.Config)) {
		data.Kept = append(data.Kept, page.DetailRow{Name: key, Value: one.Config[key]})
	}
	if pc.Problem != "" {
		data.KeptKey, data.KeptText = strings.TrimSpace(pc.Field("key")), pc.Lines("value")
	}
}

// configureClient stores a text for an application under a key, or removes the key.
func (c *Console) configureClient(pc *page.Context) error {
	id, key := clientID(pc), strings.TrimSpace(pc.Field("key"))
	if key == "" {
		return c.afterClient(pc, passerelle.MissingField("key", "is required"), "")
	}
	change := access.ClientUpdate{Config: map[string]string{key: pc.Lines("value")}, MergeConfig: true}
	done := key + " is saved."
	switch pc.Field("act") {
	case "set":
	case "remove":
		change, done = access.ClientUpdate{RemoveConfig: []string{key}}, key+" was removed."
	default:
		return page.ErrForm
	}
	_, _, err := c.Access.Update(pc, pc.Domain.ID, id, change, pc.Record(access.ActChangeClient, access.SubjectClient, 0))
	return c.afterClient(pc, err, done)
}
