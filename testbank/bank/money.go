package bank

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// currency is the currency of all accounts.
const currency = "EUR"

var amountPattern = regexp.MustCompile(`^[0-9]{1,14}(\.[0-9]{1,3})?$`)

// Amount is an amount of money as the standard represents it.
type Amount struct {
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
}

// parseAmount converts an amount above zero to minor units.
func parseAmount(a Amount, path string) (int64, error) {
	if a.Currency != currency {
		return 0, wrongFormat(path+".currency", "the bank has accounts in EUR alone")
	}
	if !amountPattern.MatchString(a.Amount) {
		return 0, wrongFormat(path+".amount", "an amount is up to 14 digits, and a point and two more")
	}
	whole, cents, _ := strings.Cut(a.Amount, ".")
	cents = strings.TrimRight(cents, "0")
	if len(cents) > 2 {
		return 0, wrongFormat(path+".amount", "euros have two decimals")
	}
	value, err := strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
	if err != nil || value == 0 {
		return 0, wrongFormat(path+".amount", "the amount has to be above zero")
	}
	return value, nil
}

// Euros converts minor units to an amount in euros.
func Euros(minor int64) Amount { return Amount{currency, Decimal(minor)} }

// Decimal formats minor units without the currency.
func Decimal(minor int64) string {
	sign := ""
	if minor < 0 {
		sign, minor = "-", -minor
	}
	return fmt.Sprintf("%s%d.%02d", sign, minor/100, minor%100)
}
