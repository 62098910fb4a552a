package service

import (
	"bytes"
	"encoding/json"
	"fmt"

	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/wire"
)

// logins returns the logins of the simulated institutions in the form of the API.
func logins() []wire.Login {
	var shown []wire.Login
	for _, l := range customers.Logins() {
		shown = append(shown, wire.Login(l))
	}
	return shown
}

// scenarios converts the scenarios of the simulated banks to the form of the API. The two forms may
// differ only in how they represent an absent value. scenarios fails when the form of the API lacks
// a member.
func scenarios() ([]wire.Scenario, error) {
	raw, err := json.Marshal(sandbox.Scenarios())
	if err != nil {
		return nil, fmt.Errorf("write the scenarios: %w", err)
	}
	var shown []wire.Scenario
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&shown); err != nil {
		return nil, fmt.Errorf("read the scenarios: %w", err)
	}
	for _, s := range shown {
		for i, state := range s.Ends.Instructions {
			if *state == "" {
				s.Ends.Instructions[i] = nil
			}
		}
	}
	return shown, nil
}
