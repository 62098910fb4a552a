package connector_test

import (
	"strings"
	"sync"
	"testing"

	"passerelle/connector"
)

// named is a connector that has only a profile.
type named connector.Profile

func (n named) Profile() connector.Profile { return connector.Profile(n) }

// TestReplace checks that Replace changes all connectors or none, even while other goroutines list
// them.
func TestReplace(t *testing.T) {
	first := named{UUID: "a", ID: 1, Name: "First", Sources: []connector.Source{{ID: 11}}}
	second := named{UUID: "b", ID: 2, Name: "Second", Sources: []connector.Source{{ID: 21}}}
	r, err := connector.NewRegistry(first)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]named{
		"First and Third have the same UUID or number a": {UUID: "a", ID: 3, Name: "Third"},
		"First and Third have the same UUID or number 1": {UUID: "c", ID: 1, Name: "Third"},
		"number 11 of its source  is taken":              {UUID: "c", ID: 3, Name: "Third", Sources: []connector.Source{{ID: 11}}},
		"data settings and the ability to read":          {UUID: "c", ID: 3, Name: "Third", Data: &connector.DataSettings{}},
	} {
		if err := r.Replace(first, second, wrong); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("replaced: %v, want %s", err, name)
		}
		if n := len(r.All()); n != 1 {
			t.Errorf("%d connectors after an error", n)
		}
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				if n := len(r.All()); n != 1 && n != 2 {
					t.Errorf("%d connectors at once", n)
				}
			}
		})
	}
	for range 100 {
		if err := r.Replace(second, first); err != nil {
			t.Error(err)
		}
		if err := r.Replace(first); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}
