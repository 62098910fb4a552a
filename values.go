package passerelle

// Values lists the account schemes.
func (AccountScheme) Values() []string { return []string{string(IBAN), string(SortCode)} }

// Values lists the kinds of identity.
func (IdentityKind) Values() []string {
	return []string{string(Individual), string(Corporate), string(NonProfit), string(Government)}
}

// Values lists the identity schemes.
func (IdentitySchemeName) Values() []string {
	return []string{
		string(NationalIDNumber), string(PassportNumber), string(AlienRegNumber),
		string(SIREN), string(IncorporationNumber), string(EUID), string(RNA),
	}
}
