package main

import (
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/catalogue"
)

type scenariosCommand struct{}

// Run prints the scenarios of the sandbox: as JSON, or as the page of the documentation.
func (scenariosCommand) Run(c *console) error {
	if c.json {
		return c.show(struct {
			Scenarios []sandbox.Scenario `json:"scenarios"`
			Logins    []customers.Login  `json:"logins"`
		}{sandbox.Scenarios(), customers.Logins()})
	}
	return catalogue.Write(c.out)
}
