package database

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// These variables group the parameters of an address. The programs of PostgreSQL handle each group
// differently. ForPrograms itself handles database, options and sslpassword. Every other parameter
// is a setting of the session.
var (
	// commonParameters lists the parameters that the programs also accept in an address.
	commonParameters = []string{
		"application_name", "channel_binding", "connect_timeout", "dbname", "host", "krbsrvname", "passfile", "port", "service", "ssl", "sslcert", "sslkey",
		"sslmode", "sslrootcert", "sslsni", "target_session_attrs", "user",
	}
	// driverParameters lists the parameters that only the driver of the service understands.
	driverParameters = []string{
		"default_query_exec_mode", "description_cache_capacity", "krbspn", "pool_health_check_period", "pool_max_conn_idle_time", "pool_max_conn_lifetime",
		"pool_max_conn_lifetime_jitter", "pool_max_conns", "pool_min_conns", "pool_min_idle_conns", "pool_ping_timeout", "statement_cache_capacity",
	}
	// variableParameters maps the parameters that the programs get in the environment to their
	// variables. Other users could read the password in an argument. Older programs refuse the
	// other parameters of this map in an address.
	variableParameters = map[string]string{
		"max_protocol_version": "PGMAXPROTOCOLVERSION", "min_protocol_version": "PGMINPROTOCOLVERSION", "password": "PGPASSWORD", "require_auth": "PGREQUIREAUTH",
		"servicefile": "PGSERVICEFILE", "sslcertmode": "PGSSLCERTMODE", "sslnegotiation": "PGSSLNEGOTIATION",
	}
)

// ProgramAddress is an address for the programs of PostgreSQL, such as pg_dump. The programs then
// reach the same database as the service, with the same settings of the session.
type ProgramAddress struct {
	// URL contains no password.
	URL string
	// Environment lists the variables to add to the environment.
	Environment []string
	// KeyPassword decrypts the private key of the client, or is empty. The programs have no variable
	// for it: they read it as sslpassword from a service file.
	KeyPassword string
}

// ForPrograms converts an address for [Open]. It fails when the address is not a URL.
// It also fails when the address has both parameters service and sslpassword, because the programs
// get sslpassword from a service file, and can read only one service.
func ForPrograms(address string) (ProgramAddress, error) {
	at, err := parsePostgres(address)
	if err != nil {
		return ProgramAddress{}, err
	}
	var to ProgramAddress
	if password, set := at.User.Password(); set {
		at.User = url.User(at.User.Username())
		to.Environment = append(to.Environment, "PGPASSWORD="+password)
	}
	query, kept := at.Query(), url.Values{}
	settings := query.Get("options")
	query.Del("options")
	to.KeyPassword = query.Get("sslpassword")
	query.Del("sslpassword")
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(name)
		switch {
		case slices.Contains(driverParameters, name):
		case name == "database":
			kept.Set("dbname", value)
		case slices.Contains(commonParameters, name):
			kept.Set(name, value)
		case variableParameters[name] != "":
			to.Environment = append(to.Environment, variableParameters[name]+"="+value)
		default:
			settings += " -c " + name + "=" + escapeSetting.Replace(value)
		}
	}
	if to.KeyPassword != "" && kept.Has("service") {
		return ProgramAddress{}, errTwoServices
	}
	at.RawQuery = strings.ReplaceAll(kept.Encode(), "+", "%20") // the programs do not read + as a space
	to.URL = at.String()
	if settings != "" {
		to.Environment = append(to.Environment, "PGOPTIONS="+strings.TrimSpace(settings))
	}
	return to, nil
}

func parsePostgres(address string) (*url.URL, error) {
	at, err := url.Parse(address)
	if err != nil || !isPostgres(address) {
		return nil, errPostgresAddress
	}
	return at, nil
}

var errTwoServices = errors.New("has the parameters service and sslpassword: write sslpassword into the file of the service instead")

// escapeSetting escapes a value in the variable PGOPTIONS.
var escapeSetting = strings.NewReplacer(`\`, `\\`, " ", `\ `)
