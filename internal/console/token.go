package console

import (
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/desk"
	"passerelle/internal/store"
)

func (c *Console) tokenRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/tokens", c.tokens),
		desk.Post("domains/#/tokens", c.createToken),
		desk.Post("domains/#/tokens/#/revoke", c.revokeToken),
	}
}

// The acts on tokens, as the audit log names them.
const (
	actCreateToken = "create token"
	actRevokeToken = "revoke token"
)

// tokensData is a page of tokens, and the text of the one that has just been made,
// if any.
type tokensData struct {
	// All is set when tokens of users and of single payments are listed too.
	All      bool
	ID       string
	Rows     []tokenRow
	Turn     desk.Turn
	Text     string
	MaySetUp bool
}

type tokenRow struct {
	ID                                            int64
	Kind, Scopes, Created, Used, Expires, Revoked string
	Client                                        passerelle.ClientID
	User                                          passerelle.UserID
	Payment                                       passerelle.PaymentID
	// Over tokens are revoked or have expired.
	Over bool
}

// tokens lists the tokens of a domain, the newest first.
func (c *Console) tokens(v *desk.Visit) error { return c.showTokens(v, tokensData{}) }

func (c *Console) showTokens(v *desk.Visit, data tokensData) error {
	query := v.Request.URL.Query()
	data.All, data.ID = query.Get("all") == "1", strings.TrimSpace(query.Get("id"))
	data.MaySetUp = v.MaySetUp()
	setUp(v, "Tokens")
	f := store.TokenFilter{Domain: v.Domain.ID, All: data.All}
	if data.ID != "" {
		id, err := strconv.ParseInt(data.ID, 10, 64)
		if err != nil || id <= 0 {
			v.Problem = "id: must be the number of a token"
			return pages.Send(v, "tokens", "Tokens", data)
		}
		f.Only, f.All = id, true
	}
	w := v.Window(1)
	rows, err := c.DB.Tokens(v, f, w)
	if err != nil {
		return fmt.Errorf("list the tokens of domain %d: %w", v.Domain.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(t store.Token) []any { return desk.ByID(t.ID) })
	for _, t := range rows {
		data.Rows = append(data.Rows, c.tokenRow(v, t))
	}
	return pages.Send(v, "tokens", "Tokens", data)
}

func (c *Console) tokenRow(v *desk.Visit, t store.Token) tokenRow {
	return tokenRow{
		ID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Created: v.Moment(&t.Created), Used: v.Moment(t.Used), Expires: v.Moment(t.Expires), Revoked: v.Moment(t.Revoked),
		Client: t.Client, User: t.User, Payment: t.Payment, Over: t.Revoked != nil || t.Expires != nil && !c.Now().Before(*t.Expires),
	}
}

// createToken makes a token for the operator's own programs, and shows it.
func (c *Console) createToken(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	made, err := c.Access.IssueOperator(v, v.Domain.ID, access.TokenKind(v.Field("kind")), v.Record(actCreateToken, "token", 0))
	if err != nil {
		return v.After(err, "", c.tokens)
	}
	return c.showTokens(v, tokensData{Text: made.Text})
}

// revokeToken ends the validity of a token, of whatever kind; one that is over
// already is not there.
func (c *Console) revokeToken(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := v.Numbers[1]
	_, err := c.Access.Revoke(v, v.Domain.ID, id, v.Record(actRevokeToken, "token", id))
	return v.After(err, v.Path("/tokens?id=%d", id), c.tokens)
}
