package main

import (
	"fmt"
	"math"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

type tokenCommand struct {
	domainFlags
	Create tokenCreate `cmd:"" help:"Create a token that is valid until you delete it, and print it once."`
	List   tokenList   `cmd:"" help:"List the config and users tokens, newest first, with their approximate last use."`
	Delete tokenDelete `cmd:"" help:"Revoke a token of any kind."`
}

// tokenView is the printed form of a token. Token is the text of the token. Only the command that
// creates the token prints it.
type tokenView struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	Token   string `json:"token,omitempty"`
	Scopes  string `json:"scopes"`
	Created string `json:"created"`
	Used    string `json:"last_used,omitempty"`
	Revoked string `json:"revoked,omitempty"`
}

func (d target) viewToken(t store.Token) tokenView {
	return tokenView{ID: t.ID, Kind: t.Kind, Scopes: t.Scopes, Created: d.moment(&t.Created), Used: d.moment(t.Used), Revoked: d.moment(t.Revoked)}
}

type tokenCreate struct {
	Kind string `required:"" enum:"config,users,deployment" placeholder:"config|users|deployment" help:"config configures the domain. users lists and deletes users. deployment does what config does, and manages the connector programs of all domains."`
}

// Run makes a token.
func (n *tokenCreate) Run(c *console, g *tokenCommand) error {
	return g.at(c, func(d target) (any, error) {
		grant, err := n.issue(c, d)
		if err != nil {
			return nil, err
		}
		view := d.viewToken(grant.Token)
		view.Token = grant.Text
		return view, nil
	})
}

func (n *tokenCreate) issue(c *console, d target) (access.Grant, error) {
	act := d.act(access.ActCreateToken, access.SubjectToken)
	if passerelle.Scope(n.Kind) == passerelle.ScopeDeployment {
		return d.access().IssueDeployment(c.ctx, d.domain.ID, act)
	}
	return d.access().IssueOperator(c.ctx, d.domain.ID, access.TokenKind(n.Kind), act)
}

type tokenList struct{}

// Run lists the operator's tokens, including revoked tokens.
func (tokenList) Run(c *console, g *tokenCommand) error {
	return g.at(c, func(d target) (any, error) {
		all, err := d.db.Tokens(c.ctx, store.TokenFilter{Domain: d.domain.ID}, store.Window{Descending: true, Limit: math.MaxInt32})
		if err != nil {
			return nil, fmt.Errorf("list the tokens: %w", err)
		}
		return views(all, d.viewToken), nil
	})
}

type tokenDelete struct {
	ID int64 `arg:"" help:"Id of the token."`
}

// Run revokes a token. It fails with NotFound for an unknown or revoked token.
func (r *tokenDelete) Run(c *console, g *tokenCommand) error {
	return g.at(c, func(d target) (any, error) {
		now, err := d.access().Revoke(c.ctx, d.domain.ID, r.ID, d.act(access.ActRevokeToken, access.SubjectToken))
		if err != nil {
			return nil, known(err, "id", r.ID)
		}
		return removedView{r.ID, d.moment(&now)}, nil
	})
}

// removedView is the output of a command that removes something.
type removedView struct {
	ID      int64  `json:"id"`
	Deleted string `json:"deleted"`
}
