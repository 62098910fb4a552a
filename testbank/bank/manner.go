package bank

import (
	"slices"
	"strings"
)

// Wire is a way in which a response fails on the network.
type Wire string

// These are the ways in which a response fails. All except Gone happen after the bank has executed
// the request.
const (
	// Slow responds after some seconds.
	Slow Wire = "slow"
	// Hang never responds.
	Hang Wire = "hang"
	// Lost closes the connection instead of responding.
	Lost Wire = "lost"
	// Cut closes the connection in the middle of the response.
	Cut Wire = "cut"
	// Malformed responds with a body that is not JSON.
	Malformed Wire = "malformed"
	// Huge sends a response of 1 GiB, or less if the reader stops.
	Huge Wire = "huge"
	// Deep responds with deeply nested arrays.
	Deep Wire = "deep"
	// Elsewhere redirects the caller to another host.
	Elsewhere Wire = "elsewhere"
	// Gone closes the connection before the bank does anything.
	Gone Wire = "gone"
	// Duplicates lists transactions twice.
	Duplicates Wire = "duplicates"
)

// Manner is one way in which the bank fails on demand.
type Manner struct {
	// Word selects the manner: the creditor's name is "Fault WORD".
	Word string
	// Amount is the amount in euros that also selects the manner. Its euros name the kind of
	// failure, and its cents the failure.
	Amount string
	Shows  string

	// Code is the code of the standard with which the bank refuses the order.
	Code string
	// Status is the HTTP status with which the bank refuses the order, without a body.
	Status int
	Wire   Wire
	// Reason is the reason for which the bank refuses the order, or a line of a bulk, at execution.
	Reason string
	// Stays is the transaction status that the order keeps. The bank never executes such an order.
	Stays string
	// Silent means that the customer's approval gets no response.
	Silent bool
	// Fails means that the customer's approval fails.
	Fails bool
	// Again means that a failed authorisation does not end the order. Another authorisation may
	// follow.
	Again bool
}

// Manners lists all manners that an order can select.
func Manners() []Manner {
	all := []Manner{
		{Word: "slow", Amount: "13.01", Wire: Slow, Shows: "accepts the order, and responds after 3 seconds"},
		{Word: "hang", Amount: "13.02", Wire: Hang, Shows: "accepts the order, and never responds"},
		{Word: "lost", Amount: "13.03", Wire: Lost, Shows: "accepts the order, and closes the connection without a response"},
		{Word: "cut", Amount: "13.04", Wire: Cut, Shows: "accepts the order, and closes the connection in the middle of the response"},
		{Word: "malformed", Amount: "13.05", Wire: Malformed, Shows: "accepts the order, and responds with invalid JSON"},
		{Word: "huge", Amount: "13.06", Wire: Huge, Shows: "accepts the order, and sends an endless response"},
		{Word: "deep", Amount: "13.07", Wire: Deep, Shows: "accepts the order, and responds with 10 MB of nested arrays"},
		{Word: "elsewhere", Amount: "13.08", Wire: Elsewhere, Shows: "accepts the order, and redirects the caller to another host"},
		{Word: "429", Amount: "13.29", Status: 429, Shows: "refuses the order: too many requests"},
		{Word: "500", Amount: "13.50", Status: 500, Shows: "refuses the order: internal error at the bank"},
		{Word: "503", Amount: "13.53", Status: 503, Shows: "refuses the order: the bank is closed"},
		{Word: "silent", Amount: "13.60", Silent: true, Shows: "accepts the order, and never responds to the customer's approval"},
		{Word: "sca", Amount: "13.61", Fails: true, Shows: "accepts the order, and the customer's approval fails"},
		{Word: "again", Amount: "13.62", Again: true, Shows: "accepts the order, and keeps it open when the customer refuses, for another authorisation"},
	}
	for i, reason := range reasons {
		all = append(all, Manner{Word: reason.code, Amount: "14." + twoDigits(i+1), Reason: reason.code, Shows: "rejects the order, or the line of a bulk, at execution: " + reason.text})
	}
	for i, code := range Codes() {
		all = append(all, Manner{Word: code, Amount: "15." + twoDigits(i+1), Code: code, Shows: "refuses the order with this code"})
	}
	for i, status := range []string{"RCVD", "PDNG", "ACTC", "ACCP", "ACFC", "ACSP", "ACWC", "ACWP", "PATC", "ZZZZ"} {
		all = append(all, Manner{Word: status, Amount: "16." + twoDigits(i+1), Stays: status, Shows: "keeps the approved order in " + status})
	}
	return all
}

func twoDigits(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }

// reasons lists the reasons of ISO 20022 for which the bank refuses orders.
var reasons = []struct{ code, text string }{
	{"AC01", "the account number is wrong"},
	{"AC04", "the account is closed"},
	{"AC06", "the account is blocked"},
	{"AG01", "transfers are not allowed on the account"},
	{"AM02", "the amount is not allowed"},
	{"AM03", "the currency is not allowed"},
	{"AM04", "there are not enough funds"},
	{"AM05", "it is a duplicate"},
	{"AM09", "the amount is wrong"},
	{"BE06", "the creditor is not known"},
	{"CUST", "the customer refused"},
	{"DT01", "the date is wrong"},
	{"FF01", "the format is wrong"},
	{"FRAD", "it looks like fraud"},
	{"MS03", "no reason is given"},
	{"NOAS", "the customer did not answer"},
	{"RC01", "the bank identifier is wrong"},
	{"RR04", "regulation forbids it"},
}

// ReasonText returns the meaning of a reason.
func ReasonText(code string) string {
	i := slices.IndexFunc(reasons, func(r struct{ code, text string }) bool { return r.code == code })
	if i < 0 {
		return "the bank refused the order"
	}
	return reasons[i].text
}

// Codes lists the error codes of the standard in alphabetical order.
func Codes() []string {
	var all []string
	for code := range codeStatus {
		all = append(all, code)
	}
	slices.Sort(all)
	return all
}

// mannerPrefix begins a creditor name that selects a manner.
const mannerPrefix = "Fault "

// manner returns the manner that a line selects. The zero Manner is the usual execution.
func (l Line) manner() Manner {
	word, asks := strings.CutPrefix(l.Creditor, mannerPrefix)
	for _, m := range Manners() {
		if asks && m.Word == word || m.Amount == Decimal(l.Amount) {
			return m
		}
	}
	return Manner{}
}

// MannerOf returns the manner that the first line of an order selects. For a bulk, Reason is empty,
// because each line selects its own reason.
func MannerOf(o *Order) Manner {
	m := o.Lines[0].manner()
	if o.Service == Bulk {
		m.Reason = ""
	}
	return m
}

// refusal returns the refusal with which the bank responds to the order, or nil. A refusal with a
// code names the member that selects the manner.
func (l Line) refusal(m Manner) error {
	switch {
	case m.Code != "" && m.Amount == Decimal(l.Amount):
		return Refuse(m.Code, "instructedAmount.amount", "the amount asks for this refusal")
	case m.Code != "":
		return Refuse(m.Code, "creditorName", "the creditor's name asks for this refusal")
	case m.Status != 0:
		return &Refusal{Status: m.Status}
	}
	return nil
}
