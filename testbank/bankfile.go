package testbank

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// title returns the name of a bank, which contains the name of its profile.
func title(p bank.Profile) string { return "Example Bank (Berlin Group, " + p.Name + ")" }

// countries are the countries in which an application offers the banks, so that testers find them
// from anywhere. The accounts are German.
var countries = []string{"DE", "AT", "BE", "CH", "ES", "FR", "GB", "IE", "IT", "LU", "NL", "PT", "US"}

// firstID is one less than the numeric id of the first bank.
const firstID = 9100

// describe writes the file that describes a bank to the service.
func describe(data string, p bank.Profile, at addresses) (Opened, error) {
	opened := Opened{
		Name: p.Name, Title: title(p), API: at.api + "/" + p.Name, Pages: at.pages + "/" + p.Name,
		File: filepath.Join(data, banksFolder, p.Name+".toml"),
	}
	// Another program that reads the file at this moment must find either the old or the new file.
	temporary := opened.File + ".new"
	if err := os.WriteFile(temporary, []byte(bankFile(p, at)), 0o600); err != nil {
		return opened, fmt.Errorf("write a bank file: %w", err)
	}
	if err := os.Rename(temporary, opened.File); err != nil {
		return opened, fmt.Errorf("write a bank file: %w", err)
	}
	return opened, nil
}

// file builds a TOML document line by line.
type file struct{ strings.Builder }

func (f *file) table(name string) { fmt.Fprintf(f, "\n[%s]\n", name) }

func (f *file) set(name string, value any) {
	switch v := value.(type) {
	case string:
		fmt.Fprintf(f, "%s = %s\n", name, strconv.Quote(v))
	case []string:
		var quoted []string
		for _, one := range v {
			quoted = append(quoted, strconv.Quote(one))
		}
		fmt.Fprintf(f, "%s = [%s]\n", name, strings.Join(quoted, ", "))
	default:
		fmt.Fprintf(f, "%s = %v\n", name, v)
	}
}

func bankFile(p bank.Profile, at addresses) string {
	f := &file{}
	f.WriteString("# " + p.Shows + "\n")
	f.set("uuid", uuid(p.Name))
	f.set("id", firstID+p.Number())
	f.set("name", title(p))
	f.set("countries", countries)
	f.set("color", "0b57d0")
	f.set("bics", []string{p.BIC()})
	f.set("iban_prefixes", []string{"DE.." + p.BankCode()})
	f.set("sandbox", true)
	f.table("standard")
	f.set("kind", "berlin-group")
	f.set("version", fmt.Sprintf("1.3.%d", p.Minor))
	f.table("address")
	f.set("api", at.api+"/"+p.Name)
	f.table("tls")
	f.set("certificate", certificate(eidas.QWACFile+".pem"))
	f.set("key", certificate(eidas.QWACFile+".key"))
	f.set("authorities", certificate(eidas.AuthorityFile+".pem"))
	if p.Signed {
		f.table("signature")
		f.set("certificate", certificate(eidas.QSealCFile+".pem"))
		f.set("key", certificate(eidas.QSealCFile+".key"))
		f.set("digest", "SHA-256")
		f.set("headers", []string{"digest", "x-request-id", "psu-id", "tpp-redirect-uri", "date"})
	}
	if p.EncryptsPasswords {
		f.table("passwords")
		f.set("certificate", certificate(eidas.PasswordsFile+".pem"))
	}
	if slices.Contains(p.SCA, bank.OAuth) {
		f.table("oauth")
		f.set("metadata", at.api+metadataPath+"/"+p.Name)
		f.set("client_id", eidas.TestOrganization)
	}
	f.profile(p)
	return f.String()
}

// certificate returns the path of a certificate file relative to the bank's file.
func certificate(name string) string { return "../" + certsFolder + "/" + name }

func (f *file) profile(p bank.Profile) {
	f.table("profile")
	var approaches []string
	for _, a := range p.SCA {
		approaches = append(approaches, string(a))
	}
	start := "implicit"
	if p.Explicit {
		start = "explicit"
	}
	f.set("sca", approaches)
	f.set("start", start)
	f.set("confirmation", p.Confirmation)
	f.set("debtor_account", p.DebtorAccount)
	f.set("redirect_seconds", int(p.LinkLife.Seconds()))
	f.set("authorisation_hours", int(p.Life.Hours()))
	f.set("calls_a_day", p.CallsADay)
	f.set("psu_id", p.WantsPSU)
	f.set("psu_corporate_id", p.CorporateID)
	f.set("last_status", p.LastStatus)
	f.set("idempotent", p.Idempotent)
	f.payments(p)
	f.accounts(p)
}

// frequencies maps the frequencies of the standard to the frequencies of bank files.
var frequencies = map[string]string{
	"Daily": "daily", "Weekly": "weekly", "EveryTwoWeeks": "two-weekly", "Monthly": "monthly", "EveryTwoMonths": "two-monthly",
	"Quarterly": "quarterly", "SemiAnnual": "semiannually", "Annual": "yearly", "MonthlyVariable": "four-monthly",
}

func (f *file) payments(p bank.Profile) {
	f.table("profile.payments")
	services := []struct{ name, service string }{{"single", bank.Single}, {"bulk", bank.Bulk}, {"periodic", bank.Periodic}}
	for _, s := range services {
		products := slices.Clone(p.Products[s.service])
		if slices.Contains(products, bank.SEPA) { // a file has one product besides the instant one
			products = slices.DeleteFunc(products, func(product string) bool { return product == bank.Target2 })
		}
		f.set(s.name, products)
	}
	var often []string
	for _, frequency := range p.Frequencies {
		often = append(often, frequencies[frequency])
	}
	f.set("future_dates", p.FutureDates)
	if len(p.Products[bank.Periodic]) > 0 {
		f.set("frequencies", often)
	}
	f.set("min_amount", bank.Decimal(p.Min))
	f.set("max_amount", bank.Decimal(p.Max))
	if len(p.Products[bank.Bulk]) > 0 {
		f.set("max_bulk", p.MaxBulk)
	}
	f.set("max_days", p.MaxDays)
	f.set("cancellation", p.Cancellation)
}

func (f *file) accounts(p bank.Profile) {
	f.table("profile.accounts")
	f.set("consents", p.Consents)
	f.set("booking_statuses", p.BookingStatuses)
	if len(p.Formats) > 0 {
		f.set("formats", append([]string{"json"}, p.Formats...))
	}
	f.set("consent_days", p.ConsentDays)
	f.set("history_days", p.HistoryDays)
	f.set("delta_list", p.DeltaList)
	f.set("entry_reference", p.EntryReference)
	f.set("card_accounts", p.CardAccounts)
	f.set("transaction_ids", p.TransactionIDs)
}

// uuid returns a name-based UUID (RFC 9562, version 5) for a bank. It never changes.
func uuid(name string) string {
	sum := sha1.Sum([]byte("passerelle testbank " + name))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
