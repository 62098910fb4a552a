package database

import (
	"errors"
	"testing"
)

func TestTransport(t *testing.T) {
	for _, test := range []struct {
		url, host, mode string // host and mode are the values of PGHOST and PGSSLMODE
		want            error
	}{
		{"sqlite:bank.db", "db.example", "", nil},
		{"postgres://u@127.0.0.1/bank", "", "", nil},
		{"postgres://u@[::1]/bank", "", "", nil},
		{"postgres://u@localhost/bank?sslmode=disable", "", "", nil},
		{"postgres:///bank?host=/run/postgresql", "", "", nil},
		{"postgres:///bank?host=/run/postgresql,127.0.0.1", "", "", nil},
		{"postgres://u@db.example/bank?sslmode=require", "", "", nil},
		{"postgres://u@db.example/bank?sslmode=verify-full", "", "", nil},
		{"postgres://u@db.example/bank", "", "verify-full", nil},
		{"postgresql://u@db.example/bank", "", "", ErrOpenTransport},
		{"postgres://u@db.example/bank?sslmode=prefer", "", "", ErrOpenTransport},
		{"postgres://u@db.example/bank?sslmode=allow", "", "", ErrOpenTransport},
		{"postgres://u@db.example/bank?sslmode=disable", "", "", ErrOpenTransport},
		{"postgres://u@localhost.example/bank", "", "", ErrOpenTransport},
		{"postgres:///bank?host=db.example", "", "", ErrOpenTransport},
		{"postgres:///bank?host=/tmp,192.0.2.1", "", "", ErrOpenTransport},
		{"postgres://u@127.0.0.1,db.example/bank", "", "", ErrOpenTransport},
		{"postgres:///bank", "192.0.2.1", "", ErrOpenTransport},
		{"postgres:///bank", "/run/postgresql", "", nil},
		{"postgres://u@127.0.0.1:port/bank", "", "", errPostgresAddress},
	} {
		t.Run(test.url+" "+test.host, func(t *testing.T) {
			t.Setenv("PGHOST", test.host)
			t.Setenv("PGSSLMODE", test.mode)
			if err := CheckTransport(test.url); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
