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
	"passerelle/internal/store"
	"passerelle/internal/web"
)

var userRoutes = []route{
	{http.MethodGet, "domains/#/users", (*Console).users, false},
	{http.MethodGet, "domains/#/users/#", (*Console).user, false},
	{http.MethodPost, "domains/#/users/#/export", (*Console).exportUser, false},
	{http.MethodPost, "domains/#/users/#/delete", (*Console).deleteUser, false},
	{http.MethodGet, "domains/#/users/#/accounts", (*Console).accounts, false},
	{http.MethodPost, "domains/#/users/#/accounts", (*Console).revealAccounts, false},
	{http.MethodGet, "domains/#/users/#/subscriptions", (*Console).subscriptions, false},
	{http.MethodPost, "domains/#/users/#/subscriptions", (*Console).revealSubscriptions, false},
	{http.MethodGet, "domains/#/users/#/consents", (*Console).consents, false},
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
	Turn turn
}

type userRow struct {
	ID                         passerelle.UserID
	Created, Platform, Expires string
}

// users lists the users of a domain, the newest first.
func (c *Console) users(v *visit) error {
	data := usersData{ID: strings.TrimSpace(v.request.URL.Query().Get("id"))}
	if data.ID != "" {
		return c.soughtUser(v, data)
	}
	w := v.window(1)
	from := store.UserWindow{Limit: w.Limit, Backward: !w.Backward, From: math.MaxInt64} // by id, the other way round
	if w.From != nil {
		id, _ := w.From[0].(int64) // as window reads it
		from.From = passerelle.UserID(id)
	}
	rows, err := c.DB.Users(v, v.domain.ID, from)
	if err != nil {
		return fmt.Errorf("list the users of domain %d: %w", v.domain.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(u passerelle.User) []any { return byID(u.ID) })
	for _, u := range rows {
		data.Rows = append(data.Rows, v.userRow(u))
	}
	return c.send(v, "users", "Users", data)
}

// soughtUser lists the user of a number, if there is one.
func (c *Console) soughtUser(v *visit, data usersData) error {
	id, err := strconv.ParseInt(data.ID, 10, 64)
	if err != nil || id <= 0 {
		v.problem = "id: must be the number of a user"
		return c.send(v, "users", "Users", data)
	}
	u, err := c.Aggregation.User(v, v.domain, passerelle.UserID(id))
	if err != nil && !errors.Is(err, passerelle.NotFound) {
		return err
	}
	if err == nil {
		data.Rows = []userRow{v.userRow(u)}
	}
	return c.send(v, "users", "Users", data)
}

func (v *visit) userRow(u passerelle.User) userRow {
	return userRow{ID: u.ID, Created: v.moment(&u.Created), Platform: string(u.Platform), Expires: v.moment(u.Expires)}
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
	Turn                 turn
}

// about begins a page about the user of the address.
func (c *Console) about(v *visit, here string) (userData, error) {
	u, err := c.Aggregation.User(v, v.domain, passerelle.UserID(v.numbers[1]))
	if err != nil {
		return userData{}, err
	}
	for _, one := range [][2]string{{"Connections", ""}, {"Accounts", "/accounts"}, {"Subscriptions", "/subscriptions"}, {"Consents", "/consents"}} {
		v.tabs = append(v.tabs, tab{one[0], v.path("/users/%d%s", u.ID, one[1]), one[0] == here})
	}
	return userData{userRow: v.userRow(u), MayDelete: v.mayAct(), MayExport: c.mayReveal(v)}, nil
}

// mayAct reports whether the operator may do with users and connections what their
// client may.
func (v *visit) mayAct() bool { return v.who.May(admission.Act) && v.certain() }

// user shows a user with their connections.
func (c *Console) user(v *visit) error {
	data, err := c.about(v, "Connections")
	if err != nil {
		return err
	}
	w := v.window(1)
	rows, err := c.DB.Connections(v, v.domain.ID, data.ID, w)
	if err != nil {
		return fmt.Errorf("list the connections of user %d: %w", data.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(one store.Connection) []any { return byID(one.ID) })
	for _, one := range rows {
		data.Connections = append(data.Connections, c.connectionRow(v, one))
	}
	return c.send(v, "user", fmt.Sprintf("User %d", data.ID), data)
}

// exportUser sends all that is kept of a user, which is on record before.
func (c *Console) exportUser(v *visit) error {
	if !c.mayReveal(v) {
		return errForbidden
	}
	u, err := c.Aggregation.User(v, v.domain, passerelle.UserID(v.numbers[1]))
	if err != nil {
		return err
	}
	err = c.DB.Write(v, func(tx *store.Tx) error { return tx.Audit(c.record(v, actExportUser, "user", int64(u.ID))) })
	if err != nil {
		return fmt.Errorf("record the export of user %d: %w", u.ID, err)
	}
	web.Download(v.writer, "application/zip", fmt.Sprintf("user-%d.zip", u.ID))
	if err := archive.Write(v, c.Aggregation, c.Files, v.domain, u, v.zone, v.writer); err != nil {
		c.Log.ErrorContext(v, "an export broke off", "user", u.ID, "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
	}
	return nil
}

// deleteUser deletes the user whose number was typed.
func (c *Console) deleteUser(v *visit) error {
	id := v.numbers[1]
	if !v.mayAct() {
		return errForbidden
	}
	err := v.confirmed(id)
	if err == nil {
		err = c.Aggregation.DeleteUser(v, v.domain, passerelle.UserID(id), c.record(v, actDeleteUser, "user", id))
	}
	return c.after(v, err, v.path("/users"), (*Console).user)
}

// confirmed wants the number of what is to be deleted, typed by hand.
func (v *visit) confirmed(id int64) error {
	if strings.TrimSpace(v.field("number")) != strconv.FormatInt(id, 10) {
		return passerelle.InvalidField("number", "must be %d, the number of what is to be deleted; nothing was", id)
	}
	return nil
}
