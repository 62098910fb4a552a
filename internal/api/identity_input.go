package api

import "passerelle"

type identityInput struct {
	IDUser                 *int64                        `body:"id_user" min:"1" doc:"id of a related user, who must exist"`
	Kind                   passerelle.IdentityKind       `body:"kind" doc:"individual when omitted"`
	ExternalRef            string                        `body:"external_ref"`
	FirstName              string                        `body:"first_name"`
	LastName               string                        `body:"last_name"`
	BirthCity              string                        `body:"birth_city"`
	BirthCountry           string                        `body:"birth_country" doc:"ISO 3166-1 alpha-2"`
	BirthDate              string                        `body:"birth_date" doc:"YYYY-MM-DD"`
	Nationality            string                        `body:"nationality"`
	PostalAddress          string                        `body:"postal_address"`
	Email                  string                        `body:"email"`
	SchemeName             passerelle.IdentitySchemeName `body:"scheme_name"`
	Identification         string                        `body:"identification"`
	Issuer                 string                        `body:"issuer"`
	UltimateOwnerText      string                        `body:"ultimate_owner_text"`
	UltimateOwnerExtraText string                        `body:"ultimate_owner_extra_text"`
	PEP                    bool                          `body:"pep"`
	OrgName                string                        `body:"org_name"`
	OrgLegalStatus         string                        `body:"org_legal_status"`
	OrgHQAddress           string                        `body:"org_hq_address"`
	OrgBusinessAddress     string                        `body:"org_business_address"`
}

func (in *identityInput) identity(path string) (*passerelle.Identity, error) {
	if in == nil {
		return nil, nil
	}
	out := &passerelle.Identity{
		Kind: in.Kind, ExternalRef: in.ExternalRef, OrgName: in.OrgName, OrgLegalStatus: in.OrgLegalStatus,
		Sensitive: &passerelle.Sensitive{
			FirstName: in.FirstName, LastName: in.LastName, BirthCity: in.BirthCity, BirthCountry: in.BirthCountry,
			Nationality: in.Nationality, PostalAddress: in.PostalAddress, Email: in.Email,
			SchemeName: in.SchemeName, Identification: in.Identification, Issuer: in.Issuer,
			UltimateOwnerText: in.UltimateOwnerText, UltimateOwnerExtraText: in.UltimateOwnerExtraText, PEP: in.PEP,
			OrgHQAddress: in.OrgHQAddress, OrgBusinessAddress: in.OrgBusinessAddress,
		},
	}
	if in.IDUser != nil {
		out.IDUser = passerelle.UserID(*in.IDUser)
	}
	var err error
	out.Sensitive.BirthDate, err = optionalDate(path+".birth_date", in.BirthDate)
	return out, err
}
