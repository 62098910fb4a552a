package wire

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"passerelle"
)

// Transaction is a transaction of an account. Its datetime members are in UTC. Its other instants
// are in the domain's time zone.
type Transaction struct {
	ID                 int64                      `json:"id"`
	IDAccount          int64                      `json:"id_account"`
	ApplicationDate    *string                    `json:"application_date" doc:"day that the user assigns the transaction to"`
	Date               *string                    `json:"date"`
	Datetime           *string                    `json:"datetime" doc:"in UTC"`
	VDate              *string                    `json:"vdate" doc:"value date"`
	VDatetime          *string                    `json:"vdatetime" doc:"in UTC"`
	RDate              *string                    `json:"rdate" doc:"day of the transaction"`
	RDatetime          *string                    `json:"rdatetime" doc:"in UTC"`
	BDate              *string                    `json:"bdate" doc:"booking day"`
	BDatetime          *string                    `json:"bdatetime" doc:"in UTC"`
	Value              *json.Number               `json:"value"`
	GrossValue         *json.Number               `json:"gross_value"`
	FormattedValue     *string                    `json:"formatted_value"`
	Type               passerelle.TransactionType `json:"type"`
	Nature             passerelle.TransactionType `json:"nature" doc:"deprecated, same as type"`
	OriginalWording    string                     `json:"original_wording"`
	SimplifiedWording  string                     `json:"simplified_wording"`
	StemmedWording     string                     `json:"stemmed_wording" doc:"wording in capitals, without accents"`
	Wording            string                     `json:"wording"`
	Categories         []Category                 `json:"categories" expand:"true"`
	IDCategory         int64                      `json:"id_category" doc:"deprecated, see categories"`
	DateScraped        string                     `json:"date_scraped"`
	Coming             bool                       `json:"coming"`
	Active             bool                       `json:"active"`
	State              string                     `json:"state" doc:"always parsed"`
	IDCluster          *int64                     `json:"id_cluster"`
	Comment            *string                    `json:"comment"`
	LastUpdate         string                     `json:"last_update"`
	Deleted            *string                    `json:"deleted"`
	OriginalValue      *json.Number               `json:"original_value"`
	OriginalGrossValue *json.Number               `json:"original_gross_value"`
	OriginalCurrency   *Currency                  `json:"original_currency"`
	Commission         *json.Number               `json:"commission"`
	CommissionCurrency *Currency                  `json:"commission_currency"`
	Country            *string                    `json:"country"`
	Card               string                     `json:"card"`
	WebID              string                     `json:"webid"`
	DocumentsCount     int                        `json:"documents_count" doc:"number of documents that the user attached"`
	Information        map[string]string          `json:"informations" expand:"true" doc:"values that the application stored; empty without expand"`
	Counterparty       *Counterparty              `json:"counterparty"`
	Origin             *Origin                    `json:"origin,omitempty" doc:"position in the statement file that the transaction came from, if any"`
	Account            *BankAccount               `json:"account,omitempty" expand:"true" doc:"with expand"`
	Documents          *[]Document                `json:"documents,omitempty" expand:"true" doc:"with expand"`
	Attachments        *[]Attachment              `json:"attachments,omitempty" expand:"true" doc:"with expand"`
	Category           *CategoryDetails           `json:"category,omitempty" expand:"true" doc:"the first of categories, with expand"`
}

// Origin is the place of a transaction in a statement file.
type Origin struct {
	File *string `json:"file" doc:"name of the file"`
	Line int     `json:"line" doc:"line number, from 1"`
}

// Category is a category of a transaction.
type Category struct {
	Code       string  `json:"code"`
	ParentCode *string `json:"parent_code"`
}

// Counterparty is the other party of a transaction.
type Counterparty struct {
	Label                 *string `json:"label"`
	AccountSchemeName     *string `json:"account_scheme_name"`
	AccountIdentification *string `json:"account_identification"`
	Type                  *string `json:"type" doc:"creditor or debtor"`
}

// NewTransaction renders a transaction of an account with the currency c. A category of the form
// parent.code becomes a code and a parent code.
func NewTransaction(t passerelle.Transaction, c passerelle.Currency, zone *time.Location) Transaction {
	value, simplified := t.Value, cmp.Or(t.SimplifiedWording, t.TransactionDetails.Wording)
	return Transaction{
		ID: int64(t.ID), IDAccount: int64(t.Account), ApplicationDate: date(t.ApplicationDate), Date: date(t.Date), Datetime: Moment(t.DateTime, time.UTC),
		VDate: date(t.VDate), VDatetime: Moment(t.VDateTime, time.UTC), RDate: date(t.RDate), RDatetime: Moment(t.RDateTime, time.UTC),
		BDate: date(t.BDate), BDatetime: Moment(t.BDateTime, time.UTC), Value: Amount(&value), GrossValue: Amount(t.GrossValue), FormattedValue: formatted(&value, c),
		Type: t.Type, Nature: t.Type, OriginalWording: t.TransactionDetails.Wording, SimplifiedWording: simplified, Wording: cmp.Or(t.CustomWording, simplified),
		StemmedWording: stemmed(t.TransactionDetails.Wording), Categories: categories(t.Categories), IDCategory: int64(passerelle.CategoryNumber(t.Categories)),
		DateScraped: passerelle.FormatDateTime(t.Scraped, zone), Coming: t.Coming, Active: t.Active, State: "parsed", IDCluster: optional(t.Cluster), Comment: optional(t.Comment),
		LastUpdate: passerelle.FormatDateTime(t.LastUpdate, zone), Deleted: Moment(t.Deleted, zone), OriginalValue: Amount(t.OriginalValue),
		OriginalGrossValue: Amount(t.OriginalGrossValue), OriginalCurrency: currency(t.OriginalCurrency), Commission: Amount(t.Commission),
		CommissionCurrency: currency(t.CommissionCurrency), Country: optional(t.Country), Card: t.Card, WebID: t.Key, Information: map[string]string{},
		DocumentsCount: t.Documents, Counterparty: counterparty(t.Counterparty), Origin: origin(t.Origin),
	}
}

func origin(o *passerelle.Origin) *Origin {
	if o == nil {
		return nil
	}
	return &Origin{File: optional(o.File), Line: o.Line}
}

func categories(codes []string) []Category {
	out := []Category{}
	for _, code := range codes {
		parent, own, nested := strings.Cut(code, ".")
		if !nested {
			parent, own = "", code
		}
		out = append(out, Category{Code: own, ParentCode: optional(parent)})
	}
	return out
}

func counterparty(p *passerelle.Counterparty) *Counterparty {
	if p == nil {
		return nil
	}
	return &Counterparty{
		Label: optional(p.Label), AccountSchemeName: optional(p.Scheme), AccountIdentification: optional(p.Identification), Type: optional(p.Type),
	}
}

func currency(c passerelle.Currency) *Currency {
	if c == "" {
		return nil
	}
	out := NewCurrency(c)
	return &out
}

// stemmed returns a label in capitals and without accents, for comparisons. The transformers use 12
// KiB for each text, and labels in ASCII do not need them.
func stemmed(label string) string {
	if !strings.ContainsFunc(label, func(r rune) bool { return r > unicode.MaxASCII }) {
		return strings.ToUpper(label)
	}
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), label)
	if err != nil {
		plain = label
	}
	return strings.ToUpper(plain)
}
