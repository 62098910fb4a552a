package main

import (
	"time"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

type operatorCommand struct {
	databaseFlag
	Create    operatorCreate    `cmd:"" help:"Create an operator and print the password once."`
	List      operatorList      `cmd:"" help:"List the operators, by name."`
	Update    operatorUpdate    `cmd:"" help:"Change the role of an operator. It applies to the operator's next request."`
	Disable   operatorDisable   `cmd:"" help:"Disable an operator and end their sessions."`
	Enable    operatorEnable    `cmd:"" help:"Enable an operator."`
	Password  operatorPassword  `cmd:"" help:"Set a new password and print it once. This ends the operator's sessions and clears failed attempts."`
	Link      operatorLink      `cmd:"" help:"Link an operator to an account at an identity provider."`
	Unlink    operatorUnlink    `cmd:"" help:"Remove an operator's link to an identity provider, and end their sessions."`
	TOTPReset operatorTOTPReset `cmd:"" name:"totp-reset" help:"Remove an operator's second factor, and end their sessions."`
}

// operatorView is the printed form of an operator, with times in UTC. Only the commands that
// generate a password print the password.
type operatorView struct {
	ID           store.OperatorID `json:"id"`
	Name         string           `json:"name"`
	Role         string           `json:"role"`
	Password     string           `json:"password,omitempty"`
	SecondFactor bool             `json:"second_factor"`
	Created      string           `json:"created"`
	Disabled     string           `json:"disabled,omitempty"`
}

func viewOperator(o operatorstore.Operator) operatorView {
	view := operatorView{ID: o.ID, Name: o.Name, Role: o.Role, SecondFactor: o.SecondFactor, Created: passerelle.FormatDateTime(o.Created, time.UTC)}
	if o.Disabled != nil {
		view.Disabled = passerelle.FormatDateTime(*o.Disabled, time.UTC)
	}
	return view
}

// change changes an operator and prints the result, including a new password, if any.
func (g *operatorCommand) change(c *console, do func(*operators.Operators) (operatorstore.Operator, string, error)) error {
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

// operatorNamed is the argument of the commands that act on one operator.
type operatorNamed struct {
	Name string `arg:"" help:"Name of the operator."`
}

type operatorCreate struct {
	Name string         `arg:"" help:"Name to sign in with: letters, digits and . _ @ -"`
	Role operators.Role `required:"" enum:"viewer,developer,operator,administrator" help:"viewer can read. developer can also configure sandboxes and change their payments. operator can also act on payments, users and connections, and see personal data. administrator can also configure live domains, and create and move domains."`
}

// Run makes an operator.
func (n *operatorCreate) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		return a.Create(c.ctx, n.Name, n.Role)
	})
}

type operatorUpdate struct {
	operatorNamed
	Role operators.Role `required:"" enum:"viewer,developer,operator,administrator" help:"New role, as for create."`
}

// Run changes the role of an operator.
func (n *operatorUpdate) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.SetRole(c.ctx, n.Name, n.Role)
		return o, "", err
	})
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

// Run generates a new password.
func (n *operatorPassword) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		return a.ResetPassword(c.ctx, n.Name)
	})
}

type (
	operatorDisable   struct{ operatorNamed }
	operatorEnable    struct{ operatorNamed }
	operatorTOTPReset struct{ operatorNamed }
)

// Run disables an operator.
func (n *operatorDisable) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.Disable(c.ctx, n.Name)
		return o, "", err
	})
}

// Run enables an operator again.
func (n *operatorEnable) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.Enable(c.ctx, n.Name)
		return o, "", err
	})
}

// Run removes an operator's second factor.
func (n *operatorTOTPReset) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.ResetTOTP(c.ctx, n.Name)
		return o, "", err
	})
}

type operatorLink struct {
	operatorNamed
	Issuer  string `required:"" placeholder:"URL" help:"Issuer URL of the provider, as in --oidc-issuer."`
	Subject string `required:"" help:"The operator's subject at the provider (claim sub). The console shows it to people without an operator account."`
}

// Run links an operator to an identity at the provider.
func (n *operatorLink) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.Link(c.ctx, n.Name, n.Issuer, n.Subject)
		return o, "", err
	})
}

type operatorUnlink struct{ operatorNamed }

// Run removes the identities that are linked to an operator.
func (n *operatorUnlink) Run(c *console, g *operatorCommand) error {
	return g.change(c, func(a *operators.Operators) (operatorstore.Operator, string, error) {
		o, err := a.Unlink(c.ctx, n.Name)
		return o, "", err
	})
}
