package storetest

import (
	"database/sql"
	"strings"
	"testing"
)

// Lapse ends the leases that a killed program had on webhooks and connections. A test that kills
// the program a thousand times cannot wait a minute for each lease.
func Lapse(t testing.TB, url string) {
	t.Helper()
	driver, address := "pgx", Direct(t, url)
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"webhook", "connection"} {
		if _, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET lease_until = 0 WHERE lease_until > 0"); err != nil {
			t.Fatalf("end the leases of %s: %v", table, err)
		}
	}
}
