package console

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/archive"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func (c *Console) userRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/users", c.users),
		desk.Get("domains/#/users/#", c.user),
		desk.Post("domains/#/users/#/export", c.exportUser),
		desk.Post("domains/#/users/#/delete", c.deleteUser),
		desk.Get("domains/#/users/#/accounts", c.accounts),
		desk.Post("domains/#/users/#/accounts", c.revealAccounts),
		desk.Get("domains/#/users/#/subscriptions", c.subscriptions),
		desk.Post("domains/#/users/#/subscriptions", c.revealSubscriptions),
		desk.Get("domains/#/users/#/consents", c.consents),
	}
}

// The acts on users, as the audit log names them.
const (
	actExportUser = "export user"
	actDeleteUser = "delete user"
)

// usersData is a page of users.
type usersData struct {
	ID   string
	Rows []userRow
	Turn desk.Turn
}

type userRow struct {
	ID                         passerelle.UserID
	Created, Platform, Expires string
}

// users lists the users of a domain, the newest first.
func (c *Console) users(v *desk.Visit) error {
	data := usersData{ID: strings.TrimSpace(v.Request.URL.Query().Get("id"))}
	if data.ID != "" {
		return c.soughtUser(v, data)
	}
	w := v.Window(1)
	from := store.UserWindow{Limit: w.Limit, Backward: !w.Backward, From: math.MaxInt64} // by id, the other way round
	if w.From != nil {
		id, _ := w.From[0].(int64) // as window reads it
		from.From = passerelle.UserID(id)
	}
	rows, err := c.DB.Users(v, v.Domain.ID, from)
	if err != nil {
		return fmt.Errorf("list the users of domain %d: %w", v.Domain.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(u passerelle.User) []any { return desk.ByID(u.ID) })
	for _, u := range rows {
		data.Rows = append(data.Rows, newUserRow(v, u))
	}
	return pages.Send(v, "users", "Users", data)
}

// soughtUser lists the user of a number, if there is one.
func (c *Console) soughtUser(v *desk.Visit, data usersData) error {
	id, err := strconv.ParseInt(data.ID, 10, 64)
	if err != nil || id <= 0 {
		v.Problem = "id: must be the number of a user"
		return pages.Send(v, "users", "Users", data)
	}
	u, err := c.Aggregation.User(v, v.Domain, passerelle.UserID(id))
	if err != nil && !errors.Is(err, passerelle.NotFound) {
		return err
	}
	if err == nil {
		data.Rows = []userRow{newUserRow(v, u)}
	}
	return pages.Send(v, "users", "Users", data)
}

func newUserRow(v *desk.Visit, u passerelle.User) userRow {
	return userRow{ID: u.ID, Created: v.Moment(&u.Created), Platform: string(u.Platform), Expires: v.Moment(u.Expires)}
}

// userData is a page about one user: the facts, and a page of one of the lists of
// what the user has.
type userData struct {
	userRow
	// MayDelete and MayExport are set where the operator's role leaves it.
	MayDelete, MayExport bool
	Connections          []connectionRow
	Accounts             []accountRow
	Subscriptions        []subscriptionRow
	Consents             []consentRow
	// Revealable is set when there is something hidden that the operator may see,
	// and Revealed when it is shown.
	Revealable, Revealed bool
	Turn                 desk.Turn
}

// about begins a page about the user of the address.
func (c *Console) about(v *desk.Visit, here string) (userData, error) {
	u, err := c.Aggregation.User(v, v.Domain, passerelle.UserID(v.Numbers[1]))
	if err != nil {
		return userData{}, err
	}
	for _, one := range [][2]string{{"Connections", ""}, {"Accounts", "/accounts"}, {"Subscriptions", "/subscriptions"}, {"Consents", "/consents"}} {
		v.Tabs = append(v.Tabs, desk.Tab{Name: one[0], Address: v.Path("/users/%d%s", u.ID, one[1]), Here: one[0] == here})
	}
	return userData{userRow: newUserRow(v, u), MayDelete: mayAct(v), MayExport: v.MayReveal()}, nil
}

// mayAct reports whether the operator may do with users and connections what their
// client may.
func mayAct(v *desk.Visit) bool { return v.Who.May(admission.Act) && v.Certain() }

// user shows a user with their connections.
func (c *Console) user(v *desk.Visit) error {
	data, err := c.about(v, "Connections")
	if err != nil {
		return err
	}
	w := v.Window(1)
	rows, err := c.DB.Connections(v, v.Domain.ID, data.ID, w)
	if err != nil {
		return fmt.Errorf("list the connections of user %d: %w", data.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(one store.Connection) []any { return desk.ByID(one.ID) })
	for _, one := range rows {
		data.Connections = append(data.Connections, c.connectionRow(v, one))
	}
	return pages.Send(v, "user", fmt.Sprintf("User %d", data.ID), data)
}

// exportUser sends all that is kept of a user, which is on record before.
func (c *Console) exportUser(v *desk.Visit) error {
	if !v.MayReveal() {
		return desk.ErrForbidden
	}
	u, err := c.Aggregation.User(v, v.Domain, passerelle.UserID(v.Numbers[1]))
	if err != nil {
		return err
	}
	if err := v.RecordNow(actExportUser, "user", int64(u.ID)); err != nil {
		return err
	}
	web.Download(v.Writer, "application/zip", fmt.Sprintf("user-%d.zip", u.ID))
	if err := archive.Write(v, c.Aggregation, c.Files, v.Domain, u, v.Zone, v.Writer); err != nil {
		c.Log.ErrorContext(v, "an export broke off", "user", u.ID, "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
	}
	return nil
}

// deleteUser deletes the user whose number was typed.
func (c *Console) deleteUser(v *desk.Visit) error {
	id := v.Numbers[1]
	if !mayAct(v) {
		return desk.ErrForbidden
	}
	err := v.Confirmed(id)
	if err == nil {
		err = c.Aggregation.DeleteUser(v, v.Domain, passerelle.UserID(id), v.Record(actDeleteUser, "user", id))
	}
	return v.After(err, v.Path("/users"), c.user)
}
