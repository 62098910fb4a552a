package storetest_test

import (
	"testing"

	"passerelle/internal/store/storetest"
)

// TestDeadlocksAreTriedAgain lets statements report a deadlock twice. The third attempt must
// succeed.
func TestDeadlocksAreTriedAgain(t *testing.T) {
	address := storetest.Postgres(t)
	storetest.Execute(t, address, `CREATE SEQUENCE attempts`)
	storetest.Execute(t, address, `DO $$ BEGIN
		IF nextval('attempts') < 3 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
	END $$`)
	conn := open(t, address)
	defer end(t, conn)
	var attempts int
	if err := conn.QueryRow(t.Context(), `SELECT last_value FROM attempts`).Scan(&attempts); err != nil || attempts != 3 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}
