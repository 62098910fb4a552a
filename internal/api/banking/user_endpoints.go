package banking

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/archive"
	"passerelle/internal/bankstore"
	"passerelle/internal/exports"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) userRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/users", Needs: allUsers, Endpoint: httpapi.Handle(s.listUsers),
			Summary: "List users", Doc: "Lists all users of the domain, including temporary ones.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}", Needs: oneUser, Endpoint: httpapi.Handle(s.oneUser),
			Summary: "Read a user", Doc: "Returns a user. A user token reads its own user, by id or as me. A users token reads every user.",
		},
		{
			Method: http.MethodDelete, Pattern: "/users/{userId}", Needs: oneUser, Endpoint: httpapi.Handle(s.deleteUser),
			Summary: "Delete a user", Doc: "Deletes the user and all its data. The user's tokens stop working. USER_DELETED contains the user's last token, unless the user was temporary.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/config", Needs: oneUser, Endpoint: httpapi.Handle(s.userConfig),
			Summary: "Read the values stored for a user",
		},
		{
			Method: httpapi.Update, Pattern: "/users/{userId}/config", Needs: oneUser, Endpoint: httpapi.Handle(s.setUserConfig),
			Summary: "Store values for a user", Doc: "Stores texts under up to 100 keys of your choice. Omitted keys keep their values.",
		},
		{
			Method: http.MethodDelete, Pattern: "/users/{userId}/config", Needs: oneUser, Endpoint: httpapi.Handle(s.deleteUserConfig),
			Summary: "Delete the values stored for a user",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/export", Needs: oneUser, Endpoint: httpapi.Handle(s.exportUser),
			Summary: "Export all data of a user", Doc: "Returns a zip archive, which is created while it is sent. The archive contains the user's data as JSON, as this API lists it, including disabled and deleted items. Transactions include notes and attachments. The folder files/ contains the files by id. The archive omits credentials for institutions, and payments, which belong to the domain. If an error occurs or the user is deleted meanwhile, the archive breaks off and is incomplete.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/consents", Needs: oneUser, Endpoint: httpapi.Handle(s.listConsents),
			Summary: "List the consents of a user", Doc: "Lists every consent to share an account or a subscription, newest first, with the version of the text, the origin, the time, and the end. Consents stay when the connection is deleted, and are deleted with the user.",
		},
	}
}

type oneUserInput struct {
	ID passerelle.UserID `path:"userId" doc:"id of the user, or me"`
}

// theirs returns the id of the user in the path. It refuses a user's token when the path names
// another user. The error is the same as for an unknown user.
func (in oneUserInput) theirs(c *httpapi.Caller) (passerelle.UserID, error) {
	if c.Kind == access.UserToken && in.ID != c.User {
		return 0, passerelle.Missing()
	}
	return in.ID, nil
}

func (s *Service) oneUser(ctx context.Context, c *httpapi.Caller, in oneUserInput) (wire.User, error) {
	id, err := in.theirs(c)
	if err != nil {
		return wire.User{}, err
	}
	u, err := s.Aggregation.User(ctx, c.Domain, id)
	return wire.NewUser(u, c.Location), err
}

func (s *Service) deleteUser(ctx context.Context, c *httpapi.Caller, in oneUserInput) (httpapi.Nothing, error) {
	id, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DeleteUser(ctx, c.Domain, id)
}

type listUsersInput struct{ httpapi.Paging }

type listUsersOutput struct {
	Users []wire.User `json:"users"`
	httpapi.Listing
}

func (s *Service) listUsers(ctx context.Context, c *httpapi.Caller, in listUsersInput) (listUsersOutput, error) {
	fetch := func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]passerelle.User, error) {
		return r.Users(ctx, c.Domain.ID, userWindow(w))
	}
	count := func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountUsers(ctx, c.Domain.ID) }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, func(u passerelle.User) httpapi.Position { return httpapi.Position{int64(u.ID)} }, count)
	out := listUsersOutput{Users: make([]wire.User, len(rows)), Listing: listing}
	for i, u := range rows {
		out.Users[i] = wire.NewUser(u, c.Location)
	}
	return out, err
}

func userWindow(w httpapi.PageWindow) store.UserWindow {
	window := store.UserWindow{Limit: w.Limit, Offset: w.Offset, Backward: w.Backward}
	if len(w.From) > 0 {
		from, _ := w.From[0].(int64) // listUsers stored an int64, and this service sealed the cursor
		window.From = passerelle.UserID(from)
	}
	return window
}

func (s *Service) userConfig(ctx context.Context, c *httpapi.Caller, in oneUserInput) (map[string]string, error) {
	id, err := in.theirs(c)
	if err != nil {
		return nil, err
	}
	if _, err := s.Aggregation.User(ctx, c.Domain, id); err != nil {
		return nil, err
	}
	return s.DB.UserSettings(ctx, c.Domain.ID, id)
}

type setUserConfigInput struct {
	oneUserInput
	Values map[string]string `body:"*" doc:"texts by key"`
}

func (s *Service) setUserConfig(ctx context.Context, c *httpapi.Caller, in setUserConfigInput) (map[string]string, error) {
	id, err := in.theirs(c)
	if err != nil {
		return nil, err
	}
	if err := s.Aggregation.SetConfig(ctx, c.Domain, id, in.Values); err != nil {
		return nil, err
	}
	return s.DB.UserSettings(ctx, c.Domain.ID, id)
}

// maxDeletedKeys is the largest number of keys in one request. A user cannot have more keys.
const maxDeletedKeys = 100

type deleteUserConfigInput struct {
	oneUserInput
	Keys []string `query:"keys,required" doc:"keys, separated by commas"`
}

func (s *Service) deleteUserConfig(ctx context.Context, c *httpapi.Caller, in deleteUserConfigInput) (httpapi.Nothing, error) {
	id, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	slices.Sort(in.Keys)
	keys := slices.Compact(in.Keys)
	if len(keys) > maxDeletedKeys {
		return httpapi.Nothing{}, passerelle.InvalidField("keys", "names more than %d keys", maxDeletedKeys)
	}
	return httpapi.Nothing{}, s.Aggregation.DeleteConfig(ctx, c.Domain, id, keys)
}

type listConsentsInput struct {
	oneUserInput
	httpapi.Paging
}

type listConsentsOutput struct {
	Consents []wire.Consent `json:"consents"`
	httpapi.Listing
}

func (s *Service) listConsents(ctx context.Context, c *httpapi.Caller, in listConsentsInput) (listConsentsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listConsentsOutput{}, err
	}
	if _, err := s.Aggregation.User(ctx, c.Domain, user); err != nil {
		return listConsentsOutput{}, err
	}
	filter := bankstore.ConsentFilter{Domain: c.Domain.ID, User: user}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.Consent, error) {
			return bankstore.From(r).Consents(ctx, filter, w.OfRows())
		},
		func(one bankstore.Consent) httpapi.Position { return one.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountConsents(ctx, filter)
		})
	out := listConsentsOutput{Consents: make([]wire.Consent, len(rows)), Listing: listing}
	for i, one := range rows {
		out.Consents[i] = aggregation.ShowConsent(one, c.Location)
	}
	return out, err
}

func (s *Service) exportUser(ctx context.Context, c *httpapi.Caller, in oneUserInput) (httpapi.Stream, error) {
	id, err := in.theirs(c)
	if err != nil {
		return httpapi.Stream{}, err
	}
	u, err := exports.Begin(ctx, func() (passerelle.User, error) { return s.Aggregation.User(ctx, c.Domain, id) })
	if err != nil {
		return httpapi.Stream{}, err
	}
	write := func(w io.Writer) error {
		return archive.Write(ctx, s.Aggregation, s.Documents.Files, c.Domain, u, c.Location, w)
	}
	return httpapi.Stream{MediaType: "application/zip", Name: fmt.Sprintf("user-%d.zip", u.ID), Write: write}, nil
}
