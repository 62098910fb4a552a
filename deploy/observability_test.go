// Package deploy_test checks what operators deploy: alerts fire, a release is reproducible, and
// images and packages run. It owns no code and does not test the service itself. An error fails the
// test.
package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"passerelle/internal/leftout"
)

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAlertsFire checks with promtool that each alert fires in its scenario, and that no alert
// fires in an hour without problems.
func TestAlertsFire(t *testing.T) {
	leftout.Needs(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"check", "config", "--syntax-only", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		command := exec.CommandContext(t.Context(), "promtool", args...)
		command.Dir = "observability"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v (scripts/install-tools promtool installs it): %s", args, err, out)
		}
	}
}

// TestAlertsHaveRunbooks: each alert has a scenario, and an annotation that links to a paragraph
// about the alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	var all rules
	readYAML(t, "observability/alerts.yml", &all)
	scenarios, page := read(t, "observability/alerts_test.yml"), read(t, "../docs/observability.md")
	count := 0
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			count++
			if !strings.Contains(scenarios, "alertname: "+rule.Alert+"\n") {
				t.Errorf("no scenario has %s fire", rule.Alert)
			}
			if !regexp.MustCompile(`(?m)^### `+rule.Alert+`\n\n\S`).MatchString(page) || rule.Annotations["runbook"] != "docs/observability.md#"+strings.ToLower(rule.Alert) {
				t.Errorf("%s does not lead to its paragraph in docs/observability.md", rule.Alert)
			}
			if severity := rule.Labels["severity"]; severity != "page" && severity != "ticket" {
				t.Errorf("%s has the severity %q", rule.Alert, severity)
			}
		}
	}
	if headings := strings.Count(page, "\n### Passerelle"); headings != count {
		t.Errorf("docs/observability.md has %d paragraphs for %d alerts", headings, count)
	}
}

func TestDashboardPanelsAreComplete(t *testing.T) {
	leftout.Needs(t, "promtool")
	var dashboard struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "observability/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("the panel %d %q repeats an id, or lacks a title or an expression", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			checkExpression(t, panel.Title, target.Expr)
		}
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			cell := [2]int{x, panel.GridPos.Y}
			if cells[cell] != "" || x >= 24 {
				t.Errorf("the panel %q lies over %q or beyond the edge", panel.Title, cells[cell])
			}
			cells[cell] = panel.Title
		}
	}
}

// furtherSeries lists series that dashboards use and alerts do not. Their values do not matter.
var furtherSeries = []string{
	`passerelle_build_info{job="passerelle", version="1"}`,
	`passerelle_http_request_duration_seconds_bucket{method="GET", route="/2.0/payments", status="200", le="0.5"}`,
	`passerelle_http_request_duration_seconds_count{method="GET", route="/2.0/payments", status="200"}`,
	`passerelle_connections_in_trouble{domain="main", state="wrongpass"}`,
	`passerelle_bank_call_duration_p95_seconds{connector="b", call="status"}`,
	`process_resident_memory_bytes{job="passerelle"}`, `process_cpu_seconds_total{job="passerelle"}`, `go_goroutines{job="passerelle"}`,
}

// TestPanelsShowAHealthyHour: each expression of the dashboard has a value when no request has
// failed. The series are those of the healthy hour in alerts_test.yml, without failures.
func TestPanelsShowAHealthyHour(t *testing.T) {
	leftout.Needs(t, "promtool")
	type series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	var scenarios struct {
		Tests []struct {
			Name  string   `yaml:"name"`
			Input []series `yaml:"input_series"`
		} `yaml:"tests"`
	}
	readYAML(t, "observability/alerts_test.yml", &scenarios)
	healthy := scenarios.Tests[0]
	if healthy.Name != "a healthy hour" {
		t.Fatalf("the first scenario is %s", healthy.Name)
	}
	input := slices.DeleteFunc(healthy.Input, func(one series) bool { return strings.Contains(one.Series, `status="5`) })
	for _, one := range furtherSeries {
		input = append(input, series{one, "0+1x60"})
	}
	var queries []any
	for _, match := range regexp.MustCompile(`"expr": (".*")`).FindAllStringSubmatch(read(t, "observability/dashboard.json"), -1) {
		var expression string
		if err := json.Unmarshal([]byte(match[1]), &expression); err != nil {
			t.Fatal(err)
		}
		queries = append(queries, map[string]any{
			"expr": "count(" + expression + ") > bool 0", "eval_time": "1h", "exp_samples": []any{map[string]any{"labels": "{}", "value": 1}},
		})
	}
	text, err := yaml.Marshal(map[string]any{"tests": []any{map[string]any{"interval": "1m", "input_series": input, "promql_expr_test": queries}}})
	if err != nil || len(queries) < 20 {
		t.Fatalf("found %d expressions, %v", len(queries), err)
	}
	file := filepath.Join(t.TempDir(), "panels_test.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func checkExpression(t *testing.T, title, expression string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yml")
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "g", "rules": []any{map[string]any{"record": "r", "expr": expression}}}}})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("the panel %q: %v: %s", title, err, out)
	}
}

// TestUnitStartsWithoutALimit: systemd restarts the service after five seconds, any number of
// times.
func TestUnitStartsWithoutALimit(t *testing.T) {
	unit, service, _ := strings.Cut(read(t, "package/passerelle.service"), "\n[Service]\n")
	if !strings.Contains(unit, "\nStartLimitIntervalSec=0\n") || !strings.Contains(service, "\nRestart=always\nRestartSec=5\n") {
		t.Error("systemd would give up, or try again without a pause")
	}
}

// TestUnitPermitsWhatTheServiceNeeds: the service can read how many connections may wait for it, and
// a refused system call does not end it.
func TestUnitPermitsWhatTheServiceNeeds(t *testing.T) {
	unit := read(t, "package/passerelle.service")
	if strings.Contains(unit, "\nProcSubset=pid\n") || !strings.Contains(unit, "\nSystemCallErrorNumber=EPERM\n") {
		t.Error("the unit hides /proc/sys, or a refused system call ends the service")
	}
}

// TestComposeFileMountsExistingFiles: the mounted files exist, the program runs without privileges
// on a read-only root file system, and no port is reachable from other machines.
func TestComposeFileMountsExistingFiles(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Image    string   `yaml:"image"`
			ReadOnly bool     `yaml:"read_only"`
			CapDrop  []string `yaml:"cap_drop"`
			Volumes  []string `yaml:"volumes"`
			Ports    []string `yaml:"ports"`
		} `yaml:"services"`
		Volumes map[string]any `yaml:"volumes"`
	}
	readYAML(t, "compose.yaml", &compose)
	for name, service := range compose.Services {
		ours := strings.HasPrefix(service.Image, "${PASSERELLE_IMAGE")
		if ours && (!service.ReadOnly || len(service.CapDrop) != 1 || service.CapDrop[0] != "ALL") {
			t.Errorf("%s may do more than it needs", name)
		}
		if !ours && (!strings.Contains(service.Image, ":") || strings.HasSuffix(service.Image, ":latest")) {
			t.Errorf("%s has no version: %s", name, service.Image)
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, named := compose.Volumes[source]; named {
				continue
			}
			if _, err := os.Stat(source); err != nil {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s listens at %s", name, port)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
