package service_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
)

// TestRatesOfPages checks that the API's limit for each address also applies to pages, and that
// forms about connections have a limit of their own. The page of a refusal must say in every
// language what to do.
func TestRatesOfPages(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		set := func(values map[string]string) {
			t.Helper()
			if err := settings.Set(t.Context(), s.DB, s.Domain.ID, values, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(method, page string, want int) servicetest.Answer {
			t.Helper()
			answer := s.Do(to(t, s, method, "/webview/"+page, "", nil))
			if answer.Status != want {
				t.Errorf("%s %s: answered %d, want %d: %s", method, page, answer.Status, want, answer.Body)
			}
			return answer
		}
		for range 3 {
			ask("POST", "en/connect", http.StatusUnauthorized)
		}
		set(map[string]string{settings.RateEnabled: "1", settings.FormRate: "2"})
		ask("POST", "en/connect", http.StatusUnauthorized)
		ask("POST", "en/reconnect", http.StatusUnauthorized)
		for lang, text := range map[string]string{
			"de": "Warten Sie eine Minute", "en": "Wait a minute", "es": "Espere un minuto", "fr": "Attendez une minute",
			"it": "Aspetta un minuto", "nl": "Wacht een minuut", "pt": "Espere um minuto",
		} {
			refused := ask("POST", lang+"/connect", http.StatusTooManyRequests)
			if !strings.Contains(string(refused.Body), text) || refused.Header.Get("Retry-After") != "30" {
				t.Errorf("%s: refused with %v: %s", lang, refused.Header, refused.Body)
			}
		}
		ask("POST", "en/payment", http.StatusUnauthorized)
		ask("GET", "en/connect", http.StatusBadRequest)
		set(map[string]string{settings.AddressRate: "1", settings.FormRate: "0"})
		ask("GET", "en/connect", http.StatusTooManyRequests)
		set(map[string]string{settings.RateEnabled: "0"})
		ask("POST", "en/connect", http.StatusUnauthorized)
	})
}
