package database_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
)

// TestAddressForPrograms converts addresses that suit the driver to addresses that suit pg_dump.
func TestAddressForPrograms(t *testing.T) {
	for _, test := range []struct {
		from, url   string
		environment []string
		keyPassword string
	}{
		{"postgres://u@h/d?sslmode=verify-full&target_session_attrs=read-write", "postgres://u@h/d?sslmode=verify-full&target_session_attrs=read-write", nil, ""},
		{"postgres://u:p%2F@h1,h2:5433/d?pool_max_conns=64&pool_max_conn_lifetime=1h&default_query_exec_mode=exec&statement_cache_capacity=0&description_cache_capacity=1", "postgres://u@h1,h2:5433/d", []string{"PGPASSWORD=p/"}, ""},
		{"postgres://u:old@h/d?password=new%20one&sslrootcert=/etc/ca%20file.pem&sslnegotiation=direct", "postgres://u@h/d?sslrootcert=%2Fetc%2Fca%20file.pem", []string{"PGPASSWORD=old", "PGPASSWORD=new one", "PGSSLNEGOTIATION=direct"}, ""},
		{`postgres://h/?database=d&search_path="Tenant A",b\c&statement_timeout=5`, "postgres://h/?dbname=d", []string{`PGOPTIONS=-c search_path="Tenant\ A",b\\c -c statement_timeout=5`}, ""},
		{"postgres://h/d?options=-c%20jit%3Doff&search_path=a", "postgres://h/d", []string{"PGOPTIONS=-c jit=off -c search_path=a"}, ""},
		{"postgres://h/d?sslkey=/etc/key&sslpassword=p%20q", "postgres://h/d?sslkey=%2Fetc%2Fkey", nil, "p q"},
	} {
		got, err := database.ForPrograms(test.from)
		want := database.ProgramAddress{URL: test.url, Environment: test.environment, KeyPassword: test.keyPassword}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.from, err, diff)
		}
	}
	for _, address := range []string{"postgres://u:secret@h:x/d", "postgres://h/d?service=s&sslpassword=p", "host=h user=u password=secret dbname=d", "u:secret@h/d"} {
		if to, err := database.ForPrograms(address); err == nil {
			t.Errorf("%s became %v", address, to)
		}
	}
}
