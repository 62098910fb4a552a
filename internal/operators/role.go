package operators

import (
	"slices"

	"passerelle/internal/store"
)

// Role decides which actions an operator may do.
type Role string

// These are the roles.
const (
	Viewer        Role = "viewer"
	Developer     Role = "developer"
	Acting        Role = "operator"
	Administrator Role = "administrator"
)

// Roles lists the roles. Each role has more rights than the role before it.
func Roles() []Role { return []Role{Viewer, Developer, Acting, Administrator} }

// Ability is an action that only some operators may do. Every role may view data that is not
// sensitive.
type Ability string

// These are the abilities.
const (
	// Simulate allows the acts of the simulation in sandboxes, such as moving the clock.
	Simulate Ability = "simulate"
	// Act allows actions on payments, users and connections, such as refunds.
	Act Ability = "act"
	// Reveal allows seeing personal data.
	Reveal Ability = "reveal"
	// SetUpSandbox allows changing the configuration, connectors, applications, tokens and webhooks
	// of sandboxes.
	SetUpSandbox Ability = "set up sandbox"
	// SetUp allows the changes of SetUpSandbox in every domain. It also allows creating and moving
	// domains, and changing connector programs.
	SetUp Ability = "set up"
	// Deliver allows pausing and repeating the delivery of webhooks.
	Deliver Ability = "deliver"
)

var abilities = map[Role][]Ability{
	Developer:     {Simulate, SetUpSandbox},
	Acting:        {Simulate, SetUpSandbox, Act, Reveal, Deliver},
	Administrator: {Simulate, SetUpSandbox, Act, Reveal, SetUp, Deliver},
}

// May reports whether the operator's role has an ability.
func (v SignedIn) May(ability Ability) bool {
	return slices.Contains(abilities[Role(v.Operator.Role)], ability)
}

// The audit log has these names for this package's acts.
const (
	actSignIn       = "sign in"
	actSecondFactor = "second factor"
	actSignOut      = "sign out"
	actRevoke       = "revoke session"
	actPassword     = "change password"
	actTOTP         = "set up second factor"
	actCreate       = "create operator"
	actDisable      = "disable operator"
	actEnable       = "enable operator"
	actResetTOTP    = "reset second factor"
	actLink         = "link operator"
	actUnlink       = "unlink operator"
)

// actRole returns the name of the act that gives an operator a role.
func actRole(role Role) string { return "change role to " + string(role) }

func (a *Operators) entry(o store.OperatorID, session int64, request, act string) store.Audit {
	return store.Audit{At: a.Now(), Operator: o, Session: session, Request: request, Act: act}
}

// Entry returns the audit entry for an action of the signed-in operator. The caller stores this
// entry in the action's transaction.
func (a *Operators) Entry(v SignedIn, request, act string) store.Audit {
	return a.entry(v.Operator.ID, v.ID, request, act)
}
