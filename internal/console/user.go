package console

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/archive"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/exports"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func (c *Console) userRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/users", c.users),
		page.Get("domains/#/users/#", c.user),
		page.Post("domains/#/users/#/export", c.exportUser),
		page.Post("domains/#/users/#/delete", c.deleteUser),
		page.Get("domains/#/users/#/accounts", c.accounts),
		page.Post("domains/#/users/#/accounts", c.revealAccounts),
		page.Get("domains/#/users/#/subscriptions", c.subscriptions),
		page.Post("domains/#/users/#/subscriptions", c.revealSubscriptions),
		page.Get("domains/#/users/#/consents", c.consents),
	}
}

// The audit log has this name for the export of a user's data.
const actExportUser = "export user"

// usersData is a page of users.
type usersData struct {
	ID    string
	Rows  []userRow
	Pager page.Pager
}

type userRow struct {
	ID               passerelle.UserID
	Created, Expires page.When
	Platform         string
	// Working and Failing count the user's connections, only in the list of users.
	Working, Failing int64
}

// users lists the users of a domain, newest first.
func (c *Console) users(pc *page.Context) error {
	data := usersData{ID: strings.TrimSpace(pc.Request.URL.Query().Get("id"))}
	if data.ID != "" {
		return c.soughtUser(pc, data)
	}
	w := pc.Window(1)
	from := store.UserWindow{Limit: w.Limit, Backward: !w.Backward, From: math.MaxInt64} // UserWindow is ascending by default, but the page is descending
	if w.From != nil {
		id, _ := w.From[0].(int64) // Window returns int64 numbers
		from.From = passerelle.UserID(id)
	}
	rows, err := c.DB.Users(pc, pc.Domain.ID, from)
	if err != nil {
		return fmt.Errorf("list the users of domain %d: %w", pc.Domain.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(u passerelle.User) []any { return page.ByID(u.ID) })
	return c.sendUsers(pc, data, rows...)
}

// sendUsers sends the list with users and the numbers of their connections.
func (c *Console) sendUsers(pc *page.Context, data usersData, users ...passerelle.User) error {
	ids := make([]passerelle.UserID, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	connections, err := bankstore.From(c.DB).ConnectionsOfUsers(pc, pc.Domain.ID, ids...)
	if err != nil {
		return fmt.Errorf("count the connections of users: %w", err)
	}
	for _, u := range users {
		row, n := newUserRow(pc, u), connections[u.ID]
		row.Working, row.Failing = n.All-n.Failing, n.Failing
		data.Rows = append(data.Rows, row)
	}
	return pages.Send(pc, "users", "Users", data)
}

// soughtUser lists the user with the number in data, if this user exists.
func (c *Console) soughtUser(pc *page.Context, data usersData) error {
	id, err := strconv.ParseInt(data.ID, 10, 64)
	if err != nil || id <= 0 {
		pc.Problem, pc.Wrong = "Number: must be the number of a user", "id"
		return pages.Send(pc, "users", "Users", data)
	}
	u, err := c.Aggregation.User(pc, pc.Domain, passerelle.UserID(id))
	if err != nil && !errors.Is(err, passerelle.NotFound) {
		return err
	}
	if err == nil {
		return c.sendUsers(pc, data, u)
	}
	return pages.Send(pc, "users", "Users", data)
}

func newUserRow(pc *page.Context, u passerelle.User) userRow {
	return userRow{ID: u.ID, Created: pc.When(u.Created), Platform: string(u.Platform), Expires: pc.RealWhenEver(u.Expires)}
}

// userData is the content of a user's page. It has the data of the user, and a page of one of the
// user's lists.
type userData struct {
	userRow
	// MayDelete and MayExport are set when the operator may do these acts.
	MayDelete, MayExport bool
	Connections          []connectionRow
	Accounts             []accountRow
	Subscriptions        []subscriptionRow
	Consents             []consentRow
	// Revealable is set when the page hides data that the operator may see. Revealed is set when
	// the page shows this data.
	Revealable, Revealed bool
	Pager                page.Pager
}

// about returns the parts that all pages about a user have. The address names the user.
func (c *Console) about(pc *page.Context, here string) (userData, error) {
	u, err := c.Aggregation.User(pc, pc.Domain, passerelle.UserID(pc.Numbers[1]))
	if err != nil {
		return userData{}, err
	}
	for _, one := range [][2]string{{"Connections", ""}, {"Accounts", "/accounts"}, {"Subscriptions", "/subscriptions"}, {"Consents", "/consents"}} {
		pc.Tabs = append(pc.Tabs, page.Tab{Name: one[0], Address: pc.Path("/users/%d%s", u.ID, one[1]), Here: one[0] == here})
	}
	return userData{userRow: newUserRow(pc, u), MayDelete: mayAct(pc), MayExport: pc.MayReveal()}, nil
}

// mayAct reports whether the operator may act on users and connections on behalf of the client.
func mayAct(pc *page.Context) bool { return pc.Who.May(operators.Act) && pc.Certain() }

// user shows a user and the user's connections.
func (c *Console) user(pc *page.Context) error {
	data, err := c.about(pc, "Connections")
	if err != nil {
		return err
	}
	w := pc.Window(1)
	rows, err := bankstore.From(c.DB).Connections(pc, pc.Domain.ID, data.ID, w)
	if err != nil {
		return fmt.Errorf("list the connections of user %d: %w", data.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(one bankstore.Connection) []any { return page.ByID(one.ID) })
	for _, one := range rows {
		row := c.connectionRow(pc, one)
		row.User = 0 // the title names the user
		data.Connections = append(data.Connections, row)
	}
	return pages.Send(pc, "user", fmt.Sprintf("User %d", data.ID), data)
}

// exportUser records the export. It then sends the archive of a user.
func (c *Console) exportUser(pc *page.Context) error {
	if !pc.MayReveal() {
		return page.ErrForbidden
	}
	id := passerelle.UserID(pc.Numbers[1])
	u, err := exports.Begin(pc, func() (passerelle.User, error) { return c.Aggregation.User(pc, pc.Domain, id) })
	if err != nil {
		return err
	}
	if err := pc.RecordNow(actExportUser, "user", int64(u.ID)); err != nil {
		return err
	}
	web.Download(pc.Writer, "application/zip", fmt.Sprintf("user-%d.zip", u.ID))
	if err := archive.Write(pc, c.Aggregation, c.Files, pc.Domain, u, pc.Zone, pc.Writer); err != nil {
		c.Log.ErrorContext(pc, "an export broke off", "user", u.ID, "error", err)
		panic(http.ErrAbortHandler) // otherwise an operator could mistake a part for the whole archive
	}
	return nil
}

// deleteUser deletes a user after the operator has typed the user's number.
func (c *Console) deleteUser(pc *page.Context) error {
	id := pc.Numbers[1]
	if !mayAct(pc) {
		return page.ErrForbidden
	}
	err := pc.Confirmed(id)
	if err == nil {
		err = c.Aggregation.DeleteUser(pc, pc.Domain, passerelle.UserID(id), pc.Record(aggregation.ActDeleteUser, "user", 0))
	}
	return pc.After(err, fmt.Sprintf("User %d was deleted.", id), pc.Path("/users"), c.user)
}
