package wire

import "passerelle"

// FoundAccount is the body of the event about a discovered account.
type FoundAccount struct {
	ID           int64                  `json:"id"`
	IDUser       int64                  `json:"id_user"`
	IDConnection int64                  `json:"id_connection"`
	Disabled     string                 `json:"disabled"`
	Type         passerelle.AccountType `json:"type"`
}

// FoundSubscription is the body of the event about a discovered subscription.
type FoundSubscription struct {
	ID           int64 `json:"id"`
	IDUser       int64 `json:"id_user"`
	IDConnection int64 `json:"id_connection"`
}

// Ownership describes the holders of an account.
type Ownership struct {
	IDAccount         int64             `json:"id_account"`
	IDConnection      int64             `json:"id_connection"`
	IDUser            int64             `json:"id_user"`
	IDConnectorSource *int64            `json:"id_connector_source"`
	Name              string            `json:"name"`
	BankName          string            `json:"bank_name"`
	MultipleHolders   bool              `json:"multiple_holders"`
	Calculated        []string          `json:"calculated"`
	Usage             *passerelle.Usage `json:"usage"`
	Parties           []Party           `json:"parties"`
	Identifications   []Identification  `json:"identifications"`
}

// Party is a person or company with a role in an account.
type Party struct {
	Role     string        `json:"role"`
	Identity PartyIdentity `json:"identity"`
}

// PartyIdentity contains the name of a party, and whether the party is the user.
type PartyIdentity struct {
	IsUser   *bool  `json:"is_user"`
	FullName string `json:"full_name"`
}

// Identification is a number of an account.
type Identification struct {
	SchemeName     string `json:"scheme_name"`
	Identification string `json:"identification"`
}

// NewOwnership renders the holders of an account. The argument bank is the bank's name.
func NewOwnership(a passerelle.BankAccount, bank string, source int64) Ownership {
	out := Ownership{
		IDAccount: int64(a.ID), IDConnection: int64(a.Connection), IDUser: int64(a.User), IDConnectorSource: optional(source), Name: a.AccountDetails.Name, BankName: bank,
		Calculated: []string{}, Usage: optional(a.Usage), Parties: []Party{}, Identifications: []Identification{},
	}
	holders := 0
	for _, p := range a.Parties {
		out.Parties = append(out.Parties, Party{Role: p.Role, Identity: PartyIdentity{IsUser: p.IsUser, FullName: p.FullName}})
		if p.Role == "holder" || p.Role == "co_holder" {
			holders++
		}
	}
	out.MultipleHolders = holders > 1
	if a.IBAN != "" {
		out.Identifications = append(out.Identifications, Identification{"iban", a.IBAN})
	}
	return out
}
