package main

import (
	"context"
	"time"

	"passerelle/internal/supervision"
)

type healthcheckCommand struct {
	OpsListen string        `default:"127.0.0.1:9464" help:"Metrics address of the running service, as for serve."`
	Ready     bool          `help:"Also fail while the service cannot serve requests. The command asks /readyz instead of /healthz."`
	Timeout   time.Duration `default:"4s" least:"1ms" help:"Time to wait for the response."`
}

// healthView is the output of healthcheck.
type healthView struct {
	Healthy bool   `json:"healthy"`
	Server  string `json:"server"`
}

// Run sends a health check to the service of this machine. A container without a shell has no other
// program for this.
func (h *healthcheckCommand) Run(c *console) error {
	path := "/healthz"
	if h.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(c.ctx, h.Timeout)
	defer cancel()
	if err := checkAddress("--ops-listen", h.OpsListen, opsExample); err != nil {
		return err
	}
	server, err := supervision.Ask(ctx, h.OpsListen, path)
	if err != nil {
		return err
	}
	return c.show(healthView{true, server})
}

// alive sends a health check, if the service has an address for it.
func alive(ctx context.Context, ops string) error {
	if ops == "" {
		return nil
	}
	_, err := supervision.Ask(ctx, ops, "/healthz")
	return err
}
