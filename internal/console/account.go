package console

import (
	"errors"
	"html/template"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/operators"
)

func (c *Console) accountRoutes() []page.Route {
	return []page.Route{
		page.Get("account", c.account),
		page.Post("account/password", c.changePassword),
		page.Post("account/second-factor", c.proposeTOTP),
		page.Post("account/second-factor/confirm", c.confirmTOTP),
		page.Post("account/second-factor/cancel", c.withdrawTOTP),
		page.Post("account/sessions/#/end", c.endSession),
	}
}

// accountData is the content of the page on which an operator manages their own account.
type accountData struct {
	SecondFactor bool
	// Proposal is a second factor that waits for its first code. It is nil without such a factor.
	// App is the URI of the proposal, as a link that opens an authenticator app. It is a
	// template.URL because templates refuse links with schemes that they do not know.
	Proposal *operators.TOTPProposal
	App      template.URL
	// QR shows the proposal as a code that a phone can read with its camera.
	QR       drawing
	Sessions []sessionRow
}

// sessionRow is one session of the operator.
type sessionRow struct {
	ID                     int64
	Created, Seen, Expires page.When
	Here                   bool
}

func (c *Console) account(pc *page.Context) error {
	data := accountData{SecondFactor: pc.Who.Operator.SecondFactor}
	proposal, waits, err := c.Operators.ProposedTOTP(pc, pc.Who)
	if err != nil {
		return err
	}
	if waits {
		data.Proposal, data.App = &proposal, template.URL(proposal.URI)
		if data.QR, err = drawQR(proposal.URI); err != nil {
			return err
		}
	}
	all, err := c.Operators.Sessions(pc, pc.Who)
	if err != nil {
		return err
	}
	for _, s := range all {
		data.Sessions = append(data.Sessions, sessionRow{
			ID: s.ID, Created: pc.RealWhen(s.Created), Seen: pc.RealWhen(s.Seen), Expires: pc.RealWhen(s.Expires), Here: s.ID == pc.Who.ID,
		})
	}
	return pages.Send(pc, "account", "Your account", data)
}

// backToAccount shows the account page again, with a confirmation or with the mistake in the form.
func (c *Console) backToAccount(pc *page.Context, err error, done string) error {
	return pc.After(err, done, page.Root+"account", c.account)
}

// These are the messages about a wrong password or code. They name the field, except the message
// about a sign-in, which marks both fields.
const (
	wrongSignIn   = "This is not correct. Check what you typed."
	wrongPassword = "Your current password is not correct. Nothing was changed."
	wrongCode     = "The six digits are not correct. Type the digits that the app shows now. If they stay wrong, correct the clock of the phone."
)

// named replaces the error about a wrong password or code with a text about the field.
func named(err error, field, text string) error {
	if errors.Is(err, operators.ErrRefused) {
		return &passerelle.Error{Kind: passerelle.Conflict, Field: field, Message: text}
	}
	return err
}

func (c *Console) changePassword(pc *page.Context) error {
	if pc.Field("next") != pc.Field("again") {
		pc.Problem, pc.Wrong = "The two new passwords differ.", "again"
		return c.account(pc)
	}
	return c.backToAccount(pc, named(c.Operators.ChangePassword(pc, pc.Who, pc.Field("present"), pc.Field("next"), c.RequestID(pc)), "present", wrongPassword), "Your password was changed, and your other sessions have ended.")
}

func (c *Console) proposeTOTP(pc *page.Context) error {
	return c.backToAccount(pc, named(c.Operators.ProposeTOTP(pc, pc.Who, pc.Field("present"), c.RequestID(pc)), "proof", wrongPassword), "")
}

func (c *Console) confirmTOTP(pc *page.Context) error {
	return c.backToAccount(pc, named(c.Operators.ConfirmTOTP(pc, pc.Who, pc.Field("code"), c.RequestID(pc)), "code", wrongCode), "The second factor is on.")
}

func (c *Console) withdrawTOTP(pc *page.Context) error {
	return c.backToAccount(pc, c.Operators.WithdrawTOTP(pc, pc.Who), "The setup of the second factor was cancelled.")
}

func (c *Console) endSession(pc *page.Context) error {
	return c.backToAccount(pc, c.Operators.Revoke(pc, pc.Who, pc.Numbers[0], c.RequestID(pc)), "The session has ended.")
}
