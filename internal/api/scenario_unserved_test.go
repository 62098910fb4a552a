package api_test

import "testing"

// For a path that similar services have and this API does not have, the error says that such calls
// are not served.
func TestUnservedPaths(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, path := range []string{"/users/me/transfers", "/users/me/accounts/1/recipients/2/transfers", "/alerts", "/users/me/forecast", "/ocr"} {
			for _, token := range []string{"", "user", "admin"} {
				s.do(t, ask{method: "GET", path: path, token: token}).says(t, 404, "notFound", " are not served here. ")
			}
		}
		s.do(t, ask{method: "GET", path: "/users/me/nothing", token: "user"}).says(t, 404, "notFound", "")
	})
}
