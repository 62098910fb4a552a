package berlingroup

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
	"passerelle/payment"
)

// euro is the currency of all payment products that the connector supports.
const euro passerelle.Currency = "EUR"

// These are the fields for the customer's user name at the bank, and for the customer's company.
const psuIDField, corporateIDField = "psu_id", "psu_corporate_id"

// oneLine is the pattern of values that requests contain in a header: a header cannot contain line
// breaks or other control characters.
const oneLine = `^[^\x00-\x1f\x7f]+$`

// These are the last numbers of versions 1.3.x. In each of these versions, the standard's OpenAPI
// files introduced an element that only some banks support.
const (
	sinceNotifications = 3 // the header TPP-Notification-URI
	sinceEncryption    = 3 // encryptedPassword
	sinceWithBalance   = 4 // availableAccountsWithBalance, in earlier versions a value of availableAccounts
	sinceMonths        = 5 // monthsOfExecution
	sinceConfirmation  = 6 // confirmationCode
	sinceDecoupled     = 9 // the header TPP-Decoupled-Preferred
)

// minor returns the last number of the version, or 0 for a version without it.
func (s *Standard) minor() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(s.Version, "1.3"), "."))
	return n
}

// identifications returns the fields with which a customer identifies themselves before the first
// call to the bank.
func (f *File) identifications(user bool) []payment.Field {
	var all []payment.Field
	if user {
		all = append(all, payment.Field{Name: psuIDField, Type: "text", Label: "User name at " + f.Name, Required: true, Regex: oneLine})
	}
	if f.Profile.CorporateID {
		all = append(all, payment.Field{Name: corporateIDField, Type: "text", Label: "Company identification at " + f.Name + ", if any", Regex: oneLine})
	}
	return all
}

// profile returns the profile of the connector that the file describes.
func (f *File) profile() connector.Profile {
	p := connector.Profile{
		UUID: f.UUID, ID: f.ID, Name: f.Name, Countries: f.Countries, Hidden: f.Hidden, Sandbox: f.Sandbox,
		Idempotent: f.Profile.Idempotent, KeyLife: time.Duration(f.Profile.IdempotentMinutes) * time.Minute,
		ApprovalLife: f.Profile.approvalLife(), ExecutesAtOnce: !f.Profile.Confirmation,
		Sources: []connector.Source{{ID: f.ID*10 + 1, Name: "openapi"}},
		Labels:  connector.Labels{Color: f.Color},
	}
	if f.Profile.Payments != nil {
		p.Payments = f.Profile.settings()
		p.Payments.Accounts = payment.AccountRanges{IBANs: f.IBANPrefix, BICs: f.BICs}
		p.PaymentFields = f.identifications(f.Profile.PSUID)
	}
	if f.Profile.Accounts != nil {
		p.Data = f.dataSettings()
		p.Sources[0].Mechanisms = []passerelle.AuthMechanism{f.mechanism()}
	}
	return p
}

// approvalLife returns how long an authorisation may take. Later, the bank accepts none.
func (p *Profile) approvalLife() time.Duration {
	return time.Duration(p.AuthorisationHours) * time.Hour
}

// pageLife returns how long the bank's page waits for the person.
func (p *Profile) pageLife() time.Duration { return time.Duration(p.RedirectSeconds) * time.Second }

// payers maps values in the bank file to the way in which the bank treats the payer's account.
var payers = map[string]payment.PayerAccount{
	"required": payment.PayerMandatory,
	"optional": payment.PayerOptional,
	"refused":  payment.PayerNotUsed,
}

// settings describes the payments that the bank accepts.
func (p *Profile) settings() *payment.Settings {
	pay := p.Payments
	s := &payment.Settings{
		Mechanisms:   []string{payment.DefaultMechanism},
		Schemes:      []passerelle.AccountScheme{passerelle.IBAN},
		DateTypes:    pay.dateTypes(1),
		Currencies:   []passerelle.Currency{euro},
		PayerAccount: payers[p.DebtorAccount],
		MinDays:      pay.MinDays, MaxDays: pay.MaxDays, OpenDaysOnly: pay.OpenDaysOnly,
		MaxInstructions: max(pay.MaxBulk, 1), BulkDateTypes: pay.dateTypes(2),
		Cancellable: pay.Cancellation != cancellations[0],
	}
	for _, f := range pay.Frequencies {
		s.Frequencies = append(s.Frequencies, payment.Frequency(f))
	}
	for _, dates := range s.DateTypes {
		if dates == payment.Periodic || codes.Rank(p.LastStatus) < codes.Rank(codes.Settled) {
			s.PartialTracking = append(s.PartialTracking, dates)
		}
	}
	s.Minimum, s.Maximum = bounds(s.DateTypes, pay.MinAmount), bounds(s.DateTypes, pay.MaxAmount)
	return s
}

// bounds returns the same limit for each type, or nil if there is no limit. The caller has already
// checked the text.
func bounds(types []payment.DateType, text string) map[payment.DateType]int64 {
	sum, err := passerelle.ParseMoney("", text, euro)
	if text == "" || err != nil {
		return nil
	}
	all := map[payment.DateType]int64{}
	for _, dates := range types {
		all[dates] = sum.Minor
	}
	return all
}

// dateTypes returns the date types for which the bank has a product for payments with this number of
// instructions.
func (p *Payments) dateTypes(lines int) []payment.DateType {
	return slices.DeleteFunc(payment.DateTypes(), func(dates payment.DateType) bool {
		_, product := p.way(dates, lines)
		return product == ""
	})
}

// These are the payment services of the standard.
const (
	singleService   = "payments"
	bulkService     = "bulk-payments"
	periodicService = "periodic-payments"
)

// way returns the standard's payment service and payment product for a payment with a date type and
// a number of instructions. The product is empty when the bank offers no such payment.
func (p *Payments) way(dates payment.DateType, lines int) (string, string) {
	service, offered := singleService, p.Single
	switch {
	case dates == payment.Periodic:
		service, offered = periodicService, p.Periodic
	case lines > 1:
		service, offered = bulkService, p.Bulk
	}
	if dates == payment.Periodic && lines > 1 || dates == payment.Deferred && !p.FutureDates {
		return service, ""
	}
	i := slices.IndexFunc(offered, func(one string) bool { return (one == instantTransfers) == (dates == payment.Instant) })
	if i < 0 {
		return service, ""
	}
	return service, offered[i]
}
