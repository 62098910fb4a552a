package passerelle

import (
	"slices"
	"strings"
)

// Scope is a permission that a token carries.
type Scope string

// These are the scopes of the payments product and of management tokens. A client cannot request
// the scopes of management tokens: config, users and deployment.
const (
	ScopePaymentsAdmin     Scope = "payments:admin"
	ScopePaymentsReadOnly  Scope = "payments:read-only"
	ScopePaymentsSensitive Scope = "payments:allow-sensitive"
	ScopePaymentsValidate  Scope = "payments:validate"
	ScopePaymentsCancel    Scope = "payments:cancel"
	ScopeConfig            Scope = "config"
	ScopeUsers             Scope = "users"
	// ScopeDeployment gives access to data that all domains share. A config token has this scope
	// only when an operator created it with the scope on the command line.
	ScopeDeployment Scope = "deployment"
)

// Scopes is a set of scopes without duplicates, in the order of the request.
type Scopes []Scope

var grantable = []Scope{ScopePaymentsAdmin, ScopePaymentsReadOnly, ScopePaymentsSensitive, ScopePaymentsValidate, ScopePaymentsCancel}

// ParseScopes reads the scopes that a client requests. Each element of words may contain several
// scopes, separated by spaces or commas. "payments" is the deprecated spelling of payments:admin.
// An unknown or absent scope is an Invalid error for the field "scope".
func ParseScopes(words ...string) (Scopes, error) {
	var scopes Scopes
	separator := func(r rune) bool { return r == ' ' || r == ',' }
	for _, name := range strings.FieldsFunc(strings.Join(words, " "), separator) {
		scope := Scope(name)
		if scope == "payments" {
			scope = ScopePaymentsAdmin
		}
		if !slices.Contains(grantable, scope) {
			return nil, InvalidField("scope", "%q is not a scope; known scopes are %s", name, Scopes(grantable))
		}
		if !scopes.Has(scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return nil, MissingField("scope", "at least one scope is required, such as payments:validate")
	}
	return scopes, nil
}

// Has reports whether the set contains any of the scopes.
func (s Scopes) Has(any ...Scope) bool {
	return slices.ContainsFunc(any, func(scope Scope) bool { return slices.Contains(s, scope) })
}

// String joins the scopes with spaces, which is their form in responses.
func (s Scopes) String() string {
	words := make([]string, len(s))
	for i, scope := range s {
		words[i] = string(scope)
	}
	return strings.Join(words, " ")
}
