package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

var tokenRoutes = []route{
	{http.MethodGet, "domains/#/tokens", (*Console).tokens, false},
	{http.MethodPost, "domains/#/tokens", (*Console).createToken, false},
	{http.MethodPost, "domains/#/tokens/#/revoke", (*Console).revokeToken, false},
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
	Turn     turn
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
func (c *Console) tokens(v *visit) error { return c.showTokens(v, tokensData{}) }

func (c *Console) showTokens(v *visit, data tokensData) error {
	query := v.request.URL.Query()
	data.All, data.ID = query.Get("all") == "1", strings.TrimSpace(query.Get("id"))
	data.MaySetUp = v.maySetUp()
	v.setUp("Tokens")
	f := store.TokenFilter{Domain: v.domain.ID, All: data.All}
	if data.ID != "" {
		id, err := strconv.ParseInt(data.ID, 10, 64)
		if err != nil || id <= 0 {
			v.problem = "id: must be the number of a token"
			return c.send(v, "tokens", "Tokens", data)
		}
		f.Only, f.All = id, true
	}
	w := v.window(1)
	rows, err := c.DB.Tokens(v, f, w)
	if err != nil {
		return fmt.Errorf("list the tokens of domain %d: %w", v.domain.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(t store.Token) []any { return byID(t.ID) })
	for _, t := range rows {
		data.Rows = append(data.Rows, c.tokenRow(v, t))
	}
	return c.send(v, "tokens", "Tokens", data)
}

func (c *Console) tokenRow(v *visit, t store.Token) tokenRow {
	return tokenRow{
		ID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Created: v.moment(&t.Created), Used: v.moment(t.Used), Expires: v.moment(t.Expires), Revoked: v.moment(t.Revoked),
		Client: t.Client, User: t.User, Payment: t.Payment, Over: t.Revoked != nil || t.Expires != nil && !c.Now().Before(*t.Expires),
	}
}

// createToken makes a token for the operator's own programs, and shows it.
func (c *Console) createToken(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	made, err := c.Access.IssueOperator(v, v.domain.ID, access.TokenKind(v.field("kind")), c.record(v, actCreateToken, "token", 0))
	if err != nil {
		return c.after(v, err, "", (*Console).tokens)
	}
	return c.showTokens(v, tokensData{Text: made.Text})
}

// revokeToken ends the validity of a token, of whatever kind; one that is over
// already is not there.
func (c *Console) revokeToken(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	id := v.numbers[1]
	_, err := c.Access.Revoke(v, v.domain.ID, id, c.record(v, actRevokeToken, "token", id))
	return c.after(v, err, v.path("/tokens?id=%d", id), (*Console).tokens)
}
