package aggregation

import (
	"strings"

	"passerelle"
)

// categories are words of labels, in capitals, and the category of transactions
// whose label has one; parent and own code are joined by a dot. The first match
// counts, so that longer words come before those they contain.
var categories = []struct{ word, code string }{
	{"SALAIRE", "income.salary"},
	{"SALARY", "income.salary"},
	{"PAYROLL", "income.salary"},
	{"GEHALT", "income.salary"},
	{"ASSURANCE", "home.insurance"},
	{"INSURANCE", "home.insurance"},
	{"LOYER", "home.rent"},
	{"RENT ", "home.rent"},
	{"ELECTRIC", "home.energy"},
	{"ENERGIE", "home.energy"},
	{"WATER", "home.water"},
	{"INTERNET", "home.telecom"},
	{"MOBILE", "home.telecom"},
	{"RESTAURANT", "food.restaurants"},
	{"CAFE", "food.restaurants"},
	{"BOULANGERIE", "food.groceries"},
	{"SUPERMARCHE", "food.groceries"},
	{"SUPERMARKET", "food.groceries"},
	{"GROCER", "food.groceries"},
	{"MARCHE", "food.groceries"},
	{"TRAIN", "transport.public"},
	{"METRO", "transport.public"},
	{"TAXI", "transport.taxi"},
	{"FUEL", "transport.car"},
	{"PARKING", "transport.car"},
	{"PHARMACIE", "health.pharmacy"},
	{"PHARMACY", "health.pharmacy"},
	{"DOCTEUR", "health.doctor"},
	{"HOTEL", "leisure.travel"},
	{"CINEMA", "leisure.culture"},
	{"IMPOT", "taxes.income_tax"},
	{"TAX ", "taxes.income_tax"},
	{"RETRAIT", "cash.withdrawal"},
	{"WITHDRAWAL", "cash.withdrawal"},
}

// byType are the categories of transactions whose label says nothing.
var byType = map[passerelle.TransactionType]string{
	"withdrawal": "cash.withdrawal", "fee": "bank.fees", "bank": "bank.fees", "loan_repayment": "home.loan",
}

// categorize finds the category of a transaction by its label, then by its
// type; none is no category.
func categorize(d passerelle.TransactionDetails) []string {
	label := " " + strings.ToUpper(d.Wording) + " "
	for _, c := range categories {
		if strings.Contains(label, c.word) {
			return []string{c.code}
		}
	}
	if code, known := byType[d.Type]; known {
		return []string{code}
	}
	return nil
}
