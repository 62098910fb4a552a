package service_test

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/keys"
	"passerelle/internal/service"
	"passerelle/internal/store/storetest"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const metricsPage = "../../docs/metrics.md"

const metricsIntroduction = `# Metrics

<!-- Generated from the program; make generate updates it. -->

This page lists the metrics at ` + "`/metrics`" + `, except the metrics of the Go runtime and the process. [observability.md](observability.md)
shows how to monitor the service with them.

| Metric | Labels | Meaning |
|---|---|---|
`

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "([^"]*)", (?:unit: "[^"]*", )?constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

// measured returns the names of all metrics. For each of the service's own metrics, it also returns
// a row with the labels and the meaning.
func measured(t *testing.T) (names map[string]bool, rows []string) {
	t.Helper()
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		service.Metrics(opened(t, service.Config{Database: storetest.SQLite(t), Keys: keys.Generate()})).Describe(all)
	}()
	names = map[string]bool{"up": true} // Prometheus itself provides this metric for every target
	for one := range all {
		match := description.FindStringSubmatch(one.String())
		if match == nil {
			t.Fatalf("%s is not understood", one)
		}
		names[match[1]] = true
		if strings.HasPrefix(match[1], "passerelle_") {
			labels := strings.Join(regexp.MustCompile(`\w+`).FindAllString(regexp.MustCompile(`="[^"]*"`).ReplaceAllString(match[3], "")+" "+match[4], -1), ", ")
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", match[1], labels, match[2]))
		}
	}
	slices.Sort(rows)
	return names, rows
}

func TestMetricsPageIsFresh(t *testing.T) {
	_, rows := measured(t)
	want := metricsIntroduction + strings.Join(rows, "")
	if *update {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/metrics.md is not what the service measures; run make generate: (-want +got)\n%s", diff)
	}
}

var metricName = regexp.MustCompile(`\b(?:passerelle|process|go)_[a-z0-9_]+|\bup\b`)

// TestWhatIsWatchedIsMeasured checks that the service exports each metric that alerts and
// dashboards use.
func TestWhatIsWatchedIsMeasured(t *testing.T) {
	names, _ := measured(t)
	files, err := filepath.Glob("../../deploy/observability/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range expressions(string(text)) {
			for _, name := range metricName.FindAllString(expression, -1) {
				found++
				bare := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
				if !names[name] && !names[bare] {
					t.Errorf("%s: the service does not measure %s", filepath.Base(file), name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d names were found", found)
	}
}

// TestWatchedSeriesExist checks that the selectors of alerts and dashboards find the series of a
// service that has answered a read. It leaves out the selectors of failures.
func TestWatchedSeriesExist(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Listen: "127.0.0.1:0", Loopback: true})
	s.Start()
	read(t, s)
	families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var series []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "passerelle_http_") {
			continue
		}
		for _, one := range family.GetMetric() {
			labels := `job="passerelle",le="0.5",`
			for _, label := range one.GetLabel() {
				labels += label.GetName() + `="` + label.GetValue() + `",`
			}
			series = append(series, family.GetName()+"{"+labels)
		}
	}
	selector := regexp.MustCompile(`(passerelle_http_\w+?)(?:_bucket|_count)?\{([^}]*)\}`)
	found := 0
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		text, err := os.ReadFile("../../deploy/observability/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range selector.FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
			if strings.Contains(match[2], `status=~"5`) {
				continue
			}
			found++
			if !slices.ContainsFunc(series, func(one string) bool { return strings.HasPrefix(one, match[1]+"{") && selects(match[2], one) }) {
				t.Errorf("%s: no series matches %s, got %q", file, match[0], series)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d selectors were found", found)
	}
}

// read gets a list from the service, and waits until the metrics count the response.
func read(t *testing.T, s *service.Service) {
	t.Helper()
	for range 2 { // the first response is counted before the second request on the same connection is read
		answer, err := http.Get("http://" + s.Addr() + "/2.0/connectors")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("got %d, %v", answer.StatusCode, err)
		}
	}
}

// selects reports whether a series has the labels of a selector.
func selects(selector, series string) bool {
	for _, matcher := range regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`).FindAllStringSubmatch(selector, -1) {
		value := regexp.MustCompile(`[{,]` + matcher[1] + `="([^"]*)"`).FindStringSubmatch(series)
		expression := matcher[3]
		if !strings.HasSuffix(matcher[2], "~") {
			expression = regexp.QuoteMeta(expression)
		}
		matches := value != nil && regexp.MustCompile("^(?:"+expression+")$").MatchString(value[1])
		if matches == strings.HasPrefix(matcher[2], "!") {
			return false
		}
	}
	return true
}

func expressions(text string) []string {
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^\s*"?expr"?: (.*)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// TestOneFailingDomain damages the data of one domain. The metrics of the other domain must still
// be published, with a new time.
func TestOneFailingDomain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		now := time.Now()
		s := opened(t, service.Config{Database: url, Now: func() time.Time { return now }})
		domains := func() string {
			t.Helper()
			families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, family := range families {
				for _, one := range family.GetMetric() {
					switch family.GetName() {
					case "passerelle_measured_timestamp_seconds":
						found = append(found, fmt.Sprint(int64(one.GetGauge().GetValue())-now.Unix()))
					case "passerelle_payments_with_unknown_outcome":
						found = append(found, one.GetLabel()[0].GetValue())
					}
				}
			}
			return strings.Join(found, " ")
		}
		if err := service.Measure(t.Context(), s); err != nil || domains() != "0 bank.example test.example" {
			t.Fatalf("measured %q, %v", domains(), err)
		}
		broken, err := s.DB.DomainByName(t.Context(), "test.example")
		if err != nil {
			t.Fatal(err)
		}
		for webhook := range 2 { // the sum is larger than an int64
			storetest.Break(t, url, fmt.Sprintf(`INSERT INTO webhook_health (webhook_id, hour, domain_id, requests, successes, duration) VALUES (%d, %d, %d, %d, 0, 0)`,
				webhook+1, now.Unix()/3600, broken.ID, int64(math.MaxInt64)))
		}
		now = now.Add(time.Second)
		if err := service.Measure(t.Context(), s); err == nil || !strings.Contains(err.Error(), "test.example") || domains() != "0 bank.example" {
			t.Errorf("measured %q, %v", domains(), err)
		}
	})
}
