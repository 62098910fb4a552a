package supervision

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Ask requests a path from the service's listener for metrics and health checks. The argument
// `listen` is the address of this listener. Ask returns the header Server of the response. If the
// listener is on all interfaces, Ask uses an address of this machine.
func Ask(ctx context.Context, listen, path string) (string, error) {
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
		return "", fmt.Errorf("read the service's response: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the service answered %d: %s", answer.StatusCode, strings.TrimSpace(string(body)))
	}
	return answer.Header.Get("Server"), nil
}

func ownAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("read the address of the service: %w", err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}
