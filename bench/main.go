// Command bench compares the service with the limits of this machine, and prints a table. For many
// rows of the table, it measures the service and a limit program alternately, in one process. The
// limit program does only the necessary work. Other rows compare the service with itself or with a
// budget.
//
// The command owns the loads, the limit programs and the table. Most goals do not depend on the
// machine, because they limit a ratio. The run fails when the service or a limit program gives a
// wrong response, even if the response is fast.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"

	"passerelle/internal/service"
)

func main() {
	var o options
	flag.IntVar(&o.repeats, "repeats", 5, "how often each row is measured, on both sides in turn")
	flag.Float64Var(&o.scale, "scale", 1, "how much work a measurement is, against the usual")
	flag.StringVar(&o.only, "only", "", "measure the rows whose names match this expression")
	flag.StringVar(&o.postgres, "postgres", os.Getenv("PASSERELLE_TEST_POSTGRES"), "server for databases of the rows on PostgreSQL, as a superuser's URL")
	flag.StringVar(&o.folder, "folder", "", "where databases of SQLite are made, on the disk to be measured (default: the temporary folder)")
	flag.StringVar(&o.results, "results", "", "folder that gets the table, as a file named after the day")
	flag.StringVar(&o.profiles, "profiles", "", "folder that gets profiles of the service's side of each row: its processors, and what was allocated before and after")
	flag.BoolVar(&o.onlySizes, "sizes", false, "measure instead how large databases are, and how long copies take")
	flag.BoolVar(&o.onlyCosts, "costs", false, "measure instead what a payment costs on PostgreSQL, in processor time, log and transactions")
	flag.Parse()
	service.Ballast() // like the program at its start
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.work(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	repeats                                   int
	scale                                     float64
	only, postgres, folder, results, profiles string
	run                                       *run
	onlySizes, onlyCosts                      bool
}

var errMissed = errors.New("not every goal was reached")

func (o options) work(ctx context.Context) error {
	switch {
	case o.onlySizes:
		return o.sizes(ctx, os.Stdout)
	case o.onlyCosts:
		return o.costs(ctx, os.Stdout)
	}
	return o.measureAll(ctx)
}

func (o options) measureAll(ctx context.Context) (err error) {
	o.run = newRun(o)
	defer func() { err = errors.Join(err, o.run.place.close()) }()
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if o.repeats < 1 || o.scale <= 0 {
		return errors.New("-repeats and -scale have to be more than nothing")
	}
	var all []outcome
	for _, r := range rows() {
		if !only.MatchString(r.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", r.name)
		measured, err := o.measure(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(os.Stderr, measured.cells(), measured.result())
		all = append(all, measured)
	}
	if err := o.report(ctx, os.Stdout, all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(m outcome) bool { return !m.passed() }) {
		return errMissed
	}
	return nil
}

func rows() []row {
	return slices.Concat(creations(), groupings(), reads(), pages(), posts(), notices(), syncs(), starts(), growths(), changes(), lists(), distances(), traced())
}
