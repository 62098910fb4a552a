package berlingroup

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup/route"
	"passerelle/connector/berlingroup/signing"
	"passerelle/connector/berlingroup/tomlfile"
)

// Kind is the name of the standard in bank files.
const Kind = "berlin-group"

// Bank is one bank with an API of the standard.
type Bank struct {
	file     File
	profile  connector.Profile
	where    *tomlfile.Places
	material material
	base     string
	client   client
	signer   *signing.Signer
	health   *connector.Circuit
	// now returns the real time, which certificates, signatures and health need.
	now func() time.Time
	// limit is how long one exchange may take.
	limit time.Duration
	route *route.Route
}

// Load reads the file of a bank, and the certificates and keys that it names. The error joins
// *tomlfile.Complaint values.
func Load(path string) (*Bank, error) {
	var file File
	where, err := tomlfile.Read(path, &file)
	if where == nil {
		return nil, err
	}
	file.preset(where)
	if err := errors.Join(err, file.check(where)); err != nil {
		return nil, err
	}
	material, err := file.load(where)
	if err != nil {
		return nil, err
	}
	return &Bank{
		file: file, profile: file.profile(), where: where, material: material, base: strings.TrimRight(file.Address.API, "/"),
		client: newClient(material), signer: material.signer(file.Signature), health: &connector.Circuit{}, now: time.Now, limit: callTime,
		route: route.New(file.Address.API, file.Address.Own),
	}, nil
}

// Continue takes over the recorded health of a bank that was loaded from the same file earlier.
func (b *Bank) Continue(former *Bank) { b.health = former.health }

// Path returns the path of the file that the bank was loaded from.
func (b *Bank) Path() string { return b.where.Path }

// Complaint returns a complaint about a field of the bank's file.
func (b *Bank) Complaint(field, message string) error { return b.where.Complaint(field, message) }

// Profile describes the bank and reports in Disturbed whether calls to the bank are suspended
// because earlier calls failed. Callers must not change the shared maps and slices of the profile.
func (b *Bank) Profile() connector.Profile {
	p := b.profile
	p.Disturbed = b.health.Disturbed()
	return p
}

// Setting is one field of a bank file with its effective value.
type Setting struct {
	// Name is the dotted name of the field.
	Name  string
	Value any
	// Preset is true when the file omits the field.
	Preset bool
}

// Settings lists the non-zero fields of the bank's file. It also lists a number that the file sets
// to zero.
func (b *Bank) Settings() []Setting { return settings("", reflect.ValueOf(b.file), b.where) }

func settings(prefix string, table reflect.Value, where *tomlfile.Places) []Setting {
	var all []Setting
	for i := range table.NumField() {
		name, value := prefix+table.Type().Field(i).Tag.Get("toml"), reflect.Indirect(table.Field(i))
		switch {
		case value.IsValid() && value.Kind() == reflect.Struct:
			all = append(all, settings(name+".", value, where)...)
		case value.IsValid() && (!value.IsZero() || value.CanInt() && where.Has(name)):
			all = append(all, Setting{name, value.Interface(), !where.Has(name)})
		}
	}
	return all
}

// Connector returns the bank as a connector. The bank file determines which interfaces the
// connector implements.
func (b *Bank) Connector() connector.Connector {
	pays, reads := payer{b}, reader{b}
	switch payments, data := b.profile.Payments, b.profile.Data; {
	case payments == nil:
		return reads
	case data == nil && payments.Cancellable:
		return canceller{pays}
	case data == nil:
		return pays
	case payments.Cancellable:
		return readingCanceller{b, canceller{pays}, reads}
	}
	return readingPayer{b, pays, reads}
}

// readingPayer and readingCanceller are payment connectors that also read accounts. The methods that
// both parts have are those of the bank.
type (
	readingPayer struct {
		*Bank
		payer
		reader
	}
	readingCanceller struct {
		*Bank
		canceller
		reader
	}
)
