package passerelle

import (
	"strconv"
	"strings"
)

// CategoryID identifies a category of transactions: a built-in category or one that a user
// created.
type CategoryID int64

const (
	// Uncategorized stands for no category.
	Uncategorized CategoryID = 9998
	// FirstOwnCategory is the lowest number for categories that users create.
	FirstOwnCategory CategoryID = 10_000
)

// Category is a kind of transactions. Code is the name of the category in transactions. When the
// category has a parent, Code begins with the parent's code and a dot, such as income.salary.
type Category struct {
	ID     CategoryID
	Code   string
	Parent CategoryID
	Name   string
	// Income marks a category of incoming money. Refundable marks a category of expenses
	// that are often refunded.
	Income, Refundable bool
	Color              string
	// User is the user who created the category. It is zero for built-in categories.
	User UserID
}

// The numbers and codes of categories never change.
var categories = []Category{
	{ID: 1, Code: "income", Name: "Income", Income: true, Color: "2E7D32"},
	{ID: 2, Code: "income.salary", Parent: 1, Name: "Salary", Income: true},
	{ID: 3, Code: "income.benefits", Parent: 1, Name: "Benefits", Income: true},
	{ID: 4, Code: "income.refund", Parent: 1, Name: "Refunds", Income: true},
	{ID: 5, Code: "income.interest", Parent: 1, Name: "Interest and dividends", Income: true},
	{ID: 10, Code: "home", Name: "Home", Color: "1565C0"},
	{ID: 11, Code: "home.rent", Parent: 10, Name: "Rent"},
	{ID: 12, Code: "home.loan", Parent: 10, Name: "Loan"},
	{ID: 13, Code: "home.insurance", Parent: 10, Name: "Insurance"},
	{ID: 14, Code: "home.energy", Parent: 10, Name: "Energy"},
	{ID: 15, Code: "home.water", Parent: 10, Name: "Water"},
	{ID: 16, Code: "home.telecom", Parent: 10, Name: "Telephone and internet"},
	{ID: 20, Code: "food", Name: "Food", Color: "EF6C00"},
	{ID: 21, Code: "food.groceries", Parent: 20, Name: "Groceries"},
	{ID: 22, Code: "food.restaurants", Parent: 20, Name: "Restaurants", Refundable: true},
	{ID: 30, Code: "transport", Name: "Transport", Color: "6A1B9A"},
	{ID: 31, Code: "transport.public", Parent: 30, Name: "Public transport", Refundable: true},
	{ID: 32, Code: "transport.taxi", Parent: 30, Name: "Taxi", Refundable: true},
	{ID: 33, Code: "transport.car", Parent: 30, Name: "Car", Refundable: true},
	{ID: 40, Code: "health", Name: "Health", Color: "C62828"},
	{ID: 41, Code: "health.pharmacy", Parent: 40, Name: "Pharmacy", Refundable: true},
	{ID: 42, Code: "health.doctor", Parent: 40, Name: "Doctor", Refundable: true},
	{ID: 50, Code: "leisure", Name: "Leisure", Color: "00838F"},
	{ID: 51, Code: "leisure.travel", Parent: 50, Name: "Travel", Refundable: true},
	{ID: 52, Code: "leisure.culture", Parent: 50, Name: "Culture"},
	{ID: 53, Code: "leisure.shopping", Parent: 50, Name: "Shopping"},
	{ID: 60, Code: "taxes", Name: "Taxes", Color: "4E342E"},
	{ID: 61, Code: "taxes.income_tax", Parent: 60, Name: "Income tax"},
	{ID: 70, Code: "cash", Name: "Cash", Color: "455A64"},
	{ID: 71, Code: "cash.withdrawal", Parent: 70, Name: "Withdrawals"},
	{ID: 80, Code: "bank", Name: "Bank", Color: "283593"},
	{ID: 81, Code: "bank.fees", Parent: 80, Name: "Fees"},
	{ID: 90, Code: "savings", Name: "Savings", Color: "558B2F"},
	{ID: 91, Code: "savings.investment", Parent: 90, Name: "Investments"},
	{ID: Uncategorized, Code: "uncategorized", Name: "Uncategorized", Color: "9E9E9E"},
}

// Categories lists the built-in categories by number.
func Categories() []Category { return append([]Category(nil), categories...) }

// CategoryByID returns the built-in category with an id, and false when no built-in category has
// the id.
func CategoryByID(id CategoryID) (Category, bool) {
	for _, c := range categories {
		if c.ID == id {
			return c, true
		}
	}
	return Category{}, false
}

// ownPrefix is the prefix of the codes of categories that users created.
const ownPrefix = "own-"

// OwnCode returns the code of a category that a user created, with or without a parent.
func OwnCode(id CategoryID, parent Category) string {
	code := ownPrefix + strconv.FormatInt(int64(id), 10)
	if parent.ID == 0 {
		return code
	}
	return parent.Code + "." + code
}

// CategoryNumber returns the number of the first code. For no codes and for an unknown first code,
// it returns Uncategorized. It does not check that a category created by a user exists.
func CategoryNumber(codes []string) CategoryID {
	if len(codes) == 0 {
		return Uncategorized
	}
	last := codes[0][strings.LastIndexByte(codes[0], '.')+1:]
	if digits, own := strings.CutPrefix(last, ownPrefix); own {
		if id, err := strconv.ParseInt(digits, 10, 64); err == nil && CategoryID(id) >= FirstOwnCategory {
			return CategoryID(id)
		}
	}
	for _, c := range categories {
		if c.Code == codes[0] {
			return c.ID
		}
	}
	return Uncategorized
}

// WithParent returns the code of the built-in category that has the code as its last part, such as
// home.rent for rent. It returns the code of any other category unchanged. No two built-in
// categories have the same last part.
func WithParent(code string) string {
	for _, c := range categories {
		if c.Parent != 0 && strings.HasSuffix(c.Code, "."+code) {
			return c.Code
		}
	}
	return code
}

// labelWords maps words to categories. Categorize uses the first row whose word is in the label. A
// word therefore precedes the shorter words that it contains. The words are in capitals.
var labelWords = []struct{ word, code string }{
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
	{"RETRAIT ", "cash.withdrawal"},
	{"WITHDRAWAL", "cash.withdrawal"},
}

// typeCategories maps types to the categories of transactions without a known word in the label.
var typeCategories = map[TransactionType]string{
	"withdrawal": "cash.withdrawal", "fee": "bank.fees", "bank": "bank.fees", "loan_repayment": "home.loan", "market_order": "savings.investment", "refund": "income.refund",
}

// Categorize returns the codes of a transaction's category. It uses the first row of labelWords
// whose word is in the label. If the label contains none of these words, it uses the type. It
// returns nil when the type has no category either.
func Categorize(label string, kind TransactionType) []string {
	label = " " + strings.ToUpper(label) + " "
	for _, c := range labelWords {
		if strings.Contains(label, c.word) {
			return []string{c.code}
		}
	}
	if code, known := typeCategories[kind]; known {
		return []string{code}
	}
	return nil
}
