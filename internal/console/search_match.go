package console

import (
	"slices"
	"strings"

	"passerelle/internal/console/page"
	"passerelle/internal/search"
	"passerelle/payment"
)

// foundColumn is the column that says in which field of a payment a search found the text.
var foundColumn = column{Name: "found", Label: "Found in", Chosen: true}

// foundTable returns a table of payments found by a text, with the usual columns.
func foundTable(rows []listRow) paymentTable {
	return paymentTable{rows, append(chooseColumns(nil), foundColumn)}
}

// These functions return the name of the field with the searched text and, except for inMail, its
// value. They mask account numbers and, in live domains, labels and names.

func inReference(_ *page.Context, p *payment.Payment, text string) string {
	return "End-to-end id " + matching(p, func(in payment.Instruction) bool { return in.ReferenceID == text }).ReferenceID
}

func inBankReference(_ *page.Context, p *payment.Payment, _ string) string {
	return "Bank's reference " + p.BankPaymentID
}

func inPayer(_ *page.Context, p *payment.Payment, _ string) string {
	if p.Payer == nil {
		return "Payer's account"
	}
	return "Payer's account " + accountText(*p.Payer, false)
}

func inBeneficiary(_ *page.Context, p *payment.Payment, text string) string {
	number := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	in := matching(p, func(in payment.Instruction) bool {
		return strings.HasSuffix(strings.ToUpper(in.Beneficiary.Identification), number)
	})
	return "Beneficiary's account " + accountText(in.Beneficiary, false)
}

func inLabel(pc *page.Context, p *payment.Payment, text string) string {
	return "Label " + nameText(pc, matching(p, func(in payment.Instruction) bool { return beginsLabel(in, text) }).Label, false)
}

// inWords returns up to two labels or beneficiaries that have a word of the text.
func inWords(pc *page.Context, p *payment.Payment, text string) string {
	sought := search.Words(text)
	has := func(in string) bool {
		words := search.Words(in)
		return slices.ContainsFunc(sought, func(one string) bool { return slices.Contains(words, one) })
	}
	var found []string
	for _, in := range p.Instructions {
		if has(in.Label) {
			found = append(found, "Label "+nameText(pc, in.Label, false))
		}
		if has(in.Beneficiary.Label) {
			found = append(found, "Beneficiary "+nameText(pc, in.Beneficiary.Label, false))
		}
	}
	return strings.Join(slices.Compact(found[:min(len(found), 2)]), ", ")
}

func inMail(*page.Context, *payment.Payment, string) string {
	return "E-mail address of the payer or a beneficiary"
}

// matching returns the first instruction that fits. If none fits, it returns the first instruction.
func matching(p *payment.Payment, fits func(payment.Instruction) bool) payment.Instruction {
	if i := slices.IndexFunc(p.Instructions, fits); i >= 0 {
		return p.Instructions[i]
	}
	return p.Instructions[0]
}

// beginsLabel reports whether the label of an instruction begins with a text.
func beginsLabel(in payment.Instruction, text string) bool {
	return strings.HasPrefix(strings.ToLower(in.Label), strings.ToLower(text))
}
