//go:build ignore

// This program checks the rendered chart with the types of Kubernetes: each field is known and has
// the right type, and each pod satisfies the profile "restricted".
//
// It owns the list of kinds that the chart may contain. It does not connect to a cluster. It runs
// with the modules in helm.mod. It names each wrong object.
//
//	go run -modfile=helm.mod deploy/helm/manifests.go <MANIFESTS
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	strict "sigs.k8s.io/yaml"
)

// kinds contains the kinds of objects that the chart may contain, each with its Go type.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"batch/v1 Job":                            func() any { return &batch.Job{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &disruption.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return &autoscaling.HorizontalPodAutoscaler{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
}

func main() {
	problems, count := check(os.Stdin)
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 || count == 0 {
		os.Exit(1)
	}
	fmt.Println(count)
}

func check(in io.Reader) (problems []error, count int) {
	decoder := yaml.NewYAMLReader(bufio.NewReader(in))
	for {
		text, err := decoder.Read()
		if errors.Is(err, io.EOF) {
			return problems, count
		}
		if err != nil {
			return append(problems, err), count
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		count++
		if err := checkOne(text); err != nil {
			problems = append(problems, err)
		}
	}
}

func checkOne(text []byte) error {
	var about meta.PartialObjectMetadata
	if err := strict.Unmarshal(text, &about); err != nil {
		return err
	}
	name := about.APIVersion + " " + about.Kind
	make, known := kinds[name]
	if !known {
		return fmt.Errorf("%s %s: the chart has no such kind", name, about.Name)
	}
	object := make()
	if err := strict.UnmarshalStrict(text, object); err != nil {
		return fmt.Errorf("%s %s: %w", name, about.Name, err)
	}
	if err := checkPod(object); err != nil {
		return fmt.Errorf("%s %s: %w", name, about.Name, err)
	}
	return nil
}

func checkPod(object any) error {
	var pod core.PodTemplateSpec
	switch of := object.(type) {
	case *apps.Deployment:
		pod = of.Spec.Template
	case *batch.Job:
		pod = of.Spec.Template
	default:
		return nil
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	var refused []string
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			refused = append(refused, result.ForbiddenReason+": "+result.ForbiddenDetail)
		}
	}
	if len(refused) > 0 {
		return errors.New("the profile restricted refuses the pod: " + strings.Join(refused, "; "))
	}
	return nil
}
