package berlingroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// File is an operator's description of one bank, in TOML. Paths in it are relative to the file.
// The tags contain the texts of its reference page.
type File struct {
	UUID       string   `toml:"uuid" need:"required" doc:"The connector's UUID, in small letters. It names the bank everywhere and for ever."`
	ID         int64    `toml:"id" need:"required" doc:"The connector's number, unique in the deployment. Its sources have ten times that number, plus 1."`
	Name       string   `toml:"name" need:"required" doc:"What people read."`
	Countries  []string `toml:"countries" need:"required" doc:"Countries, ISO 3166-1 alpha-2."`
	Color      string   `toml:"color" doc:"Colour of the logo: six hexadecimal digits, without a hash."`
	BICs       []string `toml:"bics" doc:"The bank's BICs."`
	IBANPrefix []string `toml:"iban_prefixes" doc:"How the bank's account numbers begin. A dot stands for a digit that does not matter, such as the check digits: DE..50010517."`
	Sandbox    bool     `toml:"sandbox" doc:"A test bank, which moves no money. It is not offered in live domains, and may have addresses without TLS for browsers on this machine."`
	Hidden     bool     `toml:"hidden" doc:"The bank is not offered to payers. Payments under way go on."`

	Standard  Standard   `toml:"standard" need:"required" doc:"What the bank speaks."`
	Address   Address    `toml:"address" need:"required" doc:"Where the bank is."`
	TLS       TLS        `toml:"tls" need:"required" doc:"The transport certificate (QWAC), and whom the bank is vouched for by."`
	Signature *Signature `toml:"signature" doc:"How requests are signed. Left out, they are not."`
	Passwords *Passwords `toml:"passwords" doc:"How passwords are encrypted, of banks with the approach embedded that want that. Left out, they are sent as they are."`
	OAuth     *OAuth     `toml:"oauth" doc:"The bank's authorisation server. The approach oauth needs it."`
	Profile   Profile    `toml:"profile" need:"required" doc:"What the bank can do, and its ways."`
}

// Standard is the standard that the bank speaks.
type Standard struct {
	Kind    string `toml:"kind" need:"required" doc:"berlin-group."`
	Version string `toml:"version" need:"required" doc:"The version of the standard, 1.3.0 to 1.3.99."`
}

// Address has the addresses of the bank.
type Address struct {
	API string `toml:"api" need:"required" doc:"The https address that the paths of the standard follow: what stands before /v1/payments."`
}

// TLS has the settings for connections to the bank.
type TLS struct {
	Certificate string `toml:"certificate" need:"required" doc:"PEM file of the transport certificate (QWAC) with its chain."`
	Key         string `toml:"key" need:"required" doc:"PEM file of its private key, which others than its owner and group cannot read."`
	Authorities string `toml:"authorities" doc:"PEM file of the authorities that vouch for the bank's server. Left out: those of the system."`
}

// Signature has the settings for signing requests.
type Signature struct {
	Certificate string   `toml:"certificate" need:"required" doc:"PEM file of the signing certificate (QSealC)."`
	Key         string   `toml:"key" doc:"PEM file of its private key, an RSA key. Either this or command."`
	Command     []string `toml:"command" doc:"A program that signs, for keys that are in a hardware module: it gets the bytes to sign on standard input and answers with the raw signature (RSA PKCS #1 v1.5, SHA-256) within ten seconds."`
	Digest      string   `toml:"digest" preset:"SHA-256" doc:"SHA-256 or SHA-512, of the body."`
	Headers     []string `toml:"headers" preset:"digest, x-request-id, psu-id, psu-corporate-id, date, tpp-redirect-uri" doc:"Headers that the signature covers, in this order, as far as a request has them. digest and x-request-id are always among them."`
}

// Passwords has the settings for encrypting passwords for the bank.
type Passwords struct {
	Certificate string `toml:"certificate" need:"required" doc:"PEM file of the bank's certificate for passwords, an RSA key. A password becomes a compact JWE with RSA-OAEP-256 and A256GCM."`
}

// OAuth is the bank's authorisation server.
type OAuth struct {
	Metadata string `toml:"metadata" need:"required" doc:"The https address of its metadata (RFC 8414)."`
	ClientID string `toml:"client_id" need:"required" doc:"Our name there. We prove who we are by the transport certificate (RFC 8705)."`
}

// Profile is the bank's capabilities.
type Profile struct {
	SCA                []string `toml:"sca" need:"required" doc:"How payers approve, the preferred way first: redirect, oauth, decoupled, embedded."`
	Start              string   `toml:"start" preset:"implicit" doc:"Whether the bank begins the authorisation with the order (implicit) or is asked to (explicit). A bank that answers otherwise is followed all the same."`
	Confirmation       bool     `toml:"confirmation" doc:"The bank wants a confirmation after the payer comes back, and executes nothing before. Domains that confirm payments themselves need such a bank."`
	DebtorAccount      string   `toml:"debtor_account" preset:"optional" doc:"Whether the order names the payer's account: required, optional, or refused."`
	RedirectSeconds    int      `toml:"redirect_seconds" preset:"600" doc:"How long the bank's page waits for the person, in seconds. After that a new page is asked for, of a payment when its status is asked for."`
	AuthorisationHours int      `toml:"authorisation_hours" preset:"24" doc:"How long an authorisation may take, in hours."`
	CallsADay          int      `toml:"calls_a_day" preset:"4" doc:"How often a day the bank may be read without the person."`
	PSUID              bool     `toml:"psu_id" doc:"The bank wants the payer's user name with the order, so the payer is asked for it first."`
	CorporateID        bool     `toml:"psu_corporate_id" doc:"The bank tells companies apart by an identification (PSU-Corporate-ID). The person is asked for it first, and leaves it empty for private accounts."`
	LastStatus         string   `toml:"last_status" preset:"ACSC" doc:"The best status of a payment that the bank ever reports: ACTC, ACCP, ACSP, ACWC, ACSC or ACCC. Where it is before ACSC, a payment that has it is accepted."`
	Idempotent         bool     `toml:"idempotent" doc:"The bank documents that it takes a repeated X-Request-ID for the same order. An order whose answer was lost is then sent again; otherwise it waits for a person."`
	Notifications      bool     `toml:"notifications" doc:"The bank tells of changes at TPP-Notification-URI. Its host, that of the domain, has to be one of the transport certificate's."`

	Payments *Payments `toml:"payments" doc:"What can be paid. Left out, the bank takes no payments."`
	Accounts *Accounts `toml:"accounts" doc:"What can be read. Left out, the bank is not read."`
}

// Payments describes the payments that the bank accepts.
type Payments struct {
	Single       []string `toml:"single" need:"required" doc:"Products of single payments: sepa-credit-transfers, instant-sepa-credit-transfers, target-2-payments. Instant payments go by the instant one, others by the first that is none."`
	Bulk         []string `toml:"bulk" doc:"Products of payments with several instructions."`
	Periodic     []string `toml:"periodic" doc:"Products of periodic payments."`
	FutureDates  bool     `toml:"future_dates" doc:"A payment may name the day of its execution."`
	Frequencies  []string `toml:"frequencies" doc:"Frequencies of periodic payments, in our words. Required with periodic."`
	MinAmount    string   `toml:"min_amount" doc:"The smallest sum, in EUR."`
	MaxAmount    string   `toml:"max_amount" doc:"The sum above which the bank usually refuses, in EUR. Payers are warned."`
	MaxBulk      int      `toml:"max_bulk" preset:"1000" doc:"How many instructions a payment may have. Needs bulk."`
	MinDays      int      `toml:"min_days" doc:"How many days ahead the day of execution has to be."`
	MaxDays      int      `toml:"max_days" doc:"How many days ahead it may be. Left out, any number."`
	OpenDaysOnly bool     `toml:"open_days_only" doc:"The day of execution has to be one on which TARGET is open."`
	Cancellation string   `toml:"cancellation" preset:"none" doc:"Whether orders are cancelled: none, direct, or sca where the payer approves it."`
}

// Accounts describes the accounts and data that the bank offers.
type Accounts struct {
	Consents        []string `toml:"consents" need:"required" doc:"Kinds of consent that the bank has: global, all-psd2, detailed, available-accounts. The first of these that it has is asked for."`
	BookingStatuses []string `toml:"booking_statuses" preset:"booked" doc:"Which transactions the bank tells: booked, pending, both."`
	Formats         []string `toml:"formats" preset:"json" doc:"Formats of lists of transactions: json, camt (camt.052 to camt.054), mt940 (also MT942). The first is asked for; camt and mt940 have what is booked and no more. Name the formats of downloads after it: where there are several, the entry reference names transactions."`
	ConsentDays     int      `toml:"consent_days" preset:"180" doc:"How long a consent lasts, in days, at most 180."`
	HistoryDays     int      `toml:"history_days" preset:"90" doc:"How far back transactions are told, in days."`
	DeltaList       bool     `toml:"delta_list" doc:"The bank can tell only what is new. Used without the person, with transaction_ids."`
	EntryReference  bool     `toml:"entry_reference" doc:"The bank can tell what is after an entry reference. Used without the person, with transaction_ids, and preferred to delta_list."`
	Download        bool     `toml:"download" doc:"Long lists come as a download. A link to one is followed in any case."`
	CardAccounts    bool     `toml:"card_accounts" doc:"The bank has card accounts."`
	TransactionIDs  bool     `toml:"transaction_ids" doc:"The bank gives transactions a transactionId that stays. Otherwise amount, value date, parties and texts identify a transaction."`
}

// maxFile limits the size of a bank file, in bytes.
const maxFile = 1 << 20

// A Complaint is one mistake in a bank file. Line and Column count from 1. They are zero when
// something is missing in the file.
type Complaint struct {
	Path         string
	Line, Column int
	// Field is the dotted name of the field, such as profile.sca.
	Field   string
	Message string
}

// Error contains file, line and column in the form of compilers, the field, and the correct
// form.
func (c *Complaint) Error() string {
	place := c.Path
	if c.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", c.Path, c.Line, c.Column)
	}
	if c.Field == "" {
		return place + ": " + c.Message
	}
	return fmt.Sprintf("%s: %s: %s", place, c.Field, c.Message)
}

// readFile reads and decodes a bank file. Its errors are Complaints, joined.
func readFile(path string) (File, *places, error) {
	content, err := readBounded(path)
	if err != nil {
		return File{}, nil, &Complaint{Path: path, Message: err.Error()}
	}
	var f File
	decoder := toml.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return File{}, nil, complain(path, err)
	}
	where, err := locate(path, content)
	return f, where, err
}

// readBounded reports only the kind of a failure, because the complaint contains the path.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	var failure *os.PathError
	if errors.As(err, &failure) {
		return nil, failure.Err
	}
	return content, err
}

// complain turns the decoder's error into a complaint with position and field.
func complain(path string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		for i := range strict.Errors {
			line, column := strict.Errors[i].Position()
			all = append(all, &Complaint{path, line, column, strings.Join(strict.Errors[i].Key(), "."), "is no field of a bank file"})
		}
		return errors.Join(all...)
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return &Complaint{path, line, column, strings.Join(wrong.Key(), "."), strings.TrimPrefix(wrong.Error(), "toml: ")}
	}
	return &Complaint{Path: path, Message: err.Error()}
}

// places maps the dotted names of fields to their positions in a file.
type places struct {
	path string
	at   map[string]unstable.Position
}

// locate finds the positions of all fields in a valid document.
func locate(path string, content []byte) (*places, error) {
	found := &places{path: path, at: map[string]unstable.Position{}}
	parser, table := unstable.Parser{}, ""
	parser.Reset(content)
	for parser.NextExpression() {
		e := parser.Expression()
		name, first := dotted(e.Key())
		if first == nil {
			continue
		}
		if e.Kind == unstable.KeyValue {
			name = strings.TrimPrefix(table+"."+name, ".")
		} else {
			table = name
		}
		found.at[name] = parser.Shape(parser.Range(first.Data)).Start
	}
	if err := parser.Error(); err != nil {
		return nil, &Complaint{Path: path, Message: err.Error()}
	}
	return found, nil
}

func dotted(key unstable.Iterator) (string, *unstable.Node) {
	var first *unstable.Node
	var parts []string
	for key.Next() {
		if first == nil {
			first = key.Node()
		}
		parts = append(parts, string(key.Node().Data))
	}
	return strings.Join(parts, "."), first
}

// complaint makes a complaint about a field, at its position or at that of the enclosing table.
func (p *places) complaint(field, message string) *Complaint {
	c := &Complaint{Path: p.path, Field: field, Message: message}
	for name := field; name != ""; {
		if at, found := p.at[name]; found {
			c.Line, c.Column = at.Line, at.Column
			break
		}
		cut := strings.LastIndex(name, ".")
		name = name[:max(cut, 0)]
	}
	return c
}
