package passerelle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
)

// ibans contains a valid number for each country with an example in the IBAN registry, and for some
// territories.
var ibans = strings.Fields(`
	AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201
	AX2112345600000785 AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678
	BH67BMAG00001299123456 BI4210000100010000332045181 BR1800360305000010009795493C1 BY13NBRB3600900000002Z00AB00
	CH9300762011623852957 CR05015202001026284066 CY17002001280000001200527600 CZ6508000000192000145399
	DE89370400440532013000 DJ2110002010010409943020008 DK5000400440116243 DO28BAGR00000001212453611324
	EE382200221020145685 EG380019000500000000263180002 ES9121000418450200051332 FI2112345600000785
	FK88SC123456789012 FO6264600001631634 FR1420041010050500013M02606 GB29NWBK60161331926819
	GE29NB0000000101904917 GF4120041010050500013M02606 GI75NWBK000000007099453 GL8964710001000206
	GR1601101250000000012300695 GT82TRAJ01020000001210029690 HN88CABF00000000000250005469 HR1210010051863000160
	HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 IQ98NBIQ850123456789012
	IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302
	KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114
	LC55HEMM000100010012001200023015 LI21088100002324013AA LT121000011101001000 LU280019400644750000
	LV80BANK0000435195001 LY83002048000020100120361 MC5811222000010123456789030 MD24AG000225100013104168
	ME25505000012345678951 MK07250120000058984 MN121234123456789123 MR1300020001010000123456753
	MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR NI45BAPR00000013000003558124 NL91ABNA0417164300
	NO9386011117947 OM810180000001299123456 PK36SCBL0000001123456702 PL61109010140000071219812874
	PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG
	RE4220041010050500013M02606 RO49AAAA1B31007593840000 RS35260005601001611379 RU0204452560040702810412345678901
	SA0380000000608010167519 SC18SSCB11010000000000001497USD SD8811123456789012 SE4550000000058398257466
	SI56263300012039086 SK3112000000198742637541 SM86U0322509800000000270100 SO211000001001000100141
	ST68000100010051845310112 SV62CENR00000000000000700025 TL380080012345678910157 TN5910006035183598478831
	TR330006100519786457841326 UA213223130000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901
	XK051212012345678906 YE15CBYE0001018861234567891234`)

func iban(number string) passerelle.Account {
	return passerelle.Account{Scheme: passerelle.IBAN, Identification: number, Label: "Bill's garage"}
}

func TestCheckAcceptsIBANs(t *testing.T) {
	for _, number := range ibans {
		account := iban(number)
		if err := account.Check("payer"); err != nil {
			t.Errorf("%s: %v", number, err)
		}
		if account.Identification != number || account.Country() != number[:2] {
			t.Errorf("%s became %s of %s", number, account.Identification, account.Country())
		}
	}
}

// Check refuses each number in which one digit was replaced by the next digit.
func TestCheckFindsTypingErrors(t *testing.T) {
	for _, number := range ibans {
		for i := 2; i < len(number); i++ {
			if number[i] < '0' || number[i] > '9' {
				continue
			}
			wrong := number[:i] + string(rune('0'+(number[i]-'0'+1)%10)) + number[i+1:]
			account := iban(wrong)
			if account.Check("payer") == nil {
				t.Errorf("%s accepted for %s", wrong, number)
			}
		}
	}
}

func TestCheckNormalises(t *testing.T) {
	tests := []struct{ name, scheme, number, issuer, wantNumber, wantIssuer string }{
		{"printed iban", "iban", "fr14 2004 1010 0505 0001 3m02 606", "", "FR1420041010050500013M02606", ""},
		{"short bic", "iban", "DE89370400440532013000", "cobadeff", "DE89370400440532013000", "COBADEFF"},
		{"long bic", "iban", "DE89370400440532013000", "COBADEFFXXX", "DE89370400440532013000", "COBADEFFXXX"},
		{"bic of Kosovo", "iban", "XK051212012345678906", "NLPRXKPR", "XK051212012345678906", "NLPRXKPR"},
		{"plain sort code", "sort_code_account_number", "20000055779911", "", "20000055779911", ""},
		{"grouped sort code", "sort_code_account_number", "20-00-00 55779911", "", "20000055779911", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := passerelle.Account{Scheme: passerelle.AccountScheme(test.scheme), Identification: test.number, Label: "Bill", Issuer: test.issuer}
			want := got
			want.Identification, want.Issuer = test.wantNumber, test.wantIssuer
			if err := got.Check("payer"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckRefusesAccounts(t *testing.T) {
	const good = "FR1420041010050500013M02606"
	tests := []struct {
		name, field string
		account     passerelle.Account
		says        string
	}{
		{"nothing", "scheme_name", passerelle.Account{}, "missing are beneficiary.scheme_name, beneficiary.identification, beneficiary.label"},
		{"no label", "label", passerelle.Account{Scheme: "iban", Identification: good}, "required"},
		{"blank label", "label", passerelle.Account{Scheme: "iban", Identification: good, Label: " "}, "required"},
		{"unknown scheme", "scheme_name", passerelle.Account{Scheme: "bban", Identification: good, Label: "Bill"}, "iban or sort_code_account_number"},
		{"long label", "label", passerelle.Account{Scheme: "iban", Identification: good, Label: strings.Repeat("é", 141)}, "140"},
		{"label with NUL", "label", passerelle.Account{Scheme: "iban", Identification: good, Label: "a\x00"}, "NUL"},
		{"label not UTF-8", "label", passerelle.Account{Scheme: "iban", Identification: good, Label: "a\xff"}, "UTF-8"},
		{"no country code", "identification", iban("1420041010050500013M02606"), "country code"},
		{"country without IBANs", "identification", iban("US1420041010050500013M02606"), "US"},
		{"too short", "identification", iban("FR1420041010050500013M0260"), "27 characters, not 26"},
		{"too long", "identification", iban(good + "0"), "27 characters, not 28"},
		{"letter for a digit", "identification", iban("FRX420041010050500013M02606"), "10 digits, 11 letters or digits, 2 digits"},
		{"digit for a letter", "identification", iban("GB29NW1K60161331926819"), "4 letters, 14 digits"},
		{"wrong check digits", "identification", iban("FR1520041010050500013M02606"), "check digits"},
		{"sign inside", "identification", iban("FR14-20041010050500013M0260"), "form"},
		{"foreign letter", "identification", iban("FR1420041010050500013ß02606"), "28"},
		{"dotless i", "identification", iban("ıT60X0542811101000000123456"), "country code"},
		{"short sort code", "identification", passerelle.Account{Scheme: "sort_code_account_number", Identification: "1234565577991", Label: "Bill"}, "20-00-00 55779911"},
		{"letters in a sort code", "identification", passerelle.Account{Scheme: "sort_code_account_number", Identification: "2000005577991A", Label: "Bill"}, "6 digits"},
		{"bic with a sort code", "issuer", passerelle.Account{Scheme: "sort_code_account_number", Identification: "20000055779911", Label: "Bill", Issuer: "BARCGB22"}, "omit it"},
		{"short bic", "issuer", passerelle.Account{Scheme: "iban", Identification: good, Label: "Bill", Issuer: "BNPAFR"}, "BNPAFRPP"},
		{"bic of nowhere", "issuer", passerelle.Account{Scheme: "iban", Identification: good, Label: "Bill", Issuer: "BNPAZZPP"}, "BIC"},
		{"bic with a sign", "issuer", passerelle.Account{Scheme: "iban", Identification: good, Label: "Bill", Issuer: "BNPAFRP-"}, "BIC"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.account.Check("beneficiary")
			wantField(t, err, "beneficiary."+test.field)
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
			if number := test.account.Identification; len(number) > 4 && strings.Contains(err.Error(), number) {
				t.Errorf("%v repeats the number", err)
			}
		})
	}
}

func TestMissingAccountFieldsAreMissingParameters(t *testing.T) {
	var e *passerelle.Error
	if err := new(passerelle.Account).Check(""); !errors.As(err, &e) || e.Code != "missingParameter" || e.Field != "scheme_name" {
		t.Errorf("got %v", err)
	}
}

func TestCheckDigitsOutsideTheirRange(t *testing.T) {
	// Adding 97 to check digits, or subtracting it, does not change the remainder. So 00, 01 and 99
	// have the remainder of valid check digits.
	account := iban("XK981212012345678906")
	for _, digits := range []string{"00", "01", "99"} {
		for last := range 100 {
			account.Identification = "XK" + digits + "12120123456789" + string([]byte{byte('0' + last/10), byte('0' + last%10)})
			if account.Check("payer") == nil {
				t.Errorf("%s accepted", account.Identification)
			}
		}
	}
}

func TestMasked(t *testing.T) {
	tests := []struct {
		account       passerelle.Account
		want, country string
	}{
		{iban("FR1420041010050500013M02606"), "FR14 **** 2606", "FR"},
		{passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911"}, "**** 9911", "GB"},
		{passerelle.Account{Identification: "12345678901234€€€"}, "**** 4€€€", ""},
		{iban("FR1"), "****", "FR"},
		{passerelle.Account{}, "****", ""},
	}
	for _, test := range tests {
		if got := test.account.Masked(); got != test.want {
			t.Errorf("%s masked as %q, want %q", test.account.Identification, got, test.want)
		}
		if got := test.account.Country(); got != test.country {
			t.Errorf("%s is of %q, want %q", test.account.Identification, got, test.country)
		}
	}
}

func TestCheckingAnAccountDoesNotAllocate(t *testing.T) {
	account := iban("FR1420041010050500013M02606")
	account.Issuer = "BNPAFRPP"
	if got := testing.AllocsPerRun(100, func() { _ = account.Check("instructions[0].beneficiary") }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func FuzzParseAccount(f *testing.F) {
	for _, number := range ibans {
		f.Add("iban", number, "Bill", "BNPAFRPP")
	}
	f.Add("sort_code_account_number", "20-00-00 55779911", "Bill", "")
	f.Add("iban", "fr14 2004 1010 0505 0001 3m02 606", "É\x00", "")
	f.Fuzz(func(t *testing.T, scheme, number, label, issuer string) {
		account := passerelle.Account{Scheme: passerelle.AccountScheme(scheme), Identification: number, Label: label, Issuer: issuer}
		if err := account.Check("payer"); err != nil {
			if !errors.Is(err, passerelle.Invalid) {
				t.Fatal(err)
			}
			return
		}
		again := account
		if err := again.Check("payer"); err != nil || again != account {
			t.Fatalf("%v is checked to %v, and that to %v, %v", number, account, again, err)
		}
		if len(account.Country()) != 2 || strings.Contains(account.Masked(), account.Identification) {
			t.Fatalf("%s is of %q, masked as %q", account.Identification, account.Country(), account.Masked())
		}
	})
}

func BenchmarkCheckIBAN(b *testing.B) {
	account := iban("FR1420041010050500013M02606")
	for b.Loop() {
		if err := account.Check("payer"); err != nil {
			b.Fatal(err)
		}
	}
}
