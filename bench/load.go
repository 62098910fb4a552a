package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// load lets concurrent clients do a number of actions, and returns the rate per second. Each client
// does one action after the other. The first error ends the load.
func load(ctx context.Context, clients, total int, do func(ctx context.Context, n int) error) (measured, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	return timed(total, func() error {
		var working sync.WaitGroup
		for range clients {
			working.Go(func() {
				for n := next.Add(1); n <= int64(total) && ctx.Err() == nil; n = next.Add(1) {
					if err := do(ctx, int(n)); err != nil {
						stop(err)
					}
				}
			})
		}
		working.Wait()
		return context.Cause(ctx)
	})
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// caller sends requests over connections that stay open.
type caller struct {
	client *http.Client
	token  string
}

func newCaller(token string, connections int) *caller {
	return &caller{token: token, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: connections},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call sends a request, checks that the status is 200, and returns the body.
func (c *caller) call(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	answer, _, err := c.exchange(ctx, method, url, body, http.StatusOK)
	return answer, err
}

// redirect sends a GET request, checks that the response is a redirect, and returns the target.
func (c *caller) redirect(ctx context.Context, url string) (string, error) {
	_, header, err := c.exchange(ctx, http.MethodGet, url, nil, http.StatusSeeOther)
	return header.Get("Location"), err
}

func (c *caller) exchange(ctx context.Context, method, url string, body []byte, wanted int) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode != wanted {
		return nil, nil, fmt.Errorf("%s %s: %d %s", method, url, response.StatusCode, answer)
	}
	return answer, response.Header, nil
}
