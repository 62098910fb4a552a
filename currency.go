package passerelle

import (
	"slices"

	cldr "github.com/bojanz/currency"
)

// Currency is an ISO 4217 code, or a customary code of a crypto asset. Accounts may contain
// crypto assets, but payments cannot use them.
type Currency string

// CurrencyDetails describes a currency for people.
type CurrencyDetails struct {
	// Name is the English name in ISO 4217.
	Name string
	// Symbol is the symbol used in English, or the code when English uses no symbol.
	Symbol string
	// Prefix reports whether the symbol precedes the number in the currency's own country.
	Prefix bool
	// Crypto reports whether the currency is a crypto asset.
	Crypto bool
	// Precision is the number of digits after the decimal point.
	Precision int
}

type currencyStatus uint8

const (
	active currencyStatus = iota
	withdrawn
	crypto
)

// currencyRow contains data that CLDR lacks. The fields symbol and digits are set only for
// currencies that CLDR does not have.
type currencyRow struct {
	name   string
	after  bool
	status currencyStatus
	symbol string
	digits int
}

// Currencies returns the currencies that an account may have, by code: active currencies of ISO
// 4217, and crypto assets.
func Currencies() []Currency {
	var all []Currency
	for code, row := range currencies {
		if row.status != withdrawn {
			all = append(all, code)
		}
	}
	slices.Sort(all)
	return all
}

// ParseCurrency accepts the upper-case code of an active ISO 4217 currency. Any other text is an
// Invalid error for the field. Withdrawn currencies and crypto assets are Invalid errors too,
// because payments cannot use them.
func ParseCurrency(field, s string) (Currency, error) {
	row, known := currencies[Currency(s)]
	switch {
	case !known:
		return "", InvalidField(field, "must be an ISO 4217 currency code in capitals, such as EUR")
	case row.status == withdrawn:
		return "", InvalidField(field, "%s is no longer a currency of ISO 4217", s)
	case row.status == crypto:
		return "", InvalidField(field, "%s is not a currency of ISO 4217, such as EUR", s)
	}
	return Currency(s), nil
}

// Known reports whether this package lists the currency, including crypto assets and withdrawn
// currencies.
func (c Currency) Known() bool {
	_, known := currencies[c]
	return known
}

// Digits returns the number of decimals in an amount, down to the minor unit: 2 for EUR, 0 for JPY.
// It returns 0 for an unknown currency.
func (c Currency) Digits() int {
	if digits, known := cldr.GetDigits(string(c)); known {
		return int(digits)
	}
	return currencies[c].digits
}

// Details describes the currency. For an unknown currency it returns only the code, as name and
// symbol.
func (c Currency) Details() CurrencyDetails {
	row, known := currencies[c]
	if !known {
		return CurrencyDetails{Name: string(c), Symbol: string(c)}
	}
	return CurrencyDetails{
		Name:      row.name,
		Symbol:    c.symbol(row),
		Prefix:    !row.after,
		Crypto:    row.status == crypto,
		Precision: c.Digits(),
	}
}

func (c Currency) symbol(row currencyRow) string {
	if row.symbol != "" {
		return row.symbol
	}
	symbol, _ := cldr.GetSymbol(string(c), cldr.Locale{})
	return symbol
}

// currencies lists the active codes of ISO 4217 that denote money, and crypto assets. It also lists
// codes withdrawn since 2025 and codes that the euro replaced, because older data and statement
// files still contain them.
var currencies = map[Currency]currencyRow{
	"AED": {name: "UAE Dirham"},
	"AFN": {name: "Afghani"},
	"ALL": {name: "Lek", after: true},
	"AMD": {name: "Armenian Dram", after: true},
	"ANG": {name: "Netherlands Antillean Guilder", status: withdrawn},
	"AOA": {name: "Kwanza", after: true},
	"ARS": {name: "Argentine Peso"},
	"ATS": {name: "Schilling", after: true, status: withdrawn, symbol: "S", digits: 2},
	"AUD": {name: "Australian Dollar"},
	"AWG": {name: "Aruban Florin"},
	"AZN": {name: "Azerbaijan Manat", after: true},
	"BAM": {name: "Convertible Mark", after: true},
	"BBD": {name: "Barbados Dollar"},
	"BDT": {name: "Taka"},
	"BEF": {name: "Belgian Franc", after: true, status: withdrawn, symbol: "BEF"},
	"BGN": {name: "Bulgarian Lev", after: true, status: withdrawn},
	"BHD": {name: "Bahraini Dinar"},
	"BIF": {name: "Burundi Franc", after: true},
	"BMD": {name: "Bermudian Dollar"},
	"BND": {name: "Brunei Dollar"},
	"BOB": {name: "Boliviano"},
	"BOV": {name: "Mvdol"},
	"BRL": {name: "Brazilian Real"},
	"BSD": {name: "Bahamian Dollar"},
	"BTC": {name: "Bitcoin", symbol: "₿", digits: 8, status: crypto},
	"BTN": {name: "Ngultrum"},
	"BWP": {name: "Pula"},
	"BYN": {name: "Belarusian Ruble", after: true},
	"BZD": {name: "Belize Dollar"},
	"CAD": {name: "Canadian Dollar"},
	"CDF": {name: "Congolese Franc", after: true},
	"CHE": {name: "WIR Euro"},
	"CHF": {name: "Swiss Franc"},
	"CHW": {name: "WIR Franc"},
	"CLF": {name: "Unidad de Fomento"},
	"CLP": {name: "Chilean Peso"},
	"CNY": {name: "Yuan Renminbi"},
	"COP": {name: "Colombian Peso"},
	"COU": {name: "Unidad de Valor Real"},
	"CRC": {name: "Costa Rican Colon"},
	"CUP": {name: "Cuban Peso"},
	"CVE": {name: "Cabo Verde Escudo", after: true},
	"CYP": {name: "Cyprus Pound", after: true, status: withdrawn, symbol: "C£", digits: 2},
	"CZK": {name: "Czech Koruna", after: true},
	"DEM": {name: "Deutsche Mark", after: true, status: withdrawn, symbol: "DM", digits: 2},
	"DJF": {name: "Djibouti Franc", after: true},
	"DKK": {name: "Danish Krone", after: true},
	"DOP": {name: "Dominican Peso"},
	"DZD": {name: "Algerian Dinar", after: true},
	"EEK": {name: "Kroon", after: true, status: withdrawn, symbol: "kr", digits: 2},
	"EGP": {name: "Egyptian Pound"},
	"ERN": {name: "Nakfa"},
	"ESP": {name: "Spanish Peseta", after: true, status: withdrawn, symbol: "₧"},
	"ETB": {name: "Ethiopian Birr"},
	"ETH": {name: "Ether", symbol: "Ξ", digits: 18, status: crypto},
	"EUR": {name: "Euro", after: true},
	"FIM": {name: "Markka", after: true, status: withdrawn, symbol: "mk", digits: 2},
	"FJD": {name: "Fiji Dollar"},
	"FKP": {name: "Falkland Islands Pound"},
	"FRF": {name: "French Franc", after: true, status: withdrawn, symbol: "F", digits: 2},
	"GBP": {name: "Pound Sterling"},
	"GEL": {name: "Lari", after: true},
	"GHS": {name: "Ghana Cedi"},
	"GIP": {name: "Gibraltar Pound"},
	"GMD": {name: "Dalasi"},
	"GNF": {name: "Guinean Franc", after: true},
	"GRD": {name: "Drachma", after: true, status: withdrawn, symbol: "₯"},
	"GTQ": {name: "Quetzal"},
	"GYD": {name: "Guyana Dollar"},
	"HKD": {name: "Hong Kong Dollar"},
	"HNL": {name: "Lempira"},
	"HRK": {name: "Kuna", after: true, status: withdrawn, symbol: "kn", digits: 2},
	"HTG": {name: "Gourde", after: true},
	"HUF": {name: "Forint", after: true},
	"IDR": {name: "Rupiah"},
	"IEP": {name: "Irish Pound", after: true, status: withdrawn, symbol: "IR£", digits: 2},
	"ILS": {name: "New Israeli Sheqel", after: true},
	"INR": {name: "Indian Rupee"},
	"IQD": {name: "Iraqi Dinar"},
	"IRR": {name: "Iranian Rial"},
	"ISK": {name: "Iceland Krona", after: true},
	"ITL": {name: "Italian Lira", after: true, status: withdrawn, symbol: "₤"},
	"JMD": {name: "Jamaican Dollar"},
	"JOD": {name: "Jordanian Dinar"},
	"JPY": {name: "Yen"},
	"KES": {name: "Kenyan Shilling"},
	"KGS": {name: "Som", after: true},
	"KHR": {name: "Riel", after: true},
	"KMF": {name: "Comorian Franc", after: true},
	"KPW": {name: "North Korean Won"},
	"KRW": {name: "Won"},
	"KWD": {name: "Kuwaiti Dinar"},
	"KYD": {name: "Cayman Islands Dollar"},
	"KZT": {name: "Tenge", after: true},
	"LAK": {name: "Lao Kip"},
	"LBP": {name: "Lebanese Pound"},
	"LKR": {name: "Sri Lanka Rupee"},
	"LRD": {name: "Liberian Dollar"},
	"LSL": {name: "Loti"},
	"LTL": {name: "Lithuanian Litas", after: true, status: withdrawn, symbol: "Lt", digits: 2},
	"LUF": {name: "Luxembourg Franc", after: true, status: withdrawn, symbol: "LUF"},
	"LVL": {name: "Latvian Lats", after: true, status: withdrawn, symbol: "Ls", digits: 2},
	"LYD": {name: "Libyan Dinar"},
	"MAD": {name: "Moroccan Dirham", after: true},
	"MDL": {name: "Moldovan Leu", after: true},
	"MGA": {name: "Malagasy Ariary", after: true},
	"MKD": {name: "Denar", after: true},
	"MMK": {name: "Kyat", after: true},
	"MNT": {name: "Tugrik"},
	"MOP": {name: "Pataca"},
	"MRU": {name: "Ouguiya", after: true},
	"MTL": {name: "Maltese Lira", after: true, status: withdrawn, symbol: "Lm", digits: 2},
	"MUR": {name: "Mauritius Rupee"},
	"MVR": {name: "Rufiyaa"},
	"MWK": {name: "Malawi Kwacha"},
	"MXN": {name: "Mexican Peso"},
	"MXV": {name: "Mexican Unidad de Inversion (UDI)"},
	"MYR": {name: "Malaysian Ringgit"},
	"MZN": {name: "Mozambique Metical", after: true},
	"NAD": {name: "Namibia Dollar"},
	"NGN": {name: "Naira"},
	"NIO": {name: "Cordoba Oro"},
	"NLG": {name: "Netherlands Guilder", after: true, status: withdrawn, symbol: "fl.", digits: 2},
	"NOK": {name: "Norwegian Krone", after: true},
	"NPR": {name: "Nepalese Rupee"},
	"NZD": {name: "New Zealand Dollar"},
	"OMR": {name: "Rial Omani"},
	"PAB": {name: "Balboa"},
	"PEN": {name: "Sol"},
	"PGK": {name: "Kina"},
	"PHP": {name: "Philippine Peso"},
	"PKR": {name: "Pakistan Rupee"},
	"PLN": {name: "Zloty", after: true},
	"PTE": {name: "Portuguese Escudo", after: true, status: withdrawn, symbol: "Esc"},
	"PYG": {name: "Guarani"},
	"QAR": {name: "Qatari Rial"},
	"RON": {name: "Romanian Leu", after: true},
	"RSD": {name: "Serbian Dinar", after: true},
	"RUB": {name: "Russian Ruble", after: true},
	"RWF": {name: "Rwanda Franc", after: true},
	"SAR": {name: "Saudi Riyal"},
	"SBD": {name: "Solomon Islands Dollar"},
	"SCR": {name: "Seychelles Rupee"},
	"SDG": {name: "Sudanese Pound"},
	"SEK": {name: "Swedish Krona", after: true},
	"SGD": {name: "Singapore Dollar"},
	"SHP": {name: "Saint Helena Pound"},
	"SIT": {name: "Tolar", after: true, status: withdrawn, symbol: "SIT", digits: 2},
	"SKK": {name: "Slovak Koruna", after: true, status: withdrawn, symbol: "Sk", digits: 2},
	"SLE": {name: "Leone"},
	"SOS": {name: "Somali Shilling"},
	"SRD": {name: "Surinam Dollar"},
	"SSP": {name: "South Sudanese Pound"},
	"STN": {name: "Dobra", after: true},
	"SVC": {name: "El Salvador Colon"},
	"SYP": {name: "Syrian Pound"},
	"SZL": {name: "Lilangeni"},
	"THB": {name: "Baht"},
	"TJS": {name: "Somoni", after: true},
	"TMT": {name: "Turkmenistan New Manat", after: true},
	"TND": {name: "Tunisian Dinar", after: true},
	"TOP": {name: "Pa'anga"},
	"TRY": {name: "Turkish Lira"},
	"TTD": {name: "Trinidad and Tobago Dollar"},
	"TWD": {name: "New Taiwan Dollar"},
	"TZS": {name: "Tanzanian Shilling"},
	"UAH": {name: "Hryvnia", after: true},
	"UGX": {name: "Uganda Shilling"},
	"USD": {name: "US Dollar"},
	"USN": {name: "US Dollar (Next day)"},
	"UYI": {name: "Uruguay Peso en Unidades Indexadas (UI)"},
	"UYU": {name: "Peso Uruguayo"},
	"UYW": {name: "Unidad Previsional"},
	"UZS": {name: "Uzbekistan Sum", after: true},
	"VED": {name: "Bolívar Digital"},
	"VES": {name: "Bolívar Soberano"},
	"VND": {name: "Dong", after: true},
	"VUV": {name: "Vatu"},
	"WST": {name: "Tala"},
	"XAF": {name: "CFA Franc BEAC", after: true},
	"XBT": {name: "Bitcoin", symbol: "₿", digits: 8, status: crypto},
	"XCD": {name: "East Caribbean Dollar"},
	"XCG": {name: "Caribbean Guilder", symbol: "Cg.", digits: 2},
	"XOF": {name: "CFA Franc BCEAO", after: true},
	"XPF": {name: "CFP Franc", after: true},
	"YER": {name: "Yemeni Rial"},
	"ZAR": {name: "Rand"},
	"ZMW": {name: "Zambian Kwacha"},
	"ZWG": {name: "Zimbabwe Gold"},
}
