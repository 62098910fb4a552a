//go:build pooled

package database

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"passerelle/internal/store/storetest"
)

// TestPoolerIsNoticed connects through the PgBouncer of scripts/with-pgbouncer.
func TestPoolerIsNoticed(t *testing.T) {
	url := storetest.Postgres(t)
	for more, want := range map[string]pgx.QueryExecMode{
		"":                              pgx.QueryExecModeCacheDescribe,
		"&default_query_exec_mode=exec": pgx.QueryExecModeExec,
	} {
		db := open(t, url+more)
		p := db.engine.(*postgresEngine)
		if got := p.pool.Config().ConnConfig.DefaultQueryExecMode; !p.pooled || got != want {
			t.Errorf("%q: pooled %t, statements by %v, want %v", more, p.pooled, got, want)
		}
	}
	for more, want := range map[string]string{
		"&work_mem=5MB":    "ignore_startup_parameters = ",
		"&lock_timeout=5s": "connect_query = 'SET lock_timeout = 5s'",
	} {
		if _, err := Open(t.Context(), url+more, Config{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", more, err, want)
		}
	}
}
