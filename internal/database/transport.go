package database

import (
	"errors"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrOpenTransport reports that a connection to the database would cross a
// network without TLS.
var ErrOpenTransport = errors.New("the connection to the database would cross a network without TLS")

// CheckTransport fails with ErrOpenTransport unless the database is on this machine or every
// connection to its servers uses TLS. It takes an address for [Open], and also reads the
// environment and the files that libpq reads.
func CheckTransport(url string) error {
	if !isPostgres(url) {
		return nil
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return errPostgresAddress
	}
	safe := onThisMachine(config.Host) || config.TLSConfig != nil
	for _, other := range config.Fallbacks {
		safe = safe && (onThisMachine(other.Host) || other.TLSConfig != nil)
	}
	if !safe {
		return ErrOpenTransport
	}
	return nil
}

// onThisMachine recognises the name and the addresses of the loopback interface, and the folders of
// sockets.
func onThisMachine(host string) bool {
	network, _ := pgconn.NetworkAddress(host, 0)
	ip := net.ParseIP(host)
	return network == "unix" || host == "localhost" || ip != nil && ip.IsLoopback()
}
