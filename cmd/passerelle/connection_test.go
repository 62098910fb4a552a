package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestConnectionList: without --state, `connection list` prints the connections that fail, like the
// console. A connection that is being read does not fail.
func TestConnectionList(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		storeConnections(t, url, passerelle.Validating, passerelle.Wrongpass, "", passerelle.Bug)
		for state, want := range map[string]string{"": "[4 2]", "validating": "[1]", "bug": "[4]"} {
			args := []string{"connection", "list", "--json", "--database", url, "--connector", "338178E6-3D01-564F-9A7B-52CA442459BF"}
			if state != "" {
				args = append(args, "--state", state)
			}
			var out, diagnostics bytes.Buffer
			if got := run(t.Context(), args, nil, &out, &diagnostics); got != 0 {
				t.Fatalf("exits with %d: %s", got, &diagnostics)
			}
			var listed []connectionView
			if err := json.Unmarshal(out.Bytes(), &listed); err != nil {
				t.Fatal(err)
			}
			ids := []passerelle.ConnectionID{}
			for _, one := range listed {
				ids = append(ids, one.ID)
			}
			if got := fmt.Sprint(ids); got != want {
				t.Errorf("state %q: connections %s, want %s", state, got, want)
			}
		}
	})
}

// storeConnections creates a domain with one connection for each state. The ids of the connections
// begin with 1.
func storeConnections(t *testing.T, url string, states ...passerelle.ConnectionState) {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := passerelle.Domain{Name: "shop", Kind: passerelle.Sandbox, BaseURL: "https://shop.example/2.0", Created: time.Now()}
	err = db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, "shop.example") })
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		for i, state := range states {
			tx.Unit().Exec(`INSERT INTO connection (id, domain_id, user_id, connector_uuid, created, state, active, credentials, lease_until)
				VALUES ($1, $2, 1, '338178e6-3d01-564f-9a7b-52ca442459bf', 0, NULLIF($3, ''), TRUE, $4, 0)`, i+1, int64(d.ID), string(state), []byte{})
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
