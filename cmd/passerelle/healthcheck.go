package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"passerelle"
)

type healthcheckCommand struct {
	OpsListen string        `default:"127.0.0.1:9464" help:"Address of the running service for metrics, as for serve."`
	Ready     bool          `help:"Also fail while the service cannot serve requests: at /readyz instead of /healthz."`
	Timeout   time.Duration `default:"4s" help:"Time to wait for the answer."`
}

// healthView is what healthcheck prints.
type healthView struct {
	Healthy bool   `json:"healthy"`
	Server  string `json:"server"`
}

// Run asks the service of this machine how it is. A container without a shell has no other
// way to ask.
func (h *healthcheckCommand) Run(c *console) error {
	path := "/healthz"
	if h.Ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(c.ctx, h.Timeout)
	defer cancel()
	server, err := probe(ctx, h.OpsListen, path)
	if err != nil {
		return err
	}
	return c.show(healthView{true, server})
}

// probe asks the operators' listener at an address, on this machine when the address is that of
// all interfaces. It returns the product that answered.
func probe(ctx context.Context, listen, path string) (string, error) {
	address, err := ownAddress(listen)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask the service: %w", err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", fmt.Errorf("ask the service: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err != nil {
		return "", fmt.Errorf("read what the service answered: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the service answered %d: %s", answer.StatusCode, strings.TrimSpace(string(body)))
	}
	return answer.Header.Get("Server"), nil
}

func ownAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", passerelle.InvalidField("--ops-listen", "must be the address of the service for metrics, like 127.0.0.1:9464")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

// alive asks the service about itself, if it has an address to ask at.
func alive(ctx context.Context, ops string) error {
	if ops == "" {
		return nil
	}
	_, err := probe(ctx, ops, "/healthz")
	return err
}
