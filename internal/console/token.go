package console

import (
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
)

func (c *Console) tokenRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/tokens", c.tokens),
		page.SetUp("domains/#/tokens", c.createToken),
		page.SetUp("domains/#/tokens/#/revoke", c.revokeToken),
	}
}

// tokensData is the content of a page of tokens. It has the text of a new token, if any.
type tokensData struct {
	// All is set when the operator asked for all tokens, also those of users and payments.
	All      bool
	ID       string
	Rows     []tokenRow
	Pager    page.Pager
	Text     string
	MaySetUp bool
}

type tokenRow struct {
	ID                              int64
	Kind, Scopes                    string
	Created, Used, Expires, Revoked page.When
	Client                          passerelle.ClientID
	User                            passerelle.UserID
	Payment                         passerelle.PaymentID
	// Over is set when the token is revoked or has expired.
	Over bool
}

// tokens lists the tokens of a domain, newest first.
func (c *Console) tokens(pc *page.Context) error {
	query := pc.Request.URL.Query()
	data := tokensData{All: query.Get("all") == "1", ID: strings.TrimSpace(query.Get("id")), MaySetUp: pc.MaySetUp(), Text: pc.TakeSecret()}
	f := store.TokenFilter{Domain: pc.Domain.ID, All: data.All}
	if data.ID != "" {
		id, err := strconv.ParseInt(data.ID, 10, 64)
		if err != nil || id <= 0 {
			pc.Problem, pc.Wrong = "Number: must be the number of a token", "id"
			return pages.Send(pc, "tokens", "Tokens", data)
		}
		f.Only, f.All = id, true
	}
	w := pc.Window(1)
	rows, err := c.DB.Tokens(pc, f, w)
	if err != nil {
		return fmt.Errorf("list the tokens of domain %d: %w", pc.Domain.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(t store.Token) []any { return page.ByID(t.ID) })
	for _, t := range rows {
		data.Rows = append(data.Rows, c.tokenRow(pc, t))
	}
	return pages.Send(pc, "tokens", "Tokens", data)
}

func (c *Console) tokenRow(pc *page.Context, t store.Token) tokenRow {
	return tokenRow{
		ID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Created: pc.RealWhen(t.Created), Used: pc.RealWhenEver(t.Used), Expires: pc.RealWhenEver(t.Expires), Revoked: pc.RealWhenEver(t.Revoked),
		Client: t.Client, User: t.User, Payment: t.Payment, Over: t.Revoked != nil || t.Expires != nil && !c.Now().Before(*t.Expires),
	}
}

// createToken creates a token for the operator's own programs, and shows the token.
func (c *Console) createToken(pc *page.Context) error {
	made, err := c.Access.IssueOperator(pc, pc.Domain.ID, access.TokenKind(pc.Field("kind")), pc.Record(access.ActCreateToken, access.SubjectToken, 0))
	if err != nil {
		return pc.After(err, "", "", c.tokens)
	}
	return pc.LeadToSecret(pc.Path("/tokens"), made.Text)
}

// revokeToken revokes a token of any kind. It fails with NotFound for an unknown or revoked token.
func (c *Console) revokeToken(pc *page.Context) error {
	id := pc.Numbers[1]
	_, err := c.Access.Revoke(pc, pc.Domain.ID, id, pc.Record(access.ActRevokeToken, access.SubjectToken, 0))
	return pc.After(err, fmt.Sprintf("Token %d was revoked.", id), pc.Path("/tokens?id=%d", id), c.tokens)
}
