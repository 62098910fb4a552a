package api_test

import "testing"

// A program such as curl learns at the root where the API and its documentation are.
func TestProgramsAtTheRoot(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		for _, accept := range []string{"", "*/*", "application/json"} {
			for _, path := range []string{"/", version, version + "/"} {
				a := ask{method: "GET", bare: true, path: path, header: map[string]string{"Accept": accept}}
				s.do(t, a).says(t, 404, "notFound", "The calls of the API are below /2.0, and /docs describes them.")
			}
		}
	})
}

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
