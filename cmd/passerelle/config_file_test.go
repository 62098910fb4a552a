package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfigCheckRefusesLikeServe: config check and serve refuse the same variables, with the same
// words. Nothing is stored.
func TestConfigCheckRefusesLikeServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, says := range map[string]string{
		"PASSERELLE_BANKS=/nope":                    "read the folder of banks /nope: no such file or directory",
		"PASSERELLE_BANKS=" + file:                  "read the folder of banks " + file + ": not a directory",
		"PASSERELLE_OIDC_ISSUER=foo":                "--oidc-issuer: must be the https address of the provider, without a query",
		"PASSERELLE_OIDC_ISSUER=https://id.example": "--oidc-client-id: must be the id of this service at the provider",
		"PASSERELLE_FILES=s3://s3.example/x":        "open the store of files: a bucket is named s3://KEY:SECRET@HOST/BUCKET[/PREFIX][?region=REGION&tls=none]",
		"PASSERELLE_FILES=" + file:                  "open the store of files: open the folder of files: open " + file + ": not a directory",
		"PASSERELLE_LISTEN=:99999":                  "--listen: must have a port from 0 to 65535, such as 127.0.0.1:8080",
		"PASSERELLE_OPS_LISTEN=127.0.0.1:-1":        "--ops-listen: must have a port from 0 to 65535, such as 127.0.0.1:9464",
		"PASSERELLE_MAX_REQUESTS=-4":                "--max-requests: must be at least 1",
		"PASSERELLE_MAX_REQUESTS=0":                 "--max-requests: must be at least 1",
		"PASSERELLE_DATABASE_TIMEOUT=-5s":           "--database-timeout: must be at least 1ms",
		"PASSERELLE_SHUTDOWN_TIMEOUT=-1s":           "--shutdown-timeout: must be at least 1ms",
		"PASSERELLE_SHUTDOWN_DELAY=-1s":             "--shutdown-delay: must be at least 0s",
		"PASSERELLE_ALLOW_PORTS=443,0":              "--allow-ports: must be from 1 to 65535",
		"PASSERELLE_TRACE_RATIO=1.5":                "--trace-ratio: must be between 0 and 1, such as 0.1 for a tenth",
		"PASSERELLE_ALLOW_NETWORKS=everything":      `--allow-networks: "everything" is not a network such as 10.0.0.0/8`,
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			database := filepath.Join(t.TempDir(), "bank.db")
			environment := []string{
				"PASSERELLE_DATABASE=sqlite:" + database, "PASSERELLE_LISTEN=127.0.0.1:0", "PASSERELLE_OPS_LISTEN=",
				"PASSERELLE_BASE_URL=https://bank.example/2.0", "PASSERELLE_KEY_FILE=" + keyFile(t), variable,
			}
			for _, command := range [][]string{{"config", "check"}, {"serve"}} {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // in case it serves instead of failing
				defer cancel()
				var out, diagnostics bytes.Buffer
				if status := run(ctx, command, environment, &out, &diagnostics); status == succeeded || !strings.HasSuffix(diagnostics.String(), "passerelle: "+says+"\n") {
					t.Errorf("%v: exit status %d, said %q, want %q", command, status, &diagnostics, says)
				}
			}
			if _, err := os.Stat(database); err == nil {
				t.Error("there is a database")
			}
		})
	}
}
