package access_test

import (
	"fmt"
	"sync"
	"testing"

	"passerelle/internal/access"
)

// TestSimultaneousChangesOfAnApplication changes an application in several ways at the same time. No
// change may undo another one: a replaced secret must stay invalid.
func TestSimultaneousChangesOfAnApplication(t *testing.T) {
	onEach(t, func(t *testing.T, d *fixture) {
		var fresh string
		for round := range 8 {
			name := fmt.Sprint("shop ", round)
			changes := []access.ClientUpdate{
				{ResetSecret: true}, {Name: &name}, {RedirectURIs: []string{fmt.Sprintf("https://shop.example/%d", round)}},
				{Config: map[string]string{name: "x"}, MergeConfig: true}, {Config: map[string]string{name + "b": "y"}, MergeConfig: true},
			}
			var all sync.WaitGroup
			for i, change := range changes {
				all.Go(func() {
					_, secret, err := d.Update(t.Context(), d.domain, d.client.ID, change)
					if err != nil {
						t.Error(err)
					}
					if i == 0 {
						fresh = secret
					}
				})
			}
			all.Wait()
			got, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: fmt.Sprint(d.client.ID), Secret: fresh, Address: fmt.Sprint(round)})
			if err != nil {
				t.Fatalf("round %d: the new secret: %v", round, err)
			}
			if got.Name != name || len(got.RedirectURIs) != 1 || got.RedirectURIs[0] != changes[2].RedirectURIs[0] || len(got.Config) != 2*round+2 {
				t.Errorf("round %d: %+v", round, got)
			}
		}
	})
}
