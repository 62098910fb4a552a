// Package berlingroup speaks with banks by the XS2A API of the Berlin Group
// (NextGenPSD2, version 1.3): one type for all banks, and a file for each.
//
// It owns the file of a bank, the transport with its certificates and
// signatures, and the words of the standard: bodies, statuses, error codes and
// the steps of an authorisation. It does not own what becomes of a payment, and
// keeps nothing between calls: what it needs for the next one goes back and
// forth as the order's memory.
//
// It fails as every connector does: a refusal is the bank's, connector.ErrNotSent
// means that not one byte of an order left, connector.ErrUnknownOrder that there
// is nothing by which the bank could be asked, and everything else leaves the
// outcome unknown. A bank file that is wrong is refused with Complaints.
package berlingroup

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"passerelle/connector"
)

// Kind is what a bank file calls the standard.
const Kind = "berlin-group"

// Bank is one bank of the standard.
type Bank struct {
	file     File
	profile  connector.Profile
	where    *places
	material material
	base     string
	client   client
	signer   *signer
	health   *connector.Circuit
	// now is real time, for certificates, signatures and health.
	now func() time.Time
}

// Load reads the file of a bank, and the certificates and keys that it names. The
// error joins all *Complaint that there are.
func Load(path string) (*Bank, error) {
	file, where, err := readFile(path)
	if err != nil {
		return nil, err
	}
	file.preset()
	if err := file.check(where); err != nil {
		return nil, err
	}
	material, err := file.load(where)
	if err != nil {
		return nil, err
	}
	return &Bank{
		file: file, profile: file.profile(), where: where, material: material, base: strings.TrimRight(file.Address.API, "/"),
		client: newClient(material), signer: newSigner(file.Signature, material), health: &connector.Circuit{}, now: time.Now,
	}, nil
}

// Continue takes over how the calls to the bank went from what was loaded of its file
// before.
func (b *Bank) Continue(former *Bank) { b.health = former.health }

// Path is the file that the bank was loaded from.
func (b *Bank) Path() string { return b.where.path }

// Profile says what the bank is, and whether it is disturbed. What it refers to is shared
// and not to be changed.
func (b *Bank) Profile() connector.Profile {
	p := b.profile
	p.Disturbed = b.health.Open()
	return p
}

// Complaints takes an error of Load apart.
func Complaints(err error) []*Complaint {
	var all []*Complaint
	var one *Complaint
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, part := range joined.Unwrap() {
			all = append(all, Complaints(part)...)
		}
		return all
	}
	if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}

// Setting is one field of a bank file with the value in force.
type Setting struct {
	// Name is the dotted name of the field.
	Name  string
	Value any
	// Preset is true where the file leaves the field out.
	Preset bool
}

// Settings lists the fields of the bank's file and their values, presets included, but
// not those that are left out and have none.
func (b *Bank) Settings() []Setting { return settings("", reflect.ValueOf(b.file), b.where) }

func settings(prefix string, table reflect.Value, where *places) []Setting {
	var all []Setting
	for i := range table.NumField() {
		name, value := prefix+table.Type().Field(i).Tag.Get("toml"), reflect.Indirect(table.Field(i))
		switch {
		case value.IsValid() && value.Kind() == reflect.Struct:
			all = append(all, settings(name+".", value, where)...)
		case value.IsValid() && !value.IsZero():
			_, supplied := where.at[name]
			all = append(all, Setting{name, value.Interface(), !supplied})
		}
	}
	return all
}

// Connector is the bank with the abilities that its file gives it.
func (b *Bank) Connector() connector.Connector {
	pays, reads := payer{b}, reader{b}
	cancels := pays.cancels()
	switch {
	case b.profile.Payments == nil:
		return reads
	case b.profile.Data == nil && cancels:
		return canceller{pays}
	case b.profile.Data == nil:
		return pays
	case cancels:
		return readingCanceller{canceller{pays}, reads}
	}
	return readingPayer{pays, reads}
}

// readingPayer and readingCanceller are banks that are read besides.
type (
	readingPayer struct {
		payer
		reader
	}
	readingCanceller struct {
		canceller
		reader
	}
)

// Health tells how the calls went lately.
func (r readingPayer) Health() connector.BankHealth { return r.payer.Health() }

// Health tells how the calls went lately.
func (r readingCanceller) Health() connector.BankHealth { return r.canceller.Health() }

// Profile says what the bank is.
func (r readingPayer) Profile() connector.Profile { return r.payer.Profile() }

// Profile says what the bank is.
func (r readingCanceller) Profile() connector.Profile { return r.canceller.Profile() }
