package wire

// OwnerIdentity describes the holder of a connection's accounts, if the institution sends this
// data.
type OwnerIdentity struct {
	IDConnection     int64          `json:"id_connection"`
	IDSource         *int64         `json:"id_source"`
	IDUser           int64          `json:"id_user"`
	FirstName        *string        `json:"first_name"`
	LastName         *string        `json:"last_name"`
	FullName         *string        `json:"full_name"`
	RawPostalAddress *string        `json:"raw_postal_address"`
	PostalAddress    *PostalAddress `json:"postal_address"`
}

// PostalAddress is an address in parts.
type PostalAddress struct {
	City        *string `json:"city"`
	Country     *string `json:"country"`
	CountryCode *string `json:"country_code"`
	PostalCode  *string `json:"postal_code"`
	Region      *string `json:"region"`
	StreetName  *string `json:"street_name"`
}
