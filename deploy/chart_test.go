//go:build release

package deploy_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var write = flag.Bool("write", false, "write the manifests in deploy/helm/golden anew")

// kubernetes is the version for which the chart is rendered. The Kubernetes types in helm.mod have
// the same minor version.
const kubernetes = "1.37.0"

// helm runs the helm command, which helm.mod pins. It returns the output without the diagnostics,
// unless the command fails. One of the diagnostics is about the link to the alerts, and has a path of
// this machine.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=helm.mod", "helm"}, args...)...)
	command.Dir = ".."
	// These variables keep helm from using the developer's own settings and clusters.
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+work, "HELM_DATA_HOME="+work, "HELM_CACHE_HOME="+work, "KUBECONFIG=/dev/null")
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return string(out) + said.String(), err
	}
	return string(out), nil
}

// TestChart lints and renders the chart with each file of values.
func TestChart(t *testing.T) {
	files, err := filepath.Glob("helm/golden/*.values.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, values := range files {
		t.Run(filepath.Base(values), func(t *testing.T) {
			if out, err := helm(t, "lint", "--strict", "--kube-version", kubernetes, "deploy/helm", "--values", "deploy/"+values); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			got, err := helm(t, "template", "bank", "deploy/helm", "--kube-version", kubernetes, "--namespace", "payments", "--values", "deploy/"+values)
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			golden := strings.Replace(values, ".values.yaml", ".yaml", 1)
			if *write {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(content(t, golden)), got); diff != "" {
				t.Errorf("the chart renders something else; see whether it is right and run with -write (-want +got):\n%s", diff)
			}
			checkManifests(t, got, "")
		})
	}
}

// checkManifests requires an error that contains a text, or no error if the text is empty.
func checkManifests(t *testing.T, manifests, wrong string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "-modfile=helm.mod", "deploy/helm/manifests.go")
	command.Dir, command.Stdin = "..", strings.NewReader(manifests)
	out, err := command.CombinedOutput()
	if (err != nil) != (wrong != "") || !strings.Contains(string(out), wrong) {
		t.Errorf("want the error %q, got %v: %s", wrong, err, out)
	}
}

func TestChecksOfManifestsFind(t *testing.T) {
	good := string(content(t, "helm/golden/least.yaml"))
	for mistake, wrong := range map[[2]string]string{
		{"automountServiceAccountToken:", "automountServiceAccountTokens:"}:   "unknown field",
		{"replicas: 2", "replicas: two"}:                                      "cannot unmarshal",
		{"runAsNonRoot: true", "runAsNonRoot: false"}:                         "the profile restricted refuses the pod",
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"}: "the profile restricted refuses the pod",
		{"kind: PodDisruptionBudget", "kind: PodSecurityPolicy"}:              "no such kind",
	} {
		checkManifests(t, strings.Replace(good, mistake[0], mistake[1], 1), wrong)
	}
}

// TestReleasedChartHasTheVersion: the chart of the release and the image in it have the version of
// the release, and the chart contains the alerts.
func TestReleasedChartHasTheVersion(t *testing.T) {
	chart := one(t, "*_chart.tgz")
	_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(chart), "_chart.tgz"), "_")
	out, err := helm(t, "template", "bank", chart, "--kube-version", kubernetes, "--values", "deploy/helm/golden/least.values.yaml", "--set", "prometheusRule.enabled=true")
	if err != nil || !strings.Contains(out, "- alert: PasserelleDown\n") || !strings.Contains(out, "image: passerelle:"+version+"\n") || !strings.Contains(out, "helm.sh/chart: passerelle-"+version+"\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestChartRefusesAShortEnd: the grace period of a pod must cover the delay and the time for
// running requests.
func TestChartRefusesAShortEnd(t *testing.T) {
	for _, test := range []struct {
		grace, delay string
		timeout      string // empty when the chart refuses the times
	}{
		{"25", "10", ""},
		{"-1", "10", ""},
		{"60", "45", ""},
		{"60", "-1", ""},
		{"26", "10", "11s"},
		{"16", "0", "11s"},
		{"90", "30", "55s"},
	} {
		out, err := helm(t, "template", "bank", "deploy/helm", "--kube-version", kubernetes, "--values", "deploy/helm/golden/least.values.yaml",
			"--set", "terminationGracePeriodSeconds="+test.grace, "--set", "shutdownDelaySeconds="+test.delay)
		refused := test.timeout == ""
		if (err != nil) != refused || refused && !strings.Contains(out, "Seconds") ||
			!refused && !strings.Contains(out, `{name: PASSERELLE_SHUTDOWN_DELAY, value: "`+test.delay+`s"}`+"\n            - {name: PASSERELLE_SHUTDOWN_TIMEOUT, value: \""+test.timeout+`"}`) {
			t.Errorf("%s seconds with a delay of %s: %v: %s", test.grace, test.delay, err, out)
		}
	}
}

// TestChartLimitsTheMemoryOfGo: GOMEMLIMIT is a share of the memory limit, unless the settings have
// another one.
func TestChartLimitsTheMemoryOfGo(t *testing.T) {
	for _, test := range []struct{ set, limit string }{
		{"goMemoryPercent=90", "966367642"},
		{"goMemoryPercent=0", ""},
		{"resources.limits.memory=512Mi", "483183821"},
		{"resources.limits.memory=1.5G", "1350000000"},
		{"resources.limits.memory=2000000000", "1800000000"},
		{"resources.limits.memory=142Mi", ""},
		{"resources.limits.memory=143Mi", "134951731"},
		{"resources.limits=null", ""},
		{"resources=null", ""},
		{"settings.GOMEMLIMIT=700MiB", "700MiB"},
	} {
		out, err := helm(t, "template", "bank", "deploy/helm", "--kube-version", kubernetes, "--values", "deploy/helm/golden/least.values.yaml", "--set", test.set)
		var limits []string
		for _, match := range regexp.MustCompile(`name: GOMEMLIMIT, value: "(.*)"`).FindAllStringSubmatch(out, -1) {
			limits = append(limits, match[1])
		}
		if err != nil || strings.Join(limits, " ") != test.limit {
			t.Errorf("%s: %v, the limits are %q, want %q", test.set, err, limits, test.limit)
		}
	}
	for _, wrong := range []string{"goMemoryPercent=101", "goMemoryPercent=half", "resources.limits.memory=1GiB", "resources.limits.memory=much"} {
		if out, err := helm(t, "template", "bank", "deploy/helm", "--kube-version", kubernetes, "--values", "deploy/helm/golden/least.values.yaml", "--set", wrong); err == nil {
			t.Errorf("%s renders %s", wrong, out)
		}
	}
}

// TestChartHasShortNames: Kubernetes accepts names of at most 63 characters, and Helm accepts
// releases of at most 53.
func TestChartHasShortNames(t *testing.T) {
	for _, release := range []string{"bank", "passerelle", strings.Repeat("r", 53), strings.Repeat("r", 43) + "-" + strings.Repeat("r", 9), "passerelle-" + strings.Repeat("r", 42)} {
		out, err := helm(t, "template", release, "deploy/helm", "--kube-version", kubernetes, "--values", "deploy/helm/golden/all.values.yaml")
		names := regexp.MustCompile(`(?m)^  name: (.*)$`).FindAllStringSubmatch(out, -1)
		if err != nil || len(names) < 8 {
			t.Errorf("%s: %v, found %v: %s", release, err, names, out)
		}
		for _, name := range names {
			if len(name[1]) > 63 || !regexp.MustCompile(`^[a-z]([a-z-]*[a-z])?$`).MatchString(name[1]) || strings.Contains(name[1], "--") {
				t.Errorf("%s: Kubernetes refuses the name %s", release, name[1])
			}
		}
	}
}

func TestChartAsksForWhatHasNoDefault(t *testing.T) {
	all := map[string]string{"baseURL": "https://bank.example/2.0", "database.secretName": "d", "keys.secretName": "k"}
	for missing := range all {
		args := []string{"template", "bank", "deploy/helm", "--kube-version", kubernetes}
		for name, value := range all {
			if name != missing {
				args = append(args, "--set", name+"="+value)
			}
		}
		if out, err := helm(t, args...); err == nil || !strings.Contains(out, missing+" is required") {
			t.Errorf("without %s: %v: %s", missing, err, out)
		}
	}
}
