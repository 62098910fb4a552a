package main

import (
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/store"
)

type userCommand struct {
	domainFlags
	List   userList   `cmd:"" help:"List the users, by id."`
	Show   userShow   `cmd:"" help:"Print one user."`
	Delete userDelete `cmd:"" help:"Delete a user and all its data. The service erases the data soon after."`
}

// userView is the printed form of a user. Expires is set for a temporary user.
type userView struct {
	ID        passerelle.UserID   `json:"id"`
	Platform  passerelle.Platform `json:"platform"`
	Created   string              `json:"created"`
	Permanent string              `json:"permanent,omitempty"`
	Expires   string              `json:"expires,omitempty"`
}

func (d target) viewUser(u passerelle.User) userView {
	return userView{ID: u.ID, Platform: u.Platform, Created: d.moment(&u.Created), Permanent: d.moment(u.Permanent), Expires: d.moment(u.Expires)}
}

// users returns the use cases for users, on the database of the command. The running service sends
// the resulting events and erases the data of deleted users when its loops run next.
func (d target) users() *aggregation.Aggregation {
	nobody := func() {}
	return &aggregation.Aggregation{DB: d.db, Now: time.Now, Wake: nobody, Erase: nobody}
}

type userList struct {
	Limit int               `default:"1000" least:"1" help:"List at most this many users."`
	After passerelle.UserID `placeholder:"ID" help:"List only users with a higher id."`
}

// Run lists users.
func (l *userList) Run(c *console, g *userCommand) error {
	return g.at(c, func(d target) (any, error) {
		all, err := d.db.Users(c.ctx, d.domain.ID, store.UserWindow{Limit: l.Limit, From: l.After})
		if err != nil {
			return nil, fmt.Errorf("list the users: %w", err)
		}
		return views(all, d.viewUser), nil
	})
}

type userShow struct {
	ID passerelle.UserID `arg:"" help:"Id of the user."`
}

// Run prints a user.
func (s *userShow) Run(c *console, g *userCommand) error {
	return g.at(c, func(d target) (any, error) {
		u, err := d.users().User(c.ctx, d.domain, s.ID)
		if err != nil {
			return nil, known(err, "id", s.ID)
		}
		return d.viewUser(u), nil
	})
}

type userDelete struct {
	ID passerelle.UserID `arg:"" help:"Id of the user."`
}

// Run deletes a user.
func (r *userDelete) Run(c *console, g *userCommand) error {
	return g.at(c, func(d target) (any, error) {
		if err := d.users().DeleteUser(c.ctx, d.domain, r.ID, d.act(aggregation.ActDeleteUser, "user")); err != nil {
			return nil, known(err, "id", r.ID)
		}
		now := time.Now()
		return removedView{int64(r.ID), d.moment(&now)}, nil
	})
}
