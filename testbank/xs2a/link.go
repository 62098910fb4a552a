package xs2a

import (
	"strings"

	"passerelle/testbank/bank"
)

// link is one of the standard's hyperlinks.
type link struct {
	Href string `json:"href"`
}

// links maps the names of links in the standard to the links in a response.
type links map[string]link

// relativeBefore is the first minor version in which the bank's links are absolute. Third parties
// must accept both forms.
const relativeBefore = 5

// at makes a link to a path of the API.
func (a *API) at(path string) link {
	if a.Bank.Profile.Minor < relativeBefore {
		return link{a.Under + path}
	}
	return link{a.Base + path}
}

// start returns the link that starts an authorisation. The name of the link says which data the
// bank requires.
func (a *API) start(approach bank.Approach, c bank.Caller, path string) links {
	name := "startAuthorisation"
	switch {
	case approach == bank.Embedded:
		name = a.encrypted("startAuthorisationWithPsuAuthentication")
	case approach == bank.Decoupled && c.PSU == "":
		name = "startAuthorisationWithPsuIdentification"
	}
	return links{name: a.at(path)}
}

// embeddedLinks maps an scaStatus to the name of the link for the next data from the third party.
var embeddedLinks = map[string]string{
	"received": "updatePsuAuthentication", "psuIdentified": "updatePsuAuthentication", "psuAuthenticated": "selectAuthenticationMethod",
	"scaMethodSelected": "authoriseTransaction", "started": "authoriseTransaction",
}

// embeddedLink returns the name of the link for the data that the third party must send next.
func (a *API) embeddedLink(auth *bank.Authorisation) string {
	name := embeddedLinks[auth.Status]
	if auth.SecondDue {
		name = strings.Replace(name, "updatePsu", "updateAdditionalPsu", 1)
	}
	return a.encrypted(name)
}

// encrypted returns the name of a link. If the link is for a password and the bank requires
// encryption, the name is the one for encrypted passwords.
func (a *API) encrypted(name string) string {
	if a.Bank.Profile.EncryptsPasswords {
		return strings.Replace(name, "PsuAuthentication", "EncryptedPsuAuthentication", 1)
	}
	return name
}

// next returns the links of an authorisation. The links lead to the actions that are possible now.
func (a *API) next(auth *bank.Authorisation) links {
	all := links{"scaStatus": a.at(auth.Path())}
	switch {
	case auth.Status == "unconfirmed":
		all["confirmation"] = a.at(auth.Path())
	case !auth.Open():
	case auth.Approach == bank.Redirect:
		all["scaRedirect"] = link{a.Pages + "/sca/" + auth.Ticket()}
	case auth.Approach == bank.OAuth:
		all["scaOAuth"] = link{a.Metadata}
	case auth.Approach == bank.Embedded:
		all[a.embeddedLink(auth)] = a.at(auth.Path())
	}
	if a.Bank.Profile.Confirmation && auth.Open() {
		all["confirmation"] = a.at(auth.Path())
	}
	return all
}
