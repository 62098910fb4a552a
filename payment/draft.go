package payment

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"passerelle"
)

// These are the limits of a draft.
const (
	// MaxInstructions is the maximum number of instructions of a payment.
	MaxInstructions = 1000
	// MaxClientState is the maximum length of client_state, in characters.
	MaxClientState = 2000
	// MaxLabel is the maximum length of an instruction label, in characters, for connectors without
	// a limit of their own. It is the length of the unstructured remittance information of a SEPA
	// credit transfer. LongestLabel is the highest limit that a connector may set. Longer labels
	// would not fit the indexes of the databases.
	MaxLabel     = 140
	LongestLabel = 500
)

// Draft is a payment as a client requests it, before any check.
type Draft struct {
	Connector         string
	ClientRedirectURI string
	ClientState       string
	Instructions      []Instruction
	Payer             *passerelle.Account
	PayerIdentity     *passerelle.Identity
	OperatorIdentity  *passerelle.Identity
}

// Policy holds the domain's settings for new payments, the limit of the chosen connector, and
// whether the client wants strict checks.
type Policy struct {
	// MaxAmount is the highest total of a payment in major units of its currency, as decimal text.
	// Any text that is not a positive amount of the currency means no limit.
	MaxAmount string
	// Periodic allows periodic payments.
	Periodic bool
	// MaxLabel is the maximum length of a label that the chosen connector accepts, in characters.
	// Values below the constant MaxLabel have no effect.
	MaxLabel int
	// Strict refuses identity fields that do not apply to the kind of the identity. Otherwise these
	// fields are dropped.
	Strict bool
}

// New makes a payment from a draft, in state created. It also returns the payment's first
// transition. If the draft breaks a rule, New fails with a *passerelle.Error that names the field.
// New generates missing reference ids from bytes of the reader random, and fails when this reader
// fails. New normalises the draft's accounts and identities in place. The payment then owns them.
func New(d Draft, policy Policy, random io.Reader, now time.Time) (*Payment, Transition, error) {
	for _, rule := range []func(*Draft, Policy, time.Time) error{
		checkRedirect, checkParties, checkShape, checkLines, checkDates, checkSum,
	} {
		if err := rule(&d, policy, now); err != nil {
			return nil, Transition{}, err
		}
	}
	if err := generateReferences(d.Instructions, random); err != nil {
		return nil, Transition{}, err
	}
	p := &Payment{
		Created: now, Connector: d.Connector, ClientRedirectURI: d.ClientRedirectURI, ClientState: d.ClientState,
		Payer: d.Payer, PayerIdentity: d.PayerIdentity, OperatorIdentity: d.OperatorIdentity, Instructions: d.Instructions,
		Seq: -1,
	}
	return p, p.move(Created, Cause{Actor: ByClient}, now), nil
}

func checkRedirect(d *Draft, _ Policy, _ time.Time) error {
	if d.ClientRedirectURI == "" {
		return passerelle.MissingField("client_redirect_uri", "the absolute http(s) URL the payer returns to is required")
	}
	uri, err := passerelle.ParseRedirectURI("client_redirect_uri", d.ClientRedirectURI)
	if err != nil {
		return err
	}
	d.ClientRedirectURI = uri
	return passerelle.CheckText("client_state", d.ClientState, MaxClientState)
}

func checkParties(d *Draft, policy Policy, _ time.Time) error {
	if d.Payer != nil {
		if err := d.Payer.Check("payer"); err != nil {
			return err
		}
	}
	if err := checkIdentity(d.PayerIdentity, "payer_identity", policy); err != nil {
		return err
	}
	return checkIdentity(d.OperatorIdentity, "operator_identity", policy)
}

func checkIdentity(identity *passerelle.Identity, path string, policy Policy) error {
	if identity == nil {
		return nil
	}
	return identity.Check(path, policy.Strict)
}

func checkShape(d *Draft, policy Policy, _ time.Time) error {
	n := len(d.Instructions)
	switch {
	case n == 0:
		return passerelle.MissingField("instructions", "at least one instruction is required")
	case n > MaxInstructions:
		return passerelle.InvalidField("instructions", "at most %d instructions are allowed, not %d", MaxInstructions, n)
	}
	first := d.Instructions[0]
	if first.DateType == Periodic && n > 1 {
		return passerelle.InvalidField("instructions", "a periodic payment has exactly one instruction, not %d", n)
	}
	if first.DateType == Periodic && !policy.Periodic {
		return passerelle.InvalidField(path(0, "execution_date_type"), "periodic payments are not enabled in this domain")
	}
	return checkUniform(d.Instructions)
}

// checkUniform refuses a bulk with more than one currency, date type or execution date.
func checkUniform(lines []Instruction) error {
	first := lines[0]
	for i, in := range lines[1:] {
		switch {
		case in.Amount.Currency != first.Amount.Currency:
			return passerelle.InvalidField(path(i+1, "currency"), "all instructions of a payment must have the same currency, here %s", first.Amount.Currency)
		case in.DateType != first.DateType:
			return passerelle.InvalidField(path(i+1, "execution_date_type"), "all instructions of a payment must have the same type, here %s", first.DateType)
		case in.ExecutionDate != first.ExecutionDate:
			return passerelle.InvalidField(path(i+1, "execution_date"), "all instructions of a payment must have the same date")
		}
	}
	return nil
}

func checkLines(d *Draft, policy Policy, _ time.Time) error {
	for i := range d.Instructions {
		if err := checkLine(&d.Instructions[i], i, policy); err != nil {
			return err
		}
	}
	return nil
}

func checkLine(in *Instruction, i int, policy Policy) error {
	if strings.TrimSpace(in.Label) == "" {
		return passerelle.MissingField(path(i, "label"), "a label is required")
	}
	if err := passerelle.CheckLine(path(i, "label"), in.Label, max(MaxLabel, policy.MaxLabel)); err != nil {
		return err
	}
	if _, err := passerelle.ParseCurrency(path(i, "currency"), string(in.Amount.Currency)); err != nil {
		return err
	}
	if err := in.Amount.CheckInstruction(path(i, "amount")); err != nil {
		return err
	}
	if in.ReferenceID != "" {
		if err := passerelle.CheckReference(path(i, "reference_id"), in.ReferenceID); err != nil {
			return err
		}
	}
	if err := in.Beneficiary.Check(path(i, "beneficiary")); err != nil {
		return err
	}
	return checkIdentity(in.BeneficiaryIdentity, path(i, "beneficiary_identity"), policy)
}

func checkDates(d *Draft, _ Policy, now time.Time) error {
	today := passerelle.DateOf(now, time.UTC)
	for i := range d.Instructions {
		if err := checkLineDates(&d.Instructions[i], i, today); err != nil {
			return err
		}
	}
	return nil
}

func checkLineDates(in *Instruction, i int, today passerelle.Date) error {
	if in.DateType == "" {
		return passerelle.MissingField(path(i, "execution_date_type"), "one of first_open_day, deferred, instant, periodic is required")
	}
	if !slices.Contains(DateTypes(), in.DateType) {
		return passerelle.InvalidField(path(i, "execution_date_type"), "must be one of %v", DateTypes())
	}
	if err := checkDatesFitType(in, i); err != nil {
		return err
	}
	none := passerelle.Date{}
	switch {
	case in.DateType == Deferred && in.ExecutionDate == none:
		return passerelle.MissingField(path(i, "execution_date"), "a deferred payment needs an execution date")
	case in.DateType == Deferred && in.ExecutionDate.Compare(today) < 0:
		return passerelle.InvalidField(path(i, "execution_date"), "must be today (%s) or later", today)
	case in.DateType == Periodic:
		return checkSchedule(in, i, today)
	}
	return nil
}

// checkDatesFitType refuses dates that the date type does not use. Silently dropping a date
// could send money on a day that the client did not request.
func checkDatesFitType(in *Instruction, i int) error {
	none := passerelle.Date{}
	stray := []struct {
		field string
		set   bool
		only  DateType
	}{
		{"execution_date", in.ExecutionDate != none, Deferred},
		{"start_date", in.StartDate != none, Periodic},
		{"end_date", in.EndDate != none, Periodic},
		{"frequency", in.Frequency != "", Periodic},
	}
	for _, s := range stray {
		if s.set && in.DateType != s.only {
			return passerelle.InvalidField(path(i, s.field), "is only for a %s instruction", s.only)
		}
	}
	return nil
}

func checkSchedule(in *Instruction, i int, today passerelle.Date) error {
	none := passerelle.Date{}
	switch {
	case in.StartDate == none:
		return passerelle.MissingField(path(i, "start_date"), "a periodic payment needs a start date")
	case in.Frequency == "":
		return passerelle.MissingField(path(i, "frequency"), "a periodic payment needs a frequency")
	case !slices.Contains(Frequencies(), in.Frequency):
		return passerelle.InvalidField(path(i, "frequency"), "must be one of %v", Frequencies())
	case in.StartDate.Compare(today) < 0:
		return passerelle.InvalidField(path(i, "start_date"), "must be today (%s) or later", today)
	case in.EndDate != none && in.EndDate.Compare(in.StartDate) < 0:
		return passerelle.InvalidField(path(i, "end_date"), "must not be before start_date")
	}
	return nil
}

func checkSum(d *Draft, policy Policy, _ time.Time) error {
	sum := passerelle.Money{Currency: d.Instructions[0].Amount.Currency}
	for i, in := range d.Instructions {
		if in.Amount.Minor > math.MaxInt64-sum.Minor {
			return passerelle.InvalidField(path(i, "amount"), "the total of the instructions is too large")
		}
		sum.Minor += in.Amount.Minor
	}
	limit, bounded := policy.limit(sum.Currency)
	if bounded && sum.Minor > limit.Minor {
		return passerelle.InvalidField("instructions", "the total %s %s is above the limit of %s per payment", sum.Decimal(), sum.Currency, limit.Decimal())
	}
	return nil
}

// limit returns the highest total in minor units. It returns false when MaxAmount is not a positive
// amount of the currency.
func (policy Policy) limit(c passerelle.Currency) (passerelle.Money, bool) {
	limit, err := passerelle.ParseMoney("limit", policy.MaxAmount, c)
	return limit, err == nil && limit.Minor > 0
}

// generateReferences generates missing end-to-end identifiers: 31 characters for SEPA and 18 for
// sort codes. In a bulk, each generated identifier ends in the instruction's position.
func generateReferences(lines []Instruction, random io.Reader) error {
	for i := range lines {
		if lines[i].ReferenceID != "" {
			continue
		}
		var bits [passerelle.MaxReference]byte
		if _, err := io.ReadFull(random, bits[:]); err != nil {
			return fmt.Errorf("generate a reference id: %w", err)
		}
		lines[i].ReferenceID = passerelle.NewReference(bits, lines[i].Beneficiary.Scheme, i+1, len(lines))
	}
	return nil
}

func path(line int, field string) string { return fmt.Sprintf("instructions[%d].%s", line, field) }
