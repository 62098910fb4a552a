package passerelle_test

import (
	"fmt"
	"strings"
	"testing"

	"passerelle"
)

// Numbers and codes are unique, and every parent exists.
func TestCategories(t *testing.T) {
	codes, ids := map[string]bool{}, map[passerelle.CategoryID]bool{}
	for _, c := range passerelle.Categories() {
		parent, known := passerelle.CategoryByID(c.Parent)
		if codes[c.Code] || ids[c.ID] || c.Name == "" || c.ID >= passerelle.FirstOwnCategory || known != (c.Parent != 0) {
			t.Errorf("%+v", c)
		}
		if c.Parent != 0 && !strings.HasPrefix(c.Code, parent.Code+".") || c.Parent == 0 && c.Color == "" || parent.Income && !c.Income {
			t.Errorf("%+v below %+v", c, parent)
		}
		codes[c.Code], ids[c.ID] = true, true
		if got := passerelle.CategoryNumber([]string{c.Code, "food"}); got != c.ID {
			t.Errorf("%s is %d", c.Code, got)
		}
	}
	if _, known := passerelle.CategoryByID(9999); known {
		t.Error("a category that is none")
	}
}

func TestCategoryNumber(t *testing.T) {
	food, _ := passerelle.CategoryByID(20)
	for code, want := range map[string]passerelle.CategoryID{
		passerelle.OwnCode(10_007, food): 10_007, passerelle.OwnCode(10_000, passerelle.Category{}): 10_000,
		"own-3": 9998, "own-x": 9998, "groceries": 9998, "own-": 9998, "": 9998,
	} {
		if got := passerelle.CategoryNumber([]string{code}); got != want {
			t.Errorf("%q: %d, want %d", code, got, want)
		}
	}
	if passerelle.CategoryNumber(nil) != passerelle.Uncategorized {
		t.Error("no category has a number")
	}
}

// Every built-in category is found by the last part of its code alone.
func TestWithParent(t *testing.T) {
	for _, c := range passerelle.Categories() {
		if got := passerelle.WithParent(c.Code[strings.LastIndexByte(c.Code, '.')+1:]); got != c.Code {
			t.Errorf("%s: %s", c.Code, got)
		}
	}
	for _, code := range []string{"", "nothing", "ent", "own-10007", "home.rent"} {
		if got := passerelle.WithParent(code); got != code {
			t.Errorf("%q: %q", code, got)
		}
	}
}

// Categorize finds the category by a word in the label and, without such a word, by the type.
func TestCategorize(t *testing.T) {
	for label, want := range map[string]string{
		"vir salaire novembre": "[income.salary] 2", "CARTE CAFE DE LA GARE": "[food.restaurants] 22", "Rent": "[home.rent] 11", "Retrait DAB": "[cash.withdrawal] 71", "VIR CARSAT RETRAITE": "[] 9998", "Parent's club": "[] 9998", "": "[] 9998",
	} {
		got := passerelle.Categorize(label, "card")
		if text := fmt.Sprint(got, " ", passerelle.CategoryNumber(got)); text != want {
			t.Errorf("%q: %s, want %s", label, text, want)
		}
	}
	for kind, want := range map[passerelle.TransactionType]passerelle.CategoryID{"withdrawal": 71, "fee": 81, "loan_repayment": 12, "market_order": 91, "refund": 4, "card": 9998} {
		if got := passerelle.CategoryNumber(passerelle.Categorize("x", kind)); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}
