package cfonb

import (
	"slices"

	"passerelle"
)

// These are the interbank codes for the types and signs of transactions.
const (
	checkPaid      = "01"
	checkDeposited = "02"
	cashDeposited  = "04"
	received       = "05"
	sent           = "06"
	returned       = "12"
	otherReceived  = "18"
	otherSent      = "21"
	cardPayment    = "28"
	cashWithdrawal = "29"
	cardTaking     = "30"
	charge         = "62"
	interest       = "63"
	loanDrawn      = "71"
	loanInstalment = "72"
	otherCredit    = "91"
	correction     = "99"
	debitCollected = "A1"
	debitPaid      = "B1"
)

// operations maps types to their codes for outgoing and incoming money.
var operations = map[passerelle.TransactionType]struct{ debit, credit string }{
	"transfer":       {sent, received},
	"order":          {debitPaid, debitCollected},
	"check":          {checkPaid, checkDeposited},
	"deposit":        {correction, cashDeposited},
	"withdrawal":     {cashWithdrawal, correction},
	"payback":        {otherSent, otherReceived},
	"refund":         {otherSent, returned},
	"payout":         {otherSent, otherReceived},
	"payment":        {otherSent, otherReceived},
	"loan_repayment": {loanInstalment, loanDrawn},
	"bank":           {charge, correction},
	"fee":            {charge, correction},
	"market_fee":     {charge, correction},
	"profit":         {correction, interest},
	"card":           {cardPayment, cardTaking},
	"deferred_card":  {cardPayment, cardTaking},
	"summary_card":   {cardPayment, cardTaking},
}

// Operation returns the interbank code for the type and the direction of a transaction. For unknown
// types the code is 91 for credits and 99 for debits.
func Operation(t passerelle.TransactionType, amount int64) string {
	codes, known := operations[t]
	switch {
	case known && amount < 0:
		return codes.debit
	case known:
		return codes.credit
	case amount < 0:
		return correction
	}
	return otherCredit
}

// kinds lists the interbank codes of each type, for reading. Codes that fit no type, such as those of
// rejected payments, are in no list.
var kinds = map[passerelle.TransactionType][]string{
	"transfer":       {received, sent, otherReceived, otherSent, "13", "14", "39", "41", "44", "45", "C1", "C2"},
	"order":          {debitCollected, debitPaid, "08", "09", "22", "24", "96", "97", "A2", "B2"},
	"check":          {checkPaid, checkDeposited, "15"},
	"deposit":        {cashDeposited},
	"withdrawal":     {cashWithdrawal},
	"card":           {cardPayment, cardTaking},
	"bank":           {charge, "61", "64", "65", "66", "70", "88"},
	"profit":         {interest, "87"},
	"loan_repayment": {loanDrawn, loanInstalment},
}

// TypeOf returns the type of a movement by its interbank code, or "" for a code that fits no type.
func TypeOf(operation string) passerelle.TransactionType {
	for kind, codes := range kinds {
		if slices.Contains(codes, operation) {
			return kind
		}
	}
	return ""
}
