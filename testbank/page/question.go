package page

import (
	"net/http"
	"strconv"
	"strings"

	"passerelle/testbank/bank"
	"passerelle/testbank/ledger"
)

// questionView is a question as the page shows it to a customer.
type questionView struct {
	Heading string
	Ticket  string
	// Facts holds the data that the customer decides about, one fact in each row.
	Facts []fact
	// Lines are the transfers of a bulk.
	Lines []bank.Line
	// Choices are the accounts to choose from.
	Choices []accountView
	// Many means that several accounts may be chosen.
	Many   bool
	Silent bool
	// Approve and Refuse are the texts of the buttons.
	Approve, Refuse string
}

type fact struct{ Name, Value string }

type accountView struct {
	ID, Name, Number, Balance string
	Checked                   bool
}

// question returns the content of a page that asks a customer.
func (p *Pages) question(r *http.Request, q bank.Question, customer bank.Customer) (questionView, error) {
	v := questionView{Ticket: q.Authorisation.Ticket(), Silent: q.Silent, Heading: "Approve a payment", Approve: "Approve", Refuse: "Refuse"}
	chooses := false
	switch {
	case q.Consent != nil:
		v.Heading, v.Approve, v.Many = "Share account data", "Share", true
		v.Facts, chooses = p.consentFacts(q.Consent), q.Consent.Kind == bank.Global
	case q.Authorisation.Subject.Kind == bank.OfCancellation:
		v.Heading, v.Approve, v.Refuse, v.Facts = "Cancel a payment", "Cancel the payment", "Keep the payment", orderFacts(q.Order)
	default:
		v.Facts, chooses = orderFacts(q.Order), q.Order.Debtor == ""
	}
	if q.Order != nil && len(q.Order.Lines) > 1 {
		v.Lines = q.Order.Lines
	}
	if !chooses {
		return v, nil
	}
	var err error
	v.Choices, err = p.choices(r, customer, v.Many)
	return v, err
}

// choices returns a customer's cash accounts or, if show is set, all accounts of the customer.
func (p *Pages) choices(r *http.Request, customer bank.Customer, show bool) ([]accountView, error) {
	accounts, err := p.Bank.Accounts(r.Context(), customer.ID)
	if err != nil {
		return nil, err
	}
	var all []accountView
	for _, a := range accounts {
		if a.Kind == ledger.Cash || show {
			all = append(all, accountView{a.ID, a.Name, inFours(a.Number), euros(a.Booked), show || len(all) == 0})
		}
	}
	return all, nil
}

// euros formats an amount for people, in groups of three digits.
func euros(minor int64) string {
	whole, cents, _ := strings.Cut(bank.Decimal(minor), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + "." + cents + " EUR"
}

// inFours formats an account number for people, in groups of four characters.
func inFours(number string) string {
	var groups []string
	for len(number) > 4 {
		groups, number = append(groups, number[:4]), number[4:]
	}
	return strings.Join(append(groups, number), " ")
}

func orderFacts(o *bank.Order) []fact {
	facts := []fact{{"Amount", euros(o.Total())}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	if len(o.Lines) == 1 {
		add("To", o.Lines[0].Creditor)
		add("Account", inFours(o.Lines[0].IBAN))
		add("Reference", o.Lines[0].Text)
	} else {
		add("Payments", strconv.Itoa(len(o.Lines)))
	}
	add("From", inFours(o.Debtor))
	add("On", o.Execution)
	if s := o.Schedule; s != nil {
		add("First on", s.Start)
		add("Repeated", s.Frequency)
		add("Until", s.End)
	}
	return facts
}

// purposes maps kinds of consent to descriptions of their purpose.
var purposes = map[string]string{
	bank.Global: "The accounts that you choose", bank.Detailed: "The accounts that the application named",
	bank.Available: "The list of your accounts", bank.AllPSD2: "All your accounts, their balances and transactions",
}

func (p *Pages) consentFacts(c *bank.Consent) []fact {
	often := "Once"
	if c.Recurring {
		often = "Until " + p.Bank.LastDay(c).Format("2 January 2006")
	}
	return []fact{{"With", c.Party}, {"What", purposes[c.Kind]}, {"How long", often}}
}
