package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle/internal/httpd"
)

// closing is the time that Stop reserves for closing the database. Stop reserves at most a fifth of
// the time until its deadline.
const closing = 5 * time.Second

// Drain makes /readyz fail and ends each connection after its next response. The service still
// accepts connections and serves requests. Load balancers notice that it will stop, and send their
// requests elsewhere.
func (s *Service) Drain() {
	s.draining.Store(true)
	for _, server := range s.servers() {
		server.Drain()
	}
}

// Stop lets running requests finish. Meanwhile, it stops the loops, and then the sender of
// webhooks. After that, it closes the database. Stop does all of this within the context's
// deadline. Shortly before the deadline, it closes the connections of clients that have not
// finished. Enough time then remains for closing the database. The next start, or another replica,
// finishes the interrupted work.
func (s *Service) Stop(ctx context.Context) error {
	s.Drain()
	early, cancel := sooner(ctx)
	defer cancel()
	worked := make(chan error, 1)
	go func() { worked <- s.stopWork(early) }()
	served := s.stopServing(early)
	return errors.Join(served, <-worked, s.stopCalls(ctx), s.closeDatabase(ctx), s.traces.Close(ctx))
}

// stopCalls ends the reads that continued after their clients left. Each read then releases the
// lease of its connection. The lease of a read that does not end in time lapses.
func (s *Service) stopCalls(ctx context.Context) error {
	early, cancel := sooner(ctx)
	defer cancel()
	if err := within(early, func() error { s.calls.Stop(); return nil }); err != nil {
		return fmt.Errorf("stop the reads of connections: %w", err)
	}
	return nil
}

// sooner returns a context that ends earlier than ctx, if ctx has a deadline.
func sooner(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(closing, time.Until(deadline)/5)))
}

func (s *Service) stopServing(ctx context.Context) error {
	var err error
	for _, server := range s.servers() {
		err = errors.Join(err, server.Stop(ctx))
	}
	return err
}

// servers returns the listeners in the order in which they stop.
func (s *Service) servers() []*httpd.Server {
	return slices.DeleteFunc([]*httpd.Server{s.server, s.consoleServer, s.ops}, func(server *httpd.Server) bool { return server == nil })
}

// stopWork stops the loops and then the sender, because the loops make work for the sender.
func (s *Service) stopWork(ctx context.Context) error {
	stopped := within(ctx, func() error { s.stopLoops(); return nil })
	if stopped != nil {
		stopped = fmt.Errorf("stop the background loops: %w", stopped)
	}
	return errors.Join(stopped, s.sender.Stop(ctx))
}

func (s *Service) stopLoops() {
	s.loops.Stop()
	s.allLoops().Stop() // the loops above start those of connector programs
	s.Initiation.AwaitFollowed()
	s.Aggregation.AwaitReaders()
	s.syncs.Stop()
	s.fileFetches.Stop()
}

func (s *Service) closeDatabase(ctx context.Context) error {
	if err := within(ctx, s.DB.Close); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// within calls the function `do`, which takes no context. It returns the result of `do`. If the
// context ends first, it returns the context's error.
func within(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
