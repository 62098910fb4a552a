package wire

import (
	"time"

	"passerelle"
)

// User is an end user in the form that clients see.
type User struct {
	ID       int64               `json:"id"`
	Signin   string              `json:"signin" doc:"when the user was created"`
	Platform passerelle.Platform `json:"platform" doc:"how the user was created"`
}

// NewUser renders a user with times in the zone.
func NewUser(u passerelle.User, zone *time.Location) User {
	return User{ID: int64(u.ID), Signin: passerelle.FormatDateTime(u.Created, zone), Platform: u.Platform}
}

// Client is an application in the form that clients see. Only the response to the call that creates
// an application or its new secret contains the secret. No response contains the application's
// private key.
type Client struct {
	ID                   int64             `json:"id"`
	Name                 string            `json:"name"`
	Secret               string            `json:"secret,omitempty" doc:"shown once, by the call that creates it"`
	PublicKey            *string           `json:"public_key" doc:"PEM key to verify signed tokens"`
	RedirectURIs         []string          `json:"redirect_uris"`
	RedirectURI          *string           `json:"redirect_uri" doc:"deprecated: the first of redirect_uris"`
	Pro                  bool              `json:"pro"`
	IDLogo               *int64            `json:"id_logo"`
	PrimaryColor         *string           `json:"primary_color"`
	SecondaryColor       *string           `json:"secondary_color"`
	Description          *string           `json:"description"`
	DescriptionBanks     *string           `json:"description_banks"`
	DescriptionProviders *string           `json:"description_providers"`
	Config               map[string]string `json:"config"`
}
