package store_test

import (
	"slices"
	"testing"

	"passerelle/internal/store"
)

// TestReceivedRequestsAreBounded checks that the number and size of the stored requests are
// limited, for each domain separately.
func TestReceivedRequestsAreBounded(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		keep := func(got store.Received) {
			got.At, got.Headers = now, `{"É":""}`
			s.write(func(tx *store.Tx) error { return tx.KeepReceived(got) })
		}
		kept := func() (names []string) {
			all, err := s.db.ReceivedRequests(t.Context(), s.domain)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range all {
				names = append(names, got.Name)
			}
			return names
		}
		keep(store.Received{Domain: s.other, Name: "of another domain", Body: []byte{}})
		quarter := make([]byte, store.MaxReceivedBytes/4-9) // the headers are nine bytes
		for _, name := range []string{"a", "b", "c", "d"} {
			keep(store.Received{Domain: s.domain, Name: name, Body: quarter})
		}
		if want := []string{"a", "b", "c", "d"}; !slices.Equal(kept(), want) {
			t.Errorf("at the bound: kept %v, want %v", kept(), want)
		}
		keep(store.Received{Domain: s.domain, Name: "e", Body: []byte("one too many")})
		if want := []string{"b", "c", "d", "e"}; !slices.Equal(kept(), want) {
			t.Errorf("above the bound: kept %v, want %v", kept(), want)
		}
		for range store.MaxReceived {
			keep(store.Received{Domain: s.domain, Name: "small", Body: []byte{}})
		}
		if all := kept(); len(all) != store.MaxReceived || slices.ContainsFunc(all, func(name string) bool { return name != "small" }) {
			t.Errorf("kept %d requests, want %d, all of them small", len(all), store.MaxReceived)
		}
		if n := s.count(`SELECT count(*) FROM received WHERE domain_id = $1`, int64(s.other)); n != 1 {
			t.Errorf("%d requests of another domain are left, want 1", n)
		}
	})
}
