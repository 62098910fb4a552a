package berlingroup

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/connector/berlingroup/tomlfile"
	"passerelle/payment"
)

// These are the allowed values in the file, in the order in which complaints list them.
var (
	approaches      = []string{redirectSCA, oauthSCA, decoupledSCA, embeddedSCA}
	starts          = []string{"implicit", "explicit"}
	debtorAccounts  = []string{"required", "optional", "refused"}
	lastStatuses    = []string{"ACTC", "ACCP", "ACSP", "ACWC", "ACSC", "ACCC"}
	products        = []string{sepaTransfers, instantTransfers, "target-2-payments"}
	cancellations   = []string{"none", "direct", "sca"}
	consentKinds    = []string{"global", "detailed", "available-accounts", "all-psd2"}
	bookingStatuses = []string{"booked", "pending", "both", "information", "all"}
	reportFormats   = []string{"json", "camt", "mt940"}
	digests         = []string{"SHA-256", "SHA-512"}
	signable        = []string{"digest", "x-request-id", "psu-id", "psu-corporate-id", "date", "tpp-redirect-uri"}
)

// These are names of approaches and products.
const (
	redirectSCA  = "redirect"
	oauthSCA     = "oauth"
	decoupledSCA = "decoupled"
	embeddedSCA  = "embedded"

	sepaTransfers    = "sepa-credit-transfers"
	instantTransfers = "instant-sepa-credit-transfers"
)

// These are the formats of values in the file.
var (
	uuidForm    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	colorForm   = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)
	versionForm = regexp.MustCompile(`^1\.3(\.[0-9]{1,2})?$`)
	clientForm  = regexp.MustCompile(`^[!-~]{1,255}$`)
	keyForm     = regexp.MustCompile(`^([!#-~]([ !#-~]{0,498}[!#-~])?)?$`)
)

// These are the limits of numbers in the file. The number of a source is ten times the bank's
// number, plus 1, and JSON must represent it exactly.
const (
	maxBankID  = 1 << 49
	maxDays    = 3650
	mostCalls  = 1000
	maxLife    = 24 * 60 * 60
	maxHours   = 24 * 30
	maxConsent = 180
	maxName    = 200
	maxPort    = 1<<16 - 1
)

// rules collects the mistakes of a file.
type rules struct {
	where *tomlfile.Places
	wrong []error
}

// hold adds a complaint about a field unless the condition is true.
func (r *rules) hold(right bool, field, message string, args ...any) {
	if !right {
		r.wrong = append(r.wrong, r.where.Complaint(field, fmt.Sprintf(message, args...)))
	}
}

// among checks that a value is in a list or empty.
func (r *rules) among(field, word string, words []string) {
	r.hold(word == "" || slices.Contains(words, word), field, "%q is not one of %s", word, strings.Join(words, ", "))
}

// each checks that the elements of a list are allowed values and that no value is repeated.
func (r *rules) each(field string, list, words []string) {
	for i, word := range list {
		r.among(field, cmp.Or(word, " "), words)
		r.hold(!slices.Contains(list[:i], word), field, "has %q twice", word)
	}
}

// forms checks the form of each element.
func (r *rules) forms(field string, list []string, form *regexp.Regexp, right string) {
	for _, one := range list {
		r.hold(form.MatchString(one), field, "%q is not %s", one, right)
	}
}

// between checks that a number is within bounds.
func (r *rules) between(field string, number, least, most int) {
	r.hold(number >= least && number <= most, field, "is %d; must be from %d to %d", number, least, most)
}

// least returns the smallest valid value of a number: 1, or 0 when the file omits the field.
func (r *rules) least(field string) int {
	if r.where.Has(field) {
		return 1
	}
	return 0
}

// address checks that a text is an address of an API.
func (r *rules) address(field, text string) {
	u, err := url.Parse(text)
	right := err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
	r.hold(right, field, "must be an https address without user, query and fragment")
	if right && u.Port() != "" {
		port, err := strconv.Atoi(u.Port())
		r.hold(err == nil && port > 0 && port <= maxPort, field, "has the port %s; must be from 1 to %d", u.Port(), maxPort)
	}
}

// check checks a file after the defaults are set. It reads no other files and does not call the
// bank. The error joins all complaints.
func (f *File) check(where *tomlfile.Places) error {
	r := &rules{where: where}
	f.checkNames(r)
	f.checkPlaces(r)
	f.checkVersion(r)
	f.Profile.check(r, f.OAuth != nil)
	return errors.Join(r.wrong...)
}

func (f *File) checkNames(r *rules) {
	r.hold(uuidForm.MatchString(f.UUID), "uuid", "must be a UUID in lower case that never changes; uuidgen makes one")
	r.hold(f.ID > 0 && f.ID < maxBankID, "id", "must be a number from 1 to %d that no other connector has", int64(maxBankID)-1)
	r.hold(f.Name != "" && passerelle.CheckLine("name", f.Name, maxName) == nil, "name", "must be text of 1 to %d characters in one line", maxName)
	r.hold(len(f.Countries) > 0, "countries", "names no country")
	for i, code := range f.Countries {
		_, err := passerelle.ParseCountry("countries", code)
		r.hold(err == nil, "countries", "%q is not an ISO 3166-1 country code in capitals", code)
		r.hold(!slices.Contains(f.Countries[:i], code), "countries", "has %q twice", code)
	}
	r.hold(f.Color == "" || colorForm.MatchString(f.Color), "color", "must be six hexadecimal digits, without #")
	r.forms("bics", f.BICs, payment.BICForm, "a BIC of 8 or 11 capitals and digits")
	r.forms("iban_prefixes", f.IBANPrefix, payment.IBANPrefixForm, "the beginning of an IBAN, such as DE..50010517")
}

func (f *File) checkPlaces(r *rules) {
	r.hold(f.Standard.Kind == Kind, "standard.kind", "must be %s", Kind)
	r.hold(versionForm.MatchString(f.Standard.Version), "standard.version", "must be a version 1.3, such as 1.3.11")
	r.address("address.api", f.Address.API)
	own, err := netip.ParseAddr(f.Address.Own)
	r.hold(f.Address.Own == "" || err == nil && own.Zone() == "" && !own.IsUnspecified(), "address.own", "must be an IP address, such as 203.0.113.7")
	r.hold(f.TLS.Certificate != "", "tls.certificate", "names no file")
	r.hold((f.TLS.Key != "") != (len(f.TLS.Command) > 0), "tls", "needs either key or command")
	r.hold(f.Passwords == nil || f.Passwords.Certificate != "", "passwords.certificate", "names no file")
	if s := f.Signature; s != nil {
		r.hold(s.Certificate != "", "signature.certificate", "names no file")
		r.hold((s.Key != "") != (len(s.Command) > 0), "signature", "needs either key or command")
		r.among("signature.digest", s.Digest, digests)
		r.hold(keyForm.MatchString(s.KeyID), "signature.key_id", "must have at most 500 printable ASCII characters, without quotes and without blanks at the ends")
		r.each("signature.headers", s.Headers, signable)
		for _, name := range []string{"digest", "x-request-id"} {
			r.hold(slices.Contains(s.Headers, name), "signature.headers", "must have %s", name)
		}
	}
	if o := f.OAuth; o != nil {
		r.address("oauth.metadata", o.Metadata)
		r.hold(clientForm.MatchString(o.ClientID), "oauth.client_id", "must be our client id at the authorisation server")
	}
}

// checkVersion checks that the version of the standard contains the elements that the profile uses.
func (f *File) checkVersion(r *rules) {
	if !versionForm.MatchString(f.Standard.Version) {
		return // checkPlaces complains about the version
	}
	p, pay := &f.Profile, cmp.Or(f.Profile.Payments, &Payments{})
	for _, part := range []struct {
		used  bool
		since int
		field string
	}{
		{p.Notifications, sinceNotifications, "profile.notifications"},
		{f.Passwords != nil, sinceEncryption, "passwords"},
		{slices.Contains(pay.Frequencies, "four-monthly"), sinceMonths, "profile.payments.frequencies"},
		{p.Confirmation, sinceConfirmation, "profile.confirmation"},
	} {
		r.hold(!part.used || f.Standard.minor() >= part.since, part.field, "needs version 1.3.%d of the standard; the bank has %s", part.since, f.Standard.Version)
	}
}

func (p *Profile) check(r *rules, oauth bool) {
	r.hold(len(p.SCA) > 0, "profile.sca", "names no approach")
	r.each("profile.sca", p.SCA, approaches)
	r.hold(oauth || !slices.Contains(p.SCA, oauthSCA), "profile.sca", "the approach oauth needs the table oauth")
	r.among("profile.start", p.Start, starts)
	r.among("profile.debtor_account", p.DebtorAccount, debtorAccounts)
	r.among("profile.last_status", p.LastStatus, lastStatuses)
	r.hold(p.PSUIDType == "" || clientForm.MatchString(p.PSUIDType), "profile.psu_id_type", "must have at most 255 printable ASCII characters, without blanks")
	r.between("profile.redirect_seconds", p.RedirectSeconds, 1, maxLife)
	r.between("profile.authorisation_hours", p.AuthorisationHours, 1, maxHours)
	r.between("profile.calls_a_day", p.CallsADay, 0, mostCalls)
	r.between("profile.idempotent_minutes", p.IdempotentMinutes, 1, maxHours*60)
	r.hold(p.Idempotent || !r.where.Has("profile.idempotent_minutes"), "profile.idempotent_minutes", "needs idempotent = true")
	r.hold(p.Payments != nil || p.Accounts != nil, "profile", "has neither payments nor accounts")
	if p.Payments != nil {
		p.Payments.check(r)
	}
	if p.Accounts != nil {
		p.Accounts.check(r)
	}
}

func (p *Payments) check(r *rules) {
	const at = "profile.payments."
	frequencies := payment.Frequency("").Values()
	r.hold(len(p.Single) > 0, at+"single", "names no product")
	r.products(at+"single", p.Single)
	r.products(at+"bulk", p.Bulk)
	r.products(at+"periodic", p.Periodic)
	r.hold(!slices.Contains(p.Periodic, instantTransfers), at+"periodic", "periodic payments are not instant")
	r.each(at+"frequencies", p.Frequencies, frequencies)
	r.hold((len(p.Periodic) > 0) == (len(p.Frequencies) > 0), at+"frequencies", "needs periodic, and periodic needs frequencies")
	r.among(at+"cancellation", p.Cancellation, cancellations)
	r.hold(p.MaxBulk == 0 || len(p.Bulk) > 0, at+"max_bulk", "needs bulk")
	r.between(at+"max_bulk", p.MaxBulk, r.least(at+"max_bulk"), payment.MaxInstructions)
	r.between(at+"min_days", p.MinDays, 0, maxDays)
	r.between(at+"max_days", p.MaxDays, r.least(at+"max_days"), maxDays)
	r.hold(p.MaxDays <= 0 || p.MinDays <= p.MaxDays, at+"min_days", "is more than max_days")
	least := r.amount(at+"min_amount", p.MinAmount)
	most := r.amount(at+"max_amount", p.MaxAmount)
	r.hold(most == 0 || least <= most, at+"min_amount", "is more than max_amount")
}

// products checks a list of payment products. A request to the service cannot name a product. Of
// two products that are not instant, the service would therefore never use the second.
func (r *rules) products(field string, list []string) {
	r.each(field, list, products)
	others := slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == instantTransfers })
	r.hold(len(others) < 2, field, "has several products for the same payments: describe each further one in a file of its own, with another uuid, id and name")
}

// amount reads a limit and returns it in cents. Zero means no limit.
func (r *rules) amount(field, text string) int64 {
	if text == "" {
		return 0
	}
	sum, err := passerelle.ParseMoney(field, text, euro)
	r.hold(err == nil && sum.Minor > 0, field, "must be a sum in EUR, such as 15000.00")
	return sum.Minor
}

func (a *Accounts) check(r *rules) {
	const at = "profile.accounts."
	r.hold(len(a.Consents) > 0, at+"consents", "names no kind of consent")
	r.each(at+"consents", a.Consents, consentKinds)
	r.each(at+"booking_statuses", a.BookingStatuses, bookingStatuses)
	r.hold(len(a.reports(accountsPath)) > 0, at+"booking_statuses", "information selects standing orders and no transactions: add booked, both or all")
	r.hold(!slices.Contains(a.BookingStatuses, "pending") || len(a.BookingStatuses) > 1, at+"booking_statuses", "selects no booked transactions: add booked, both or all")
	r.each(at+"formats", a.Formats, reportFormats)
	r.hold(formats[a.formatOf(accountsPath)].groups || slices.ContainsFunc(a.BookingStatuses, func(status string) bool { return status != "pending" && status != "information" }), at+"formats",
		"%s contains only booked transactions: booking_statuses needs booked, both or all", a.Formats[0])
	r.between(at+"consent_days", a.ConsentDays, 1, maxConsent)
	r.between(at+"history_days", a.HistoryDays, 1, maxDays)
}

// presetNumber sets the default of a number that the file omits. A 0 in the file stays.
func presetNumber(where *tomlfile.Places, field string, number *int, preset int) {
	if *number == 0 && !where.Has(field) {
		*number = preset
	}
}

// preset sets the defaults of omitted fields.
func (f *File) preset(where *tomlfile.Places) {
	if s := f.Signature; s != nil {
		s.Digest = cmp.Or(s.Digest, digests[0])
		if len(s.Headers) == 0 {
			s.Headers = signable
		}
	}
	p := &f.Profile
	p.Start = cmp.Or(p.Start, starts[0])
	p.DebtorAccount = cmp.Or(p.DebtorAccount, "optional")
	presetNumber(where, "profile.redirect_seconds", &p.RedirectSeconds, 600)
	presetNumber(where, "profile.authorisation_hours", &p.AuthorisationHours, 24)
	presetNumber(where, "profile.calls_a_day", &p.CallsADay, 4)
	presetNumber(where, "profile.idempotent_minutes", &p.IdempotentMinutes, 60)
	p.LastStatus = cmp.Or(p.LastStatus, "ACSC")
	if pay := p.Payments; pay != nil {
		pay.Cancellation = cmp.Or(pay.Cancellation, cancellations[0])
		if len(pay.Bulk) > 0 {
			presetNumber(where, "profile.payments.max_bulk", &pay.MaxBulk, payment.MaxInstructions)
		}
	}
	if a := p.Accounts; a != nil {
		presetNumber(where, "profile.accounts.consent_days", &a.ConsentDays, maxConsent)
		presetNumber(where, "profile.accounts.history_days", &a.HistoryDays, 90)
		if len(a.BookingStatuses) == 0 {
			a.BookingStatuses = bookingStatuses[:1]
		}
		if len(a.Formats) == 0 {
			a.Formats = reportFormats[:1]
		}
	}
}
