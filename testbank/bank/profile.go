package bank

import (
	"slices"
	"time"
)

// Approach is a way in which a customer authorises.
type Approach string

// These are the SCA approaches of the standard. OAuth is a variant of the redirect approach.
const (
	Redirect  Approach = "redirect"
	OAuth     Approach = "oauth"
	Decoupled Approach = "decoupled"
	Embedded  Approach = "embedded"
)

// These are the payment services of the standard.
const (
	Single   = "payments"
	Bulk     = "bulk-payments"
	Periodic = "periodic-payments"
)

// These are the payment products of the standard that the bank supports.
const (
	SEPA    = "sepa-credit-transfers"
	Instant = "instant-sepa-credit-transfers"
	Target2 = "target-2-payments"
)

// These values say whether the third party must, may or must not name the debtor's account.
const (
	Optional = "optional"
	Required = "required"
	Refused  = "refused"
)

// These are the ways in which an authorised order is cancelled.
const (
	NoCancellation     = "none"
	DirectCancellation = "direct"
	SCACancellation    = "sca"
)

// Profile holds the features in which banks differ.
type Profile struct {
	// Name is the bank's name in paths and in file names.
	Name string
	// Shows is a sentence that describes the purpose of the bank.
	Shows string

	SCA          []Approach
	Explicit     bool
	Confirmation bool
	// Codes is the number of codes that the embedded approach requires.
	Codes int
	// Signatories is the number of customers who must authorise.
	Signatories   int
	DebtorAccount string
	LinkLife      time.Duration
	Life          time.Duration
	CallsADay     int
	WantsPSU      bool
	// CorporateID means that third parties must name the company for which a customer acts.
	CorporateID bool
	// TwoPasswords means that third parties must send two passwords. EncryptsPasswords means that
	// they must encrypt passwords.
	TwoPasswords, EncryptsPasswords bool
	// LastStatus is the last status that the bank reports for a successful order. With ACSC, the
	// bank also reports ACCC.
	LastStatus string
	Minor      int
	Signed     bool
	// Problems means that errors have the form of RFC 7807.
	Problems   bool
	Idempotent bool

	Products     map[string][]string
	FutureDates  bool
	Frequencies  []string
	Min, Max     int64
	MaxBulk      int
	MaxDays      int
	Cancellation string

	Consents        []string
	BookingStatuses []string
	ConsentDays     int
	HistoryDays     int
	DeltaList       bool
	EntryReference  bool
	Download        bool
	// Formats are the formats of reports besides JSON: camt and mt940. A download has the first of
	// these formats that the caller accepts, or JSON.
	Formats        []string
	CardAccounts   bool
	TransactionIDs bool
	// Rewords means that a transaction gets a different text and value date when it is booked.
	Rewords bool
	// ByOffset means that a page begins after a number of entries, counted when the page is
	// requested. An entry that is booked between two pages moves all others, so one entry appears
	// on both pages.
	ByOffset bool
	PageSize int
}

// These are the kinds of consents that a profile may list.
const (
	Global    = "global"
	Detailed  = "detailed"
	Available = "available-accounts"
	AllPSD2   = "all-psd2"
)

// usual returns a profile with the redirect approach and most features of the standard. The
// function change modifies the profile.
func usual(name, shows string, change func(*Profile)) Profile {
	p := Profile{
		Name: name, Shows: shows,
		SCA: []Approach{Redirect}, Codes: 1, Signatories: 1, DebtorAccount: Optional,
		LinkLife: 10 * time.Minute, Life: 24 * time.Hour, CallsADay: 4, LastStatus: "ACSC", Minor: 11,
		Products:    map[string][]string{Single: {SEPA, Instant, Target2}, Bulk: {SEPA, Instant}, Periodic: {SEPA}},
		FutureDates: true,
		Frequencies: []string{"Daily", "Weekly", "EveryTwoWeeks", "Monthly", "EveryTwoMonths", "Quarterly", "SemiAnnual", "Annual", "MonthlyVariable"},
		Min:         1, Max: 1_500_000, MaxBulk: 50, MaxDays: 365, Cancellation: SCACancellation,
		Consents:        []string{Global, Detailed, Available, AllPSD2},
		BookingStatuses: []string{"booked", "pending", "both"},
		ConsentDays:     180, HistoryDays: 730, DeltaList: true, EntryReference: true, CardAccounts: true, TransactionIDs: true, PageSize: 100,
	}
	change(&p)
	return p
}

// Profiles lists all banks. A bank's number is its position, so a new bank must come last.
func Profiles() []Profile {
	return []Profile{
		usual("redirect", "Redirect to the bank's page. The order itself starts the authorisation.", func(*Profile) {}),
		usual("redirect-explicit", "Redirect to the bank's page. The third party starts the authorisation.", func(p *Profile) { p.Explicit = true }),
		usual("oauth", "Redirect with OAuth 2.0 and PKCE. Calls with a consent or for an approved order need the token.", func(p *Profile) { p.SCA = []Approach{OAuth} }),
		usual("decoupled", "The customer approves in the bank's app.", func(p *Profile) { p.SCA = []Approach{Decoupled} }),
		usual("embedded", "Password, choice of a method, and one code, all entered at the third party.", func(p *Profile) { p.SCA = []Approach{Embedded} }),
		usual("embedded-3", "As embedded, with three codes, the second with an image.", func(p *Profile) {
			p.SCA, p.Codes = []Approach{Embedded}, 3
		}),
		usual("confirmation", "Redirect to the bank's page. The third party confirms with the code that came back.", func(p *Profile) { p.Confirmation = true }),
		usual("multilevel", "Two customers, Anna and Bert, must authorise.", func(p *Profile) { p.Signatories, p.Explicit = 2, true }),
		usual("signed", "Requests are signed with a QSealC. Errors follow RFC 7807.", func(p *Profile) { p.Signed, p.Problems = true, true }),
		usual("old", "An older minor version: no transaction ids, ACSP is the last status, few features.", func(p *Profile) {
			p.Minor, p.LastStatus, p.TransactionIDs, p.DeltaList, p.EntryReference, p.CardAccounts = 3, "ACSP", false, false, false, false
			p.BookingStatuses, p.Cancellation, p.FutureDates, p.DebtorAccount = []string{"booked"}, NoCancellation, false, Required
			p.Consents = []string{Detailed, AllPSD2}
			p.Products = map[string][]string{Single: {SEPA}}
		}),
		usual("idempotent", "A repeated X-Request-ID means the same order. Direct cancellation. Downloads.", func(p *Profile) {
			p.Idempotent, p.Cancellation, p.Download = true, DirectCancellation, true
		}),
		usual("all", "All approaches: redirect by default, decoupled and embedded on request.", func(p *Profile) {
			p.SCA = []Approach{Redirect, Decoupled, Embedded}
		}),
		usual("rewording", "No transaction ids. Texts and value dates change when a transaction is booked.", func(p *Profile) {
			p.TransactionIDs, p.DeltaList, p.EntryReference, p.Rewords = false, false, false, true
		}),
		usual("passwords", "As embedded, with two passwords, both encrypted.", func(p *Profile) {
			p.SCA, p.TwoPasswords, p.EncryptsPasswords = []Approach{Embedded}, true, true
		}),
		usual("statements", "Transaction lists as camt.053 and MT940 on request. Downloads as camt.053.", func(p *Profile) {
			p.Download, p.Formats = true, []string{"camt", "mt940"}
		}),
		usual("company", "The order names the customer and their company, but no account. ACTC is the last status. Links live 5 minutes.", func(p *Profile) {
			p.WantsPSU, p.CorporateID, p.DebtorAccount, p.LastStatus, p.LinkLife, p.Cancellation = true, true, Refused, "ACTC", 5*time.Minute, NoCancellation
		}),
		usual("delta", "Delta lists without entry references. Booked and pending transactions in separate lists. Two calls a day.", func(p *Profile) {
			p.EntryReference, p.BookingStatuses, p.CallsADay = false, []string{"booked", "pending"}, 2
		}),
		usual("oauth-confirmation", "As oauth. The third party confirms with the token, and without a code.", func(p *Profile) {
			p.SCA, p.Confirmation = []Approach{OAuth}, true
		}),
		usual("urgent", "Urgent payments by TARGET, and instant ones. No others.", func(p *Profile) {
			p.Products = map[string][]string{Single: {Target2, Instant}}
			p.FutureDates, p.Cancellation = false, NoCancellation
		}),
		usual("shifting", "No transaction ids. Pages of transactions are counted by offset, and shift when an entry is booked.", func(p *Profile) {
			p.TransactionIDs, p.DeltaList, p.EntryReference, p.ByOffset = false, false, false, true
		}),
	}
}

// ProfileNamed finds a profile.
func ProfileNamed(name string) (Profile, bool) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}

// Number returns the position of a profile in Profiles, from 1.
func (p Profile) Number() int {
	return 1 + slices.IndexFunc(Profiles(), func(other Profile) bool { return other.Name == p.Name })
}

// Approach chooses one of the bank's approaches according to the preferences of the third party.
func (p Profile) Approach(prefers Preferences) Approach {
	has := func(a Approach) bool { return slices.Contains(p.SCA, a) }
	switch {
	case prefers.Decoupled && has(Decoupled):
		return Decoupled
	case prefers.NoRedirect && has(Embedded):
		return Embedded
	case prefers.NoRedirect && has(Decoupled):
		return Decoupled
	}
	return p.SCA[0]
}
