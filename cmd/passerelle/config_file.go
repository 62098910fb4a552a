package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"passerelle/internal/envfile"
	"passerelle/internal/service"
)

// These are the flag and the environment variable for the file with variables.
const (
	configFlag     = "--config"
	configVariable = variablePrefix + "CONFIG="
)

// withConfigFile adds the variables of the config file. The flag --config or the variable
// PASSERELLE_CONFIG names this file. A variable in the environment replaces the same variable and
// its twin in the file: PASSERELLE_DATABASE replaces PASSERELLE_DATABASE_FILE, and vice versa.
func withConfigFile(args, environment []string) ([]string, error) {
	name := configFileOf(args, environment)
	if name == "" {
		return environment, nil
	}
	variables, err := envfile.Read(name, variablePrefix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", configFlag, err)
	}
	if slices.ContainsFunc(variables, func(pair string) bool { return strings.HasPrefix(pair, configVariable) }) {
		return nil, fmt.Errorf("%s: %s: a file cannot name another one", configFlag, name)
	}
	inEnvironment := map[string]bool{}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		inEnvironment[name] = value != ""
	}
	variables = slices.DeleteFunc(variables, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return inEnvironment[twin(name, "_FILE")]
	})
	return append(variables, environment...), nil
}

func configFileOf(args, environment []string) string {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, arg := range args {
		if name, joined := strings.CutPrefix(arg, configFlag+"="); joined {
			return name
		}
		if arg == configFlag && i+1 < len(args) {
			return args[i+1]
		}
	}
	for _, pair := range slices.Backward(environment) {
		if name, set := strings.CutPrefix(pair, configVariable); set {
			return name
		}
	}
	return ""
}

type configCheck struct{}

// checkView is the output of config check: the names of the variables that are set.
type checkView struct {
	Valid     bool     `json:"valid"`
	Variables []string `json:"variables"`
}

// Run reads the variables and files that the command serve would read at its start, with the checks
// of serve. It does not open the database, unlike the command doctor.
func (configCheck) Run(c *console) error {
	var p program
	serve, environment, err := parse(&p, []string{"serve"}, c.environment, io.Discard, io.Discard, func(int) {})
	if err != nil {
		return errors.New(sentence(err))
	}
	config, err := p.Serve.config(c)
	if err == nil {
		err = service.Check(config)
	}
	if err != nil {
		return errors.New(explain(serve, err))
	}
	return c.show(checkView{true, variablesIn(environment)})
}

// variablesIn returns the names of the program's variables, each once.
func variablesIn(environment []string) []string {
	names := []string{}
	for _, pair := range environment {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, variablePrefix) && !strings.HasPrefix(name, testPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
