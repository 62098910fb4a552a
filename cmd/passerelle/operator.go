package main

import (
	"time"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
)

type operatorCommand struct {
	database
	Create    operatorCreate    `cmd:"" help:"Let somebody into the console; the password is printed once."`
	List      operatorList      `cmd:"" help:"List the operators by name."`
	Disable   operatorDisable   `cmd:"" help:"Keep an operator out from now on and end their sessions."`
	Enable    operatorEnable    `cmd:"" help:"Let an operator in again."`
	Password  operatorPassword  `cmd:"" help:"Give an operator a new password, printed once; sessions end, and failed attempts are forgotten."`
	Link      operatorLink      `cmd:"" help:"Let a provider of identities vouch for an operator."`
	Unlink    operatorUnlink    `cmd:"" help:"Have no provider vouch for an operator any more; sessions end."`
	TOTPReset operatorTOTPReset `cmd:"" name:"totp-reset" help:"Remove the second factor of an operator who has lost it; sessions end."`
}

// operatorView is an operator as it is printed, in UTC. Password is known only
// to the command that makes it.
type operatorView struct {
	ID           store.OperatorID `json:"id"`
	Name         string           `json:"name"`
	Role         string           `json:"role"`
	Password     string           `json:"password,omitempty"`
	SecondFactor bool             `json:"second_factor"`
	Created      string           `json:"created"`
	Disabled     string           `json:"disabled,omitempty"`
}

func viewOperator(o store.Operator) operatorView {
	view := operatorView{ID: o.ID, Name: o.Name, Role: o.Role, SecondFactor: o.SecondFactor, Created: passerelle.FormatDateTime(o.Created, time.UTC)}
	if o.Disabled != nil {
		view.Disabled = passerelle.FormatDateTime(*o.Disabled, time.UTC)
	}
	return view
}

// change works on one operator and shows what became of it, with the password
// that was made, if any.
func (g *operatorCommand) change(c *console, do func(*operators.Operators) (store.Operator, string, error)) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		o, password, err := do(&operators.Operators{DB: db, Now: time.Now})
		if err != nil {
			return nil, err
		}
		view := viewOperator(o)
		view.Password = password
		return view, nil
	})
}

// operatorNamed is the argument of the commands about one operator.
type operatorNamed struct {
	Name string `arg:"" help:"Name of the operator."`
}

type operatorCreate struct {
	Name string         `arg:"" help:"Name to sign in with: letters, digits and . _ @ -"`
	Role operators.Role `required:"" enum:"viewer,developer,operator,administrator" help:"What the operator may do: viewer (look), developer (and move the payments of sandboxes and set them up), operator (and act on payments, users and connections, and see personal data) or administrator (and set live domains up, make and move domains)."`
}

// Run makes an operator.
func (n *operatorCreate) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) { return a.Create(c.ctx, n.Name, n.Role) })
}

type operatorList struct{}

// Run lists the operators.
func (operatorList) Run(c *console, g *operatorCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		all, err := (&operators.Operators{DB: db, Now: time.Now}).List(c.ctx)
		if err != nil {
			return nil, err
		}
		return views(all, viewOperator), nil
	})
}

type operatorPassword struct{ operatorNamed }

// Run makes a new password.
func (n *operatorPassword) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) { return a.ResetPassword(c.ctx, n.Name) })
}

type (
	operatorDisable   struct{ operatorNamed }
	operatorEnable    struct{ operatorNamed }
	operatorTOTPReset struct{ operatorNamed }
)

// Run keeps an operator out.
func (n *operatorDisable) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) {
		o, err := a.Disable(c.ctx, n.Name)
		return o, "", err
	})
}

// Run lets an operator in again.
func (n *operatorEnable) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) {
		o, err := a.Enable(c.ctx, n.Name)
		return o, "", err
	})
}

// Run removes a second factor.
func (n *operatorTOTPReset) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) {
		o, err := a.ResetTOTP(c.ctx, n.Name)
		return o, "", err
	})
}

type operatorLink struct {
	operatorNamed
	Issuer  string `required:"" placeholder:"URL" help:"The provider, as --oidc-issuer names it."`
	Subject string `required:"" help:"Who they are there: the claim sub, which the console shows to whom it does not know."`
}

// Run links an operator to an identity.
func (n *operatorLink) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) {
		o, err := a.Link(c.ctx, n.Name, n.Issuer, n.Subject)
		return o, "", err
	})
}

type operatorUnlink struct{ operatorNamed }

// Run removes the identities of an operator.
func (n *operatorUnlink) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (store.Operator, string, error) {
		o, err := a.Unlink(c.ctx, n.Name)
		return o, "", err
	})
}
