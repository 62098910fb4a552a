package console_test

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle/internal/operators"
	"passerelle/internal/store"
)

// numbers is the beginning of a statement that counts from $1 to $2.
const numbers = `WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2) `

// crowdFrom is larger than every id that the service has assigned.
const crowdFrom = 10_000_000

// crowd adds payments to the tables that a search reads. The service would need hours to create a
// million payments. In a million payments, each possible end of an account number (four digits)
// occurs in 100 payments.
var crowd = []string{
	`INSERT INTO payment_transition (payment_id, seq, domain_id, to_state, cause, actor, bank_status, at) SELECT i, 0, CAST($3 AS BIGINT), 'created', '', 'client', '', i FROM n`,
	`INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, client_redirect_uri, client_state, currency, amount,
			instruction_count, date_type, bank_payment_id, payer_scheme, payer_identification)
		SELECT i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), 1, 0, 'created', i * 1000, 'https://client.example/', '', 'EUR', 100, 1, 'instant', 'BANK-' || CAST(i AS TEXT), 'iban',
			'FR76300060000112' || CAST(i AS TEXT) FROM n`,
	`INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, beneficiary_scheme, beneficiary_identification,
			beneficiary_label, registered, new_beneficiary, new_reference, label_folded)
		SELECT i, i, 0, CAST($3 AS BIGINT), 'E2E-' || CAST(i AS TEXT), 100, 'Invoice ' || CAST(i AS TEXT) || ' gift', 'iban', 'DE893704004405' || CAST(i AS TEXT), 'Shop', i * 1000, TRUE, TRUE,
			'invoice ' || CAST(i AS TEXT) || ' gift' FROM n`,
	`INSERT INTO payment_word (domain_id, word, registered, payment_id) SELECT CAST($3 AS BIGINT), 'invoice', i * 1000, i FROM n`,
	`INSERT INTO payment_word (domain_id, word, registered, payment_id) SELECT CAST($3 AS BIGINT), 'gift', i * 1000, i FROM n`,
	`INSERT INTO payment_word (domain_id, word, registered, payment_id) SELECT CAST($3 AS BIGINT), CAST(i AS TEXT), i * 1000, i FROM n`,
}

const crowdOfUsers = `INSERT INTO end_user (id, domain_id, platform, created, permanent, version) SELECT i, CAST($3 AS BIGINT), 'sharedAccess', i, i, 1 FROM n`

func (d *fixture) fill(payments int) {
	d.t.Helper()
	client, err := strconv.ParseInt(d.ClientID, 10, 64)
	must(d.t, err)
	write := func(first, last int, statements ...string) {
		d.t.Helper()
		must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error {
			for _, text := range statements {
				args := []any{first, last, int64(d.Domain.ID)}
				if strings.Contains(text, "$4") {
					args = append(args, client)
				}
				tx.Unit().Exec(numbers+text, args...)
			}
			return nil
		}))
	}
	// The inserted account numbers are in plain text, as in an older database.
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error {
		tx.Unit().Exec(`UPDATE sealing SET account_numbers = FALSE`)
		return nil
	}))
	d.Restart()
	const step = 50_000
	for first := crowdFrom; first < crowdFrom+payments; first += step {
		write(first, min(first+step, crowdFrom+payments)-1, crowd...)
	}
	write(crowdFrom, crowdFrom+payments/10-1, crowdOfUsers)
	must(d.t, d.DB.Database.KeepStatistics(d.t.Context()))
}

// TestMillionSearched searches in PASSERELLE_TEST_PAYMENTS payments, or 2,000 by default, and a
// tenth as many users. When the variable is set, the median time of 15 equal searches must be at
// most 25 ms.
func TestMillionSearched(t *testing.T) {
	payments, long := 2000, false
	if text, set := os.LookupEnv("PASSERELLE_TEST_PAYMENTS"); set {
		n, err := strconv.Atoi(text)
		must(t, err)
		payments, long = n, true
	}
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		a, b, c := d.shop()
		d.fill(payments)
		middle := crowdFrom + payments/20
		newest := crowdFrom + payments - 1
		for query, found := range map[string]int64{
			fmt.Sprint(middle):                     int64(middle),
			fmt.Sprint("E2E-", middle):             int64(middle),
			fmt.Sprint("BANK-", middle):            int64(middle),
			fmt.Sprint("FR76300060000112", middle): int64(middle),
			fmt.Sprint("DE893704004405", middle):   int64(middle),
			fmt.Sprint("invoice ", middle):         int64(middle),
			fmt.Sprintf("%04d", newest%10_000):     int64(newest),
			"gift":                                 int64(newest),
			"MAY-1":                                a,
			"RENTAL":                               b,
			"Erika@Home.example":                   b,
			"rent":                                 c,
			fmt.Sprint(crowdFrom + payments):       0,
			"nobody@home.example":                  0,
			"1234567890123456789":                  0,
		} {
			path := d.domainPath("/search?q=" + url.QueryEscape(query))
			var texts []string
			if found != 0 {
				texts = []string{`href="` + d.paymentPath(found) + `"`}
			}
			took := make([]time.Duration, 15)
			for i := range took {
				begun := time.Now()
				d.shows(path, texts)
				took[i] = time.Since(begun)
			}
			slices.Sort(took)
			typical := took[len(took)/2]
			if t.Logf("%q: %v", query, typical); long && typical > 25*time.Millisecond {
				t.Errorf("a search for %q takes %v", query, typical)
			}
		}
	})
}
