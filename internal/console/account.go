package console

import (
	"time"

	"passerelle"
	"passerelle/internal/admission"
)

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

func (c *Console) account(v *visit) error {
	data := accountData{SecondFactor: v.who.Operator.SecondFactor}
	proposal, waits, err := c.Admission.ProposedTOTP(v, v.who)
	if err != nil {
		return err
	}
	if waits {
		data.Proposal = &proposal
	}
	all, err := c.Admission.Sessions(v, v.who)
	if err != nil {
		return err
	}
	for _, s := range all {
		data.Sessions = append(data.Sessions, sessionRow{
			ID: s.ID, Created: passerelle.FormatDateTime(s.Created, time.UTC), Seen: passerelle.FormatDateTime(s.Seen, time.UTC),
			Expires: passerelle.FormatDateTime(s.Expires, time.UTC), Here: s.ID == v.who.ID,
		})
	}
	return c.send(v, "account", "Your account", data)
}

// backToAccount shows the account anew, or what is wrong with the form.
func (c *Console) backToAccount(v *visit, err error) error {
	return c.after(v, err, Root+"account", (*Console).account)
}

func (c *Console) changePassword(v *visit) error {
	if v.field("next") != v.field("again") {
		v.problem = "The new password and its repetition differ."
		return c.account(v)
	}
	return c.backToAccount(v, c.Admission.ChangePassword(v, v.who, v.field("present"), v.field("next"), c.RequestID(v)))
}

func (c *Console) proposeTOTP(v *visit) error {
	return c.backToAccount(v, c.Admission.ProposeTOTP(v, v.who, v.field("present"), c.RequestID(v)))
}

func (c *Console) confirmTOTP(v *visit) error {
	return c.backToAccount(v, c.Admission.ConfirmTOTP(v, v.who, v.field("code"), c.RequestID(v)))
}

func (c *Console) endSession(v *visit) error {
	return c.backToAccount(v, c.Admission.Revoke(v, v.who, v.numbers[0], c.RequestID(v)))
}
