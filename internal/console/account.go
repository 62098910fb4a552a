package console

import (
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/desk"
)

func (c *Console) accountRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("account", c.account),
		desk.Post("account/password", c.changePassword),
		desk.Post("account/second-factor", c.proposeTOTP),
		desk.Post("account/second-factor/confirm", c.confirmTOTP),
		desk.Post("account/sessions/#/end", c.endSession),
	}
}

// accountData is what operators see of themselves.
type accountData struct {
	SecondFactor bool
	// Proposal is the second factor that waits for its first code, nil for none.
	Proposal *admission.Proposal
	Sessions []sessionRow
}

// sessionRow is one of the operator's sessions, with times in UTC.
type sessionRow struct {
	ID                     int64
	Created, Seen, Expires string
	Here                   bool
}

func (c *Console) account(v *desk.Visit) error {
	data := accountData{SecondFactor: v.Who.Operator.SecondFactor}
	proposal, waits, err := c.Admission.ProposedTOTP(v, v.Who)
	if err != nil {
		return err
	}
	if waits {
		data.Proposal = &proposal
	}
	all, err := c.Admission.Sessions(v, v.Who)
	if err != nil {
		return err
	}
	for _, s := range all {
		data.Sessions = append(data.Sessions, sessionRow{
			ID: s.ID, Created: passerelle.FormatDateTime(s.Created, time.UTC), Seen: passerelle.FormatDateTime(s.Seen, time.UTC),
			Expires: passerelle.FormatDateTime(s.Expires, time.UTC), Here: s.ID == v.Who.ID,
		})
	}
	return pages.Send(v, "account", "Your account", data)
}

// backToAccount shows the account anew, or what is wrong with the form.
func (c *Console) backToAccount(v *desk.Visit, err error) error {
	return v.After(err, desk.Root+"account", c.account)
}

func (c *Console) changePassword(v *desk.Visit) error {
	if v.Field("next") != v.Field("again") {
		v.Problem = "The new password and its repetition differ."
		return c.account(v)
	}
	return c.backToAccount(v, c.Admission.ChangePassword(v, v.Who, v.Field("present"), v.Field("next"), c.RequestID(v)))
}

func (c *Console) proposeTOTP(v *desk.Visit) error {
	return c.backToAccount(v, c.Admission.ProposeTOTP(v, v.Who, v.Field("present"), c.RequestID(v)))
}

func (c *Console) confirmTOTP(v *desk.Visit) error {
	return c.backToAccount(v, c.Admission.ConfirmTOTP(v, v.Who, v.Field("code"), c.RequestID(v)))
}

func (c *Console) endSession(v *desk.Visit) error {
	return c.backToAccount(v, c.Admission.Revoke(v, v.Who, v.Numbers[0], c.RequestID(v)))
}
