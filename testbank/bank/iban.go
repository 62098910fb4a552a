package bank

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

var ibanPattern = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{1,30}$`)

// germanIBAN makes the IBAN of an account at a bank, with its check digits.
func germanIBAN(bankCode string, account int) string {
	number := fmt.Sprintf("%s%010d", bankCode, account)
	return fmt.Sprintf("DE%02d%s", 98-remainder(number+"DE00"), number)
}

// validIBAN checks the form and the check digits of an IBAN.
func validIBAN(iban string) bool {
	return ibanPattern.MatchString(iban) && remainder(iban[4:]+iban[:4]) == 1
}

// remainder calculates ISO 7064 MOD 97-10 over digits and letters.
func remainder(text string) int64 {
	var digits strings.Builder
	for _, c := range strings.ToUpper(text) {
		if c >= 'A' {
			fmt.Fprintf(&digits, "%d", c-'A'+10)
		} else {
			digits.WriteRune(c)
		}
	}
	number, _ := new(big.Int).SetString(digits.String(), 10)
	return new(big.Int).Mod(number, big.NewInt(97)).Int64()
}
