package xs2a

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
	"passerelle/testbank/ledger"
)

// family holds the differences between payment accounts and card accounts.
type family struct {
	kind, path, list, one string
}

var families = []family{
	{ledger.Cash, "/v1/accounts", "accounts", "account"},
	{ledger.Card, "/v1/card-accounts", "cardAccounts", "cardAccount"},
}

func accountRoutes() []route {
	all := []route{
		{"POST /v1/consents", eidas.AccountInformation, createConsent},
		{"GET /v1/consents/{consentId}", eidas.AccountInformation, showConsent},
		{"GET /v1/consents/{consentId}/status", eidas.AccountInformation, consentStatus},
		{"DELETE /v1/consents/{consentId}", eidas.AccountInformation, deleteConsent},
		{"GET /v1/accounts/{account}/transactions/{transaction}", eidas.AccountInformation, families[0].transaction},
	}
	for _, f := range families {
		all = append(all, []route{
			{"GET " + f.path, eidas.AccountInformation, f.accounts},
			{"GET " + f.path + "/{account}", eidas.AccountInformation, f.account},
			{"GET " + f.path + "/{account}/balances", eidas.AccountInformation, f.balances},
			{"GET " + f.path + "/{account}/transactions", eidas.AccountInformation, f.transactions},
			{"GET " + f.path + "/{account}/download", eidas.AccountInformation, f.downloaded},
		}...)
	}
	return all
}

// reading converts a request for account data to a bank.Reading. A bank with OAuth also requires
// the token of the consent.
func (f family) reading(a *API, r *request, call string) (bank.Reading, error) {
	reading := bank.Reading{Caller: r.caller, Consent: r.Header.Get("Consent-ID"), Call: f.list + call, Kind: f.kind, Account: r.PathValue("account")}
	if a.Bank.Profile.SCA[0] != bank.OAuth {
		return reading, nil
	}
	return reading, a.checkToken(r, "AIS:"+reading.Consent)
}

// checkToken checks that a request has a token for the scope.
func (a *API) checkToken(r *request, scope string) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return bank.Refuse("TOKEN_UNKNOWN", "Authorization", "the bank requires the token for "+scope)
	}
	return a.Bank.CheckToken(r.Context(), r.caller.Party, token, scope)
}

func (f family) accounts(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, "")
	if err != nil {
		return answer{}, err
	}
	visible, err := a.Bank.List(r.Context(), reading)
	if err != nil {
		return answer{}, err
	}
	list := []map[string]any{}
	for _, v := range visible {
		list = append(list, f.details(a, r, v))
	}
	return answer{status: http.StatusOK, body: map[string]any{f.list: list}}, nil
}

func (f family) account(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, " account")
	if err != nil {
		return answer{}, err
	}
	v, err := a.Bank.One(r.Context(), reading, func(bank.Visible) bool { return true })
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: map[string]any{f.one: f.details(a, r, v)}}, nil
}

func (f family) balances(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, " balances")
	if err != nil {
		return answer{}, err
	}
	v, err := a.Bank.One(r.Context(), reading, func(v bank.Visible) bool { return v.Balances })
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: map[string]any{f.one: bank.ReferenceTo(v.Account), "balances": a.balancesOf(v)}}, nil
}

// details returns an account as the standard represents it.
func (f family) details(a *API, r *request, v bank.Visible) map[string]any {
	body := map[string]any{
		"resourceId": v.ID, "currency": v.Currency, "name": v.Name, "product": v.Name, "status": "enabled", "usage": "PRIV",
	}
	own := links{}
	if v.Balances {
		own["balances"] = a.at(f.path + "/" + v.ID + "/balances")
	}
	if v.Transactions {
		own["transactions"] = a.at(f.path + "/" + v.ID + "/transactions")
	}
	body["_links"] = own
	if f.kind == ledger.Card {
		body["maskedPan"], body["creditLimit"] = v.Number, bank.Euros(v.Overdraft)
	} else {
		body["iban"], body["bic"], body["cashAccountType"] = v.Number, a.Bank.Profile.BIC(), "CACC"
	}
	if v.Owner {
		body["ownerName"] = v.Account.Owner
	}
	if r.URL.Query().Get("withBalance") == "true" && v.Balances {
		body["balances"] = a.balancesOf(v)
	}
	return body
}

func (a *API) balancesOf(v bank.Visible) []map[string]any {
	today := a.Bank.Now().Format("2006-01-02")
	booked := map[string]any{"balanceType": "closingBooked", "balanceAmount": bank.Euros(v.Booked), "referenceDate": today}
	expected := map[string]any{"balanceType": "expected", "balanceAmount": bank.Euros(v.Expected), "referenceDate": today}
	available := map[string]any{"balanceType": "interimAvailable", "balanceAmount": bank.Euros(v.Expected + v.Overdraft), "creditLimitIncluded": true}
	return []map[string]any{booked, expected, available}
}

// transactions handles GET …/{account}/transactions and requests for further pages of a report.
func (f family) transactions(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, " transactions")
	if err != nil {
		return answer{}, err
	}
	write, media, err := f.format(a, r)
	if err != nil {
		return answer{}, err
	}
	query := r.URL.Query()
	delta := query.Get("deltaList")
	if delta != "" && delta != "true" && delta != "false" {
		return answer{}, bank.Refuse("FORMAT_ERROR", "deltaList", "it is true or false")
	}
	report, err := a.Bank.Transactions(r.Context(), reading, bank.Query{
		BookingStatus: query.Get("bookingStatus"), From: query.Get("dateFrom"), To: query.Get("dateTo"),
		EntryReferenceFrom: query.Get("entryReferenceFrom"), Delta: delta == "true", Cursor: query.Get("cursor"), Whole: write != nil,
	})
	switch {
	case err != nil:
		return answer{}, err
	case write != nil:
		return a.written(report, write, media), nil
	case a.Bank.Profile.Download && query.Get("cursor") == "" && report.Next != "":
		path := f.path + "/" + report.Account.ID + "/download?" + url.Values{"cursor": {report.All}}.Encode()
		return answer{status: http.StatusOK, body: map[string]any{"_links": links{"download": a.at(path)}}}, nil
	}
	return answer{status: http.StatusOK, body: f.page(a, r, report)}, nil
}

// downloaded handles GET …/{account}/download. The response is the complete report.
func (f family) downloaded(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, " transactions")
	if err != nil {
		return answer{}, err
	}
	cursor := r.URL.Query().Get("cursor")
	if cursor == "" {
		return answer{}, bank.Refuse("FORMAT_ERROR", "cursor", "it is missing")
	}
	report, err := a.Bank.Transactions(r.Context(), reading, bank.Query{Cursor: cursor, Whole: true})
	if err != nil {
		return answer{}, err
	}
	for _, format := range statementFormats {
		if f.kind == ledger.Cash && accepts(r.Request, format.media) && slices.Contains(a.Bank.Profile.Formats, format.name) {
			return a.written(report, format.write, format.media), nil
		}
	}
	return answer{status: http.StatusOK, body: f.page(a, r, report)}, nil
}

// reports maps kinds of accounts to the names under which their transactions are listed.
var reports = map[string]string{ledger.Cash: "transactions", ledger.Card: "cardTransactions"}

func (f family) page(a *API, r *request, report bank.Report) map[string]any {
	body := map[string]any{f.one: bank.ReferenceTo(report.Account.Account), reports[f.kind]: f.report(a, r, report)}
	if r.URL.Query().Get("withBalance") == "true" && report.Account.Balances {
		body["balances"] = a.balancesOf(report.Account)
	}
	return body
}

// report groups entries by their booking status.
func (f family) report(a *API, r *request, report bank.Report) map[string]any {
	booked, pending := []map[string]any{}, []map[string]any{}
	for _, e := range report.Entries {
		times := 1
		if r.fault.Wire == bank.Duplicates {
			times = 2
		}
		for range times {
			if e.Booked == "" {
				pending = append(pending, f.entry(a, e))
			} else {
				booked = append(booked, f.entry(a, e))
			}
		}
	}
	path := f.path + "/" + report.Account.ID
	own := links{f.one: a.at(path)}
	if report.Next != "" {
		own["next"] = a.at(path + "/transactions?" + url.Values{"bookingStatus": {report.BookingStatus()}, "cursor": {report.Next}}.Encode())
	}
	groups := map[string]any{"_links": own}
	if report.Booked {
		groups["booked"] = booked
	}
	if report.Pending {
		groups["pending"] = pending
	}
	return groups
}

// entry returns an entry as the standard represents it. Two equal entries look the same at a bank
// without ids.
func (f family) entry(a *API, e ledger.Entry) map[string]any {
	if f.kind == ledger.Card {
		return a.cardEntry(e)
	}
	if a.Bank.Profile.Rewords {
		e = reworded(e)
	}
	body := map[string]any{"transactionAmount": bank.Euros(e.Amount), "valueDate": e.Entered, "proprietaryBankTransactionCode": "TRANSFER"}
	side := "creditor"
	if e.Amount > 0 {
		side = "debtor"
	}
	if e.OtherName != "" {
		body[side+"Name"] = e.OtherName
	}
	if e.OtherNumber != "" {
		body[side+"Account"] = bank.Reference{IBAN: e.OtherNumber}
	}
	for name, value := range map[string]string{"bookingDate": e.Booked, "remittanceInformationUnstructured": e.Text, "endToEndId": e.Reference} {
		if value != "" {
			body[name] = value
		}
	}
	if a.Bank.Profile.TransactionIDs {
		body["transactionId"], body["entryReference"] = fmt.Sprintf("T%d", e.ID), fmt.Sprintf("E%d", e.ID)
	}
	return body
}

// reworded returns an entry as some banks report it: the text and the value date change when the
// entry is booked. A pending entry has no reference.
func reworded(e ledger.Entry) ledger.Entry {
	if e.Booked == "" {
		e.Text, e.Reference = strings.ToUpper(e.Text), ""
		return e
	}
	e.Entered, e.Text = e.Booked, "Booked "+e.Booked+": "+e.Text
	return e
}

func (a *API) cardEntry(e ledger.Entry) map[string]any {
	body := map[string]any{"transactionAmount": bank.Euros(e.Amount), "transactionDate": e.Entered, "transactionDetails": e.Text}
	if e.Booked != "" {
		body["bookingDate"] = e.Booked
	}
	if a.Bank.Profile.TransactionIDs {
		body["cardTransactionId"] = fmt.Sprintf("T%d", e.ID)
	}
	return body
}

// transaction handles GET /v1/accounts/{account}/transactions/{transaction}.
func (f family) transaction(a *API, r *request) (answer, error) {
	reading, err := f.reading(a, r, " transaction "+r.PathValue("transaction"))
	if err != nil {
		return answer{}, err
	}
	entry, err := a.Bank.Transaction(r.Context(), reading, r.PathValue("transaction"))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: map[string]any{"transactionsDetails": f.entry(a, entry)}}, nil
}
