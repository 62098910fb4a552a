package access

import (
	"net/url"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/store"
)

// FrameKey is the key of a client's configuration that lists the origins whose pages may frame
// the webview, separated by spaces.
const FrameKey = "webview.origins"

// maxFrameOrigins limits the number of origins, because a header with all of them is sent with
// every page.
const maxFrameOrigins = 20

// FrameOrigins returns the origins whose pages may frame the webview for a client. By default
// there are none.
func FrameOrigins(client store.Client) []string { return strings.Fields(client.Config[FrameKey]) }

func checkFrame(client store.Client) error {
	all := FrameOrigins(client)
	if len(all) > maxFrameOrigins {
		return passerelle.InvalidField("config."+FrameKey, "must be at most %d origins", maxFrameOrigins)
	}
	if i := slices.IndexFunc(all, func(one string) bool { return !isOrigin(one) }); i >= 0 {
		return passerelle.InvalidField("config."+FrameKey, "%q is not an origin, which is a scheme and a host only, such as https://app.example", all[i])
	}
	return nil
}

// isOrigin reports whether a text is an origin as browsers write it. Other characters could end
// a word of the header and begin another.
func isOrigin(text string) bool {
	if _, err := passerelle.ParseRedirectURI("", text); err != nil {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && text == strings.ToLower(u.Scheme+"://"+u.Host)
}
