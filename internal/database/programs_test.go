package database_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
)

// TestAddressForPrograms converts addresses that suit the driver to addresses that suit pg_dump.
func TestAddressForPrograms(t *testing.T) {
	for _, test := range []struct {
		from, to    string
		environment []string
	}{
		{"postgres://u@h/d?sslmode=verify-full&target_session_attrs=read-write", "postgres://u@h/d?sslmode=verify-full&target_session_attrs=read-write", nil},
		{"postgres://u:p%2F@h1,h2:5433/d?pool_max_conns=64&pool_max_conn_lifetime=1h&default_query_exec_mode=exec&statement_cache_capacity=0&description_cache_capacity=1", "postgres://u@h1,h2:5433/d", []string{"PGPASSWORD=p/"}},
		{"postgres://u:old@h/d?password=new%20one&sslrootcert=/etc/ca%20file.pem&sslnegotiation=direct", "postgres://u@h/d?sslrootcert=%2Fetc%2Fca%20file.pem", []string{"PGPASSWORD=old", "PGPASSWORD=new one", "PGSSLNEGOTIATION=direct"}},
		{`postgres://h/?database=d&search_path="Tenant A",b\c&statement_timeout=5`, "postgres://h/?dbname=d", []string{`PGOPTIONS=-c search_path="Tenant\ A",b\\c -c statement_timeout=5`}},
		{"postgres://h/d?options=-c%20jit%3Doff&search_path=a", "postgres://h/d", []string{"PGOPTIONS=-c jit=off -c search_path=a"}},
	} {
		to, environment, err := database.ForPrograms(test.from)
		if diff := cmp.Diff(test.environment, environment); err != nil || to != test.to || diff != "" {
			t.Errorf("%s: got %s, %v, want %s (-want +got):\n%s", test.from, to, err, test.to, diff)
		}
	}
	if to, environment, err := database.ForPrograms("postgres://u:secret@h:x/d"); err == nil {
		t.Errorf("an address with the port x became %s, %v", to, environment)
	}
}
