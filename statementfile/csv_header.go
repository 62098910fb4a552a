package statementfile

import (
	"bufio"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"passerelle"
)

// delimiters contains the possible delimiters of columns, most likely first.
const delimiters = ";,\t|"

// csvLayout is the layout of a file, detected from its beginning.
type csvLayout struct {
	delimiter rune
	// rows is the number of rows before the first transaction.
	rows     int
	columns  map[string][]int
	dates    *dayForm
	amounts  amountForm
	currency passerelle.Currency
}

// headerNames maps meanings to common names of columns, in the form that plainHeader returns. A
// file with other names needs a mapping.
var headerNames = map[string][]string{
	dateColumn: {
		"date", "booking date", "bookingdate", "transaction date", "posting date", "posted date", "date posted", "completed date", "date operation", "date comptable", "date de comptabilisation",
		"date de l operation", "date d operation", "buchungstag", "buchungsdatum", "buchung", "datum", "boekdatum", "boekingsdatum", "transactiedatum", "fecha", "fecha operacion", "fecha de operacion", "fecha contable",
		"data", "data operazione", "data contabile", "data movimento", "data lancamento", "data mov", "data operacji", "data ksiegowania", "created", "date processed", "datum verrichting", "buchungs datum",
	},
	valueDateColumn: {
		"value date", "valuedate", "date valeur", "date de valeur", "valutadatum", "valuta", "wertstellung", "wertstellungsdatum", "rentedatum", "fecha valor", "data valuta", "data valor", "data waluty",
	},
	amountColumn: {
		"amount", "montant", "montant operation", "betrag", "umsatz", "bedrag", "importe", "importo", "valor", "montante", "kwota", "kwota operacji", "transaction amount", "montant de l operation", "buchungsbetrag",
	},
	debitColumn:    {"debit", "debit amount", "paid out", "money out", "withdrawal", "withdrawals", "soll", "lastschrift", "belastung", "af", "cargo", "cargos", "addebito", "addebiti", "dare", "debito", "obciazenia"},
	creditColumn:   {"credit", "credit amount", "paid in", "money in", "deposit", "deposits", "haben", "gutschrift", "bij", "abono", "abonos", "accredito", "accrediti", "avere", "credito", "uznania"},
	signColumn:     {"af bij", "debit credit", "credit debit", "soll haben", "sens", "cdtdbtind", "credit debit indicator", "debit credit indicator", "d k", "d c", "dc", "dr cr", "cr dr", "s h", "d h", "soll haben kennzeichen"},
	currencyColumn: {"currency", "devise", "wahrung", "waehrung", "buchungswahrung", "munt", "valuta code", "divisa", "moneda", "moeda", "waluta", "ccy"},
	wordingColumn: {
		"wording", "description", "label", "libelle", "libelle operation", "libelle simplifie", "reference text", "memo", "details", "narrative", "payment reference", "remittance information", "infos", "informations complementaires",
		"buchungstext", "verwendungszweck", "omschrijving", "omschrijving 1", "omschrijving 2", "omschrijving 3", "mededelingen", "concepto", "movimiento", "descripcion", "observaciones", "descrizione", "causale",
		"descricao", "opis operacji", "tytul", "communications", "communication", "transaktionsbeschreibung", "vrije mededeling", "notes",
	},
	nameColumn: {
		"name", "counterparty", "counterparty name", "payee", "beneficiary", "partner name", "nom", "nom de la contrepartie", "contrepartie", "beguenstigter zahlungspflichtiger", "auftraggeber empfanger",
		"name zahlungsbeteiligter", "zahlungsempfanger in", "auftraggeber beguenstigter", "auftraggeber begunstigter", "naam tegenpartij", "naam omschrijving", "empfanger", "beneficiario", "nazwa kontrahenta",
	},
	numberColumn: {
		"counterparty iban", "counterparty account", "counterparty number", "partner iban", "kontonummer iban", "iban zahlungsbeteiligter", "kontonummer", "tegenrekening", "tegenrekening iban bban", "rekeningnummer tegenpartij",
		"compte contrepartie", "compte de contrepartie", "iban contrepartie",
	},
	referenceColumn: {"reference", "transaction id", "transaction reference", "bank reference", "referenz", "volgnr", "reference operation", "reference bancaire", "buchungsreferenz"},
	endToEndColumn:  {"end to end", "end to end id", "end to end reference", "kundenreferenz end to end", "kundenreferenz"},
	balanceColumn:   {"balance", "solde", "saldo", "saldo nach buchung", "saldo na trn", "running balance", "solde apres operation", "saldo po operacji"},
	accountColumn:   {"account", "account iban", "compte", "numero de compte", "iban", "iban bban", "rekening", "auftragskonto", "iban auftragskonto", "iban auftraggeberkonto", "rekeningnummer", "cuenta", "conto", "konto", "numer rachunku"},
	statusColumn:    {"status", "state", "statut", "etat"},
	typeColumn:      {"type"},
}

// meanings maps common names of columns to their meanings.
var meanings = func() map[string]string {
	all := map[string]string{}
	for meaning, names := range headerNames {
		all[plainHeader(meaning)] = meaning
		for _, name := range names {
			all[name] = meaning
		}
	}
	return all
}()

// plainHeader returns a text without accents, capitals and punctuation.
func plainHeader(text string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(strings.ReplaceAll(text, "ß", "ss")))
	return strings.Join(strings.Fields(plain), " ")
}

// withCurrency separates the currency at the end of a name such as "amount eur".
func withCurrency(name string) (string, passerelle.Currency) {
	before, last, both := cutLast(name, " ")
	if c := passerelle.Currency(strings.ToUpper(last)); both && c.Known() {
		return before, c
	}
	return name, ""
}

func cutLast(text, separator string) (string, string, bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// maxHeader is the number of rows that are searched for the names of the columns.
const maxHeader = 60

// detectLayout detects the layout of a file from its beginning. It fails when no row has the
// required columns.
func (m *Mapping) detectLayout(first []byte) (*csvLayout, error) {
	for _, delimiter := range delimiters {
		if m.Delimiter != "" && string(delimiter) != m.Delimiter {
			continue
		}
		l := &csvLayout{delimiter: delimiter}
		rows := sampled(first, delimiter)
		if l.findColumns(m, rows) {
			return l, l.findForms(m, rows[l.rows:])
		}
	}
	if len(m.Columns) > 0 {
		return nil, at(0, "", "no line at the beginning of the file has the columns of the mapping%s", m.absent(first)).because(NeedsMapping)
	}
	return nil, errNoHeader
}

// absent names the columns of the mapping that no line at the beginning of a file has.
func (m *Mapping) absent(first []byte) string {
	found := map[string]bool{}
	for _, delimiter := range delimiters {
		rows := sampled(first, delimiter)
		for _, row := range rows[:min(len(rows), maxHeader+m.Skip)] {
			for _, name := range row {
				found[plainHeader(name)] = true
			}
		}
	}
	var names []string
	for _, c := range slices.Concat(slices.Collect(maps.Values(m.Columns))...) {
		if c.Name != "" && !found[plainHeader(c.Name)] {
			names = append(names, strconv.Quote(c.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; it has no column " + strings.Join(slices.Compact(names), ", ")
}

var errNoHeader = at(0, "", "no line at the beginning of the file names columns for a date and an amount; send a mapping with columns").because(NeedsMapping)

// sampled returns the complete rows at the beginning of a file.
func sampled(first []byte, delimiter rune) [][]string {
	text := string(first)
	if len(first) >= peeked {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	r := csvRows{lines: lines{in: &input{Reader: bufio.NewReaderSize(strings.NewReader(text), maxToken)}}, delimiter: delimiter}
	var rows [][]string
	for {
		row, err := r.next()
		if err != nil {
			return rows
		}
		rows = append(rows, row)
	}
}

// findColumns finds the columns and the number of rows before the first transaction. It reports
// whether it succeeded.
func (l *csvLayout) findColumns(m *Mapping, rows [][]string) bool {
	if m.NoHeader {
		l.rows = m.Skip
		return l.match(m, nil) && len(rows) > m.Skip && len(rows[m.Skip]) > slices.Max(slices.Concat(slices.Collect(maps.Values(l.columns))...))
	}
	for i, row := range rows[:min(len(rows), maxHeader+m.Skip)] {
		if i >= m.Skip && l.match(m, row) {
			l.rows = i + 1
			return true
		}
	}
	return false
}

// match finds the columns in a row of names, and reports whether the required ones are there.
func (l *csvLayout) match(m *Mapping, header []string) bool {
	l.columns, l.currency = map[string][]int{}, ""
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = plainHeader(name)
	}
	for meaning, columns := range m.Columns {
		for _, c := range columns {
			place := c.Number - 1
			if c.Name != "" {
				place = slices.Index(names, plainHeader(c.Name))
			}
			if place < 0 || header != nil && place >= len(header) {
				return false
			}
			l.columns[meaning] = append(l.columns[meaning], place)
		}
	}
	l.matchCommon(names)
	has := func(meaning string) bool { return len(l.columns[meaning]) > 0 }
	return has(dateColumn) && (has(amountColumn) || has(debitColumn) && has(creditColumn))
}

// matchCommon adds columns with common names for meanings that the mapping does not define.
func (l *csvLayout) matchCommon(names []string) {
	found := l.common(names)
	if len(l.columns[debitColumn])+len(l.columns[creditColumn]) > 0 {
		delete(found, amountColumn)
	}
	for meaning, places := range found {
		if len(l.columns[meaning]) == 0 {
			l.columns[meaning] = places
		}
	}
	if len(l.columns[amountColumn]) > 0 {
		delete(l.columns, debitColumn)
		delete(l.columns, creditColumn)
	}
}

// common returns the columns with common names: the first column of each meaning, and all
// columns of the wording.
func (l *csvLayout) common(names []string) map[string][]int {
	found := map[string][]int{}
	for i, name := range names {
		meaning := l.meaning(name)
		if meaning != "" && (len(found[meaning]) == 0 || meaning == wordingColumn) {
			found[meaning] = append(found[meaning], i)
		}
	}
	return found
}

// meaning returns the meaning of a common name. The name of a column of amounts or balances may end
// with the currency.
func (l *csvLayout) meaning(name string) string {
	if meaning := meanings[name]; meaning != "" {
		return meaning
	}
	short, currency := withCurrency(name)
	switch meaning := meanings[short]; meaning {
	case amountColumn, debitColumn, creditColumn:
		l.currency = currency
		return meaning
	case balanceColumn:
		return meaning
	}
	return ""
}

// findForms detects the forms of days and amounts. The form of days is the one that most rows have, so
// that the error about a wrong day names the right line and form.
func (l *csvLayout) findForms(m *Mapping, rows [][]string) error {
	if m.Decimal != "" {
		l.amounts.mark = m.Decimal[0]
	}
	for _, row := range rows {
		for _, meaning := range []string{amountColumn, debitColumn, creditColumn, balanceColumn} {
			l.amounts.decide(l.cell(row, meaning))
		}
	}
	l.dates = commonForms[0]
	if m.DateFormat != "" {
		var err error
		l.dates, err = dateForm(m.DateFormat)
		return err
	}
	most := 0
	for _, f := range commonForms {
		if days := l.days(f, rows); days > most {
			l.dates, most = f, days
		}
	}
	return nil
}

// decide sets the decimal mark if it can be recognised from the amount.
func (f *amountForm) decide(text string) {
	probe := amountForm{}
	if _, err := probe.read(text); err == nil && f.mark == 0 {
		f.mark = probe.mark
	}
}

// days returns the number of rows whose day a date format can parse.
func (l *csvLayout) days(f *dayForm, rows [][]string) int {
	n := 0
	for _, row := range rows {
		if _, err := f.read(l.cell(row, dateColumn)); err == nil {
			n++
		}
	}
	return n
}

// cell returns the content of a row's columns that have the given meaning.
func (l *csvLayout) cell(row []string, meaning string) string {
	return strings.Join(l.cells(row, meaning), " ")
}

// text returns the content of columns with text, as cell does. In such columns, an apostrophe before
// a character such as = only prevents a spreadsheet from interpreting the text as a formula.
func (l *csvLayout) text(row []string, meaning string) string {
	parts := l.cells(row, meaning)
	for i := range parts {
		parts[i] = passerelle.ActiveCell(parts[i])
	}
	return strings.Join(parts, " ")
}

func (l *csvLayout) cells(row []string, meaning string) []string {
	var parts []string
	for _, place := range l.columns[meaning] {
		if place < len(row) {
			if text := strings.TrimSpace(row[place]); text != "" {
				parts = append(parts, text)
			}
		}
	}
	return parts
}

var (
	errCSVAccount  = errors.New("the file does not name its account; send a mapping with account.iban or account.number, and account.currency")
	errCSVCurrency = errors.New("the file does not name the currency of the account; send a mapping with account.currency")
)
