package access

import (
	"net/url"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/store"
)

// FrameKey is the key for the framing origins in a client's configuration. Pages of these origins
// may show the webview in a frame. Spaces separate the origins.
const FrameKey = "webview.origins"

// maxFrameOrigins limits the number of origins, because every page has a header with all of them.
const maxFrameOrigins = 20

// FrameOrigins returns the origins that may show the webview of a client in a frame. By default,
// there are no such origins.
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

// isOrigin reports whether a text is an origin in the form that browsers use. Without this check, a
// semicolon in a text could end the list of origins in the header of a page.
func isOrigin(text string) bool {
	if _, err := passerelle.ParseRedirectURI("", text); err != nil {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && text == strings.ToLower(u.Scheme+"://"+u.Host)
}
