package sandbox

import (
	"fmt"
	"strings"

	"passerelle"
)

// amounts maps amounts in whole units of any currency, such as 7101.00, to scripts. The first
// nineteen are for the error codes, in the order of the interface specification.
var amounts = map[int64]string{
	7101: "rjct(invalidEmitter)",
	7102: "rjct(insufficientFunds)",
	7103: "err",
	7104: "rjct(invalidCurrency)",
	7105: "rjct(invalidDate)",
	7106: "rjct(invalidBeneficiary)",
	7107: "rjct(invalidLabel)",
	7108: "rjct(invalidReferenceId)",
	7109: "rjct(regulatoryReason)",
	7110: "rjct(authenticationFailed)",
	7111: "rjct(noAnswerFromCustomer)",
	7112: "rjct",
	7113: "canc",
	7114: "rjct(CancelledByClient)",
	7115: "rjct(confirmationRefused)",
	7116: "rjct(bankMessage)",
	7117: "rjct(invalidValue)",
	7118: "rjct(websiteUnavailable)",
	7119: "bug",
	7120: "mute",
	7121: "pdng/accp",
	7122: "actn(decoupled)/done",
	7123: "actn(fields)/done",
	7124: "actn(confirm)/done",
	7125: "actn(psu)/done",
	7126: "slow:30s/pdng/done",
	7127: "slow:95s/pdng/done",
	7128: "lose/done",
	7129: "pdng/dupl/done",
	7130: "fail(2)",
}

// beneficiaries maps accounts at a fictional bank to the scripts that they select.
var beneficiaries = map[string]string{
	"FR7699999000000000000000033": "",
	"FR7699999000000000000000130": "rjct(invalidBeneficiary)",
	"FR7699999000000000000000227": "pdng/rjct(regulatoryReason)",
	"FR7699999000000000000000324": "pdng/rjct",
	"FR7699999000000000000000421": "rjct(invalidBeneficiary)",
	"FR7699999000000000000000518": "pdng:2d/done",
}

// payer is an account that a payer may have at the simulated bank.
type payer struct {
	number, name, script string
	// offered means that the bank's page offers the account when the payer's account is unknown.
	offered bool
}

// payers lists the paying accounts. Some of them select scripts. The first is preselected.
var payers = []payer{
	{"FR7699999000010000000000018", "Main account", "", true},
	{"FR7699999000010000000000115", "Account without funds", "rjct(insufficientFunds)", true},
	{"FR7699999000010000000000212", "Closed account", "rjct(invalidEmitter)", true},
	{"FR7699999000010000000000309", "Blocked account", "rjct(regulatoryReason)", true},
	{"FR7699999000010000000000406", "Account at its limit", "rjct(invalidAmount)", true},
	{"FR7699999000010000000000503", "Account without approval", "skip/done", false},
	{"DE93999999990000000001", "German account", "", false},
}

// britishNumbers is the prefix of British accounts that select scripts: the sort code 000000, which
// no bank has, and four zeros. The four digits after the prefix select a script in the map amounts.
const britishNumbers = "0000000000"

// script returns the order's script: from the label of its first instruction, from the amount or
// beneficiary of its only instruction, or from the payer's account.
func (o *order) script() (script, bool) {
	first := o.Lines[0]
	if len(o.Lines) == 1 || first.labelled() {
		if s, found := first.script(passerelle.Currency(o.Currency)); found {
			return s, true
		}
	}
	return accountScript(o.Payer.Number, payerScripts)
}

// script returns the script of an instruction: from its label, amount or beneficiary, in this
// order.
func (l line) script(currency passerelle.Currency) (script, bool) {
	if s, found := readLabel(l.Label); found {
		return s, true
	}
	if steps, found := amounts[l.units(currency)]; found {
		return readScript(steps), true
	}
	return accountScript(l.Number, beneficiaries)
}

func (l line) labelled() bool {
	_, found := readLabel(l.Label)
	return found
}

// units returns the amount in whole units, or zero when it has a fraction.
func (l line) units(currency passerelle.Currency) int64 {
	unit := int64(1)
	for range currency.Digits() {
		unit *= 10
	}
	if l.Minor%unit != 0 {
		return 0
	}
	return l.Minor / unit
}

// accountScript returns the script that an account selects: the script in table or, for a British
// account, the script for the amount in the account number.
func accountScript(number string, table map[string]string) (script, bool) {
	steps, found := table[number]
	if amount, british := strings.CutPrefix(number, britishNumbers); british && len(amount) == 4 {
		steps, found = britishScripts[amount]
	}
	return readScript(steps), found && steps != ""
}

var (
	payerScripts   = scriptsOf(payers)
	britishScripts = scriptsByDigits(amounts)
)

func scriptsOf(list []payer) map[string]string {
	scripts := map[string]string{}
	for _, one := range list {
		scripts[one.number] = one.script
	}
	return scripts
}

func scriptsByDigits(table map[int64]string) map[string]string {
	scripts := map[string]string{}
	for amount, steps := range table {
		scripts[fmt.Sprint(amount)] = steps
	}
	return scripts
}
