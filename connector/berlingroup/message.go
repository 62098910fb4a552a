package berlingroup

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// message is one message of the bank about a request, from tppMessages or from a problem of RFC
// 7807.
type message struct {
	Category string `json:"category"`
	Code     string `json:"code"`
	Path     string `json:"path"`
	Text     string `json:"text"`
}

// said has the fields of both forms of bodies.
type said struct {
	Messages   []message `json:"tppMessages"`
	Code       string    `json:"code"`
	Title      string    `json:"title"`
	Detail     string    `json:"detail"`
	Additional []struct {
		Code   string `json:"code"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"additionalErrors"`
}

// warning is the category of messages that refuse nothing.
const warning = "WARNING"

// messages converts both forms into one list, refusals first.
func (s said) messages() []message {
	all := slices.Clone(s.Messages)
	if s.Code != "" {
		all = append(all, message{Code: s.Code, Text: cmp.Or(s.Detail, s.Title)})
	}
	for _, one := range s.Additional {
		all = append(all, message{Code: one.Code, Text: cmp.Or(one.Detail, one.Title)})
	}
	refuses := func(m message) int {
		if m.Category == warning {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b message) int { return refuses(a) - refuses(b) })
	return all
}

// messages returns the messages of an answer, and none when it does not follow the standard.
func (b *Bank) messages(r request, a answer) []message {
	var body said
	if b.decode(r, a, &body) != nil {
		return nil
	}
	return body.messages()
}

// meaning is our error code for a code of the bank, and the remedy when the operator and not
// the payer can act.
type meaning struct {
	code   payment.ErrorCode
	remedy string
}

// What the operator can do about codes that are not the payer's problem.
const (
	certificateRemedy = "look at tls.certificate: the bank wants one that is valid, registered there and has the role for payments (PSP_PI) or accounts (PSP_AI)"
	signatureRemedy   = "look at the table signature: the bank does not take our signature"
	tokenRemedy       = "look at the table oauth: the bank does not take our access token"
	productRemedy     = "look at profile.payments: the bank does not have this product"
	requestRemedy     = "the bank does not take a request that is as the standard has it: look whether standard.version and the profile are right"
	clockRemedy       = "look whether this machine's clock is right"
	consentRemedy     = "the bank does not take the consent that goes with the request"
	busyRemedy        = "the bank takes no more requests for now"
)

// meanings are the codes of the standard, by bank-standards of the interface.
var meanings = map[string]meaning{
	"CERTIFICATE_INVALID": {payment.Bug, certificateRemedy},
	"CERTIFICATE_EXPIRED": {payment.Bug, certificateRemedy},
	"CERTIFICATE_BLOCKED": {payment.Bug, certificateRemedy},
	"CERTIFICATE_REVOKED": {payment.Bug, certificateRemedy},
	"CERTIFICATE_MISSING": {payment.Bug, certificateRemedy},
	"ROLE_INVALID":        {payment.Bug, certificateRemedy},
	"SIGNATURE_INVALID":   {payment.Bug, signatureRemedy},
	"SIGNATURE_MISSING":   {payment.Bug, signatureRemedy},
	"KID_MISSING":         {payment.Bug, signatureRemedy},
	"TOKEN_UNKNOWN":       {payment.Bug, tokenRemedy},
	"TOKEN_INVALID":       {payment.Bug, tokenRemedy},
	"TOKEN_EXPIRED":       {payment.Bug, tokenRemedy},
	"TIMESTAMP_INVALID":   {payment.Bug, clockRemedy},

	"PRODUCT_UNKNOWN":           {payment.Bug, productRemedy},
	"SERVICE_INVALID":           {payment.Bug, requestRemedy},
	"UNSUPPORTED_MEDIA_TYPE":    {payment.Bug, requestRemedy},
	"REQUESTED_FORMATS_INVALID": {payment.Bug, requestRemedy},
	"SESSIONS_NOT_SUPPORTED":    {payment.Bug, requestRemedy},
	"STATUS_INVALID":            {payment.Bug, requestRemedy},
	"REFERENCE_MIX_INVALID":     {payment.Bug, requestRemedy},
	"REFERENCE_STATUS_INVALID":  {payment.Bug, requestRemedy},
	"CONSENT_UNKNOWN":           {payment.Bug, consentRemedy},
	"CONSENT_INVALID":           {payment.Bug, consentRemedy},
	"CONSENT_EXPIRED":           {payment.Bug, consentRemedy},
	"ACCESS_EXCEEDED":           {payment.WebsiteUnavailable, busyRemedy},
	"SERVICE_UNAVAILABLE":       {payment.WebsiteUnavailable, busyRemedy},
	"INTERNAL_SERVER_ERROR":     {payment.WebsiteUnavailable, busyRemedy},

	"FORMAT_ERROR":             {payment.InvalidValue, ""},
	"PARAMETER_NOT_SUPPORTED":  {payment.InvalidValue, ""},
	"PARAMETER_NOT_CONSISTENT": {payment.InvalidValue, ""},
	"PERIOD_INVALID":           {payment.InvalidDate, ""},
	"EXECUTION_DATE_INVALID":   {payment.InvalidDate, ""},
	"RESOURCE_UNKNOWN":         {payment.InvalidEmitter, ""},
	"RESOURCE_BLOCKED":         {payment.InvalidEmitter, ""},
	"SERVICE_BLOCKED":          {payment.InvalidEmitter, ""},
	"CARD_INVALID":             {payment.InvalidEmitter, ""},
	"NO_PIIS_ACTIVATION":       {payment.InvalidEmitter, ""},
	"PRODUCT_INVALID":          {payment.InvalidEmitter, ""},
	"RESOURCE_EXPIRED":         {payment.NoAnswerFromCustomer, ""},
	"PSU_CREDENTIALS_INVALID":  {payment.AuthenticationFailed, ""},
	"CORPORATE_ID_INVALID":     {payment.AuthenticationFailed, ""},
	"SCA_METHOD_UNKNOWN":       {payment.AuthenticationFailed, ""},
	"SCA_INVALID":              {payment.AuthenticationFailed, ""},
	"FUNDS_NOT_AVAILABLE":      {payment.InsufficientFunds, ""},

	"BENEFICIARY_WHITELISTING_REQUIRED": {payment.InvalidBeneficiary, ""},
	"PAYMENT_FAILED":                    {payment.NoSpecifiedReason, ""},
	"CANCELLATION_INVALID":              {payment.NoSpecifiedReason, ""},
}

// reasons are codes of ISO 20022, which banks send in addition to those of the standard.
var reasons = map[payment.ErrorCode][]string{
	payment.InvalidEmitter:       {"AG01", "RR01", "RR02"},
	payment.InsufficientFunds:    {"AM04", "AG07"},
	payment.InvalidAmount:        {"AM01", "AM02", "AM06", "AM09", "AM12", "AM13", "AM14", "AM15", "AM21", "AM23"},
	payment.InvalidCurrency:      {"AM03", "AM11", "CURR"},
	payment.InvalidDate:          {"CH03", "CH04", "DT01", "DT03", "DT04", "DT05", "TM01"},
	payment.InvalidBeneficiary:   {"BE01", "BE06", "BE22", "CNOR", "RC01", "RC02", "RC03", "RC04", "RC05", "RC06", "RC07", "RR03", "SL11", "SL12"},
	payment.InvalidLabel:         {"CH15", "RR07", "RR10"},
	payment.InvalidReferenceID:   {"FF08", "DU04", "AM05", "DU03", "DUPL"},
	payment.RegulatoryReason:     {"RR04", "FRAD", "FR01", "AM07", "NOCM"},
	payment.AuthenticationFailed: {"U037"},
	payment.NoAnswerFromCustomer: {"NOAS", "DS24", "U036"},
	payment.NoSpecifiedReason:    {"MS02", "MS03"},
	payment.CancelledByUser:      {"CUST", "DS02"},
	payment.InvalidValue:         {"FF01", "FF02", "AM18", "AG03"},
	payment.WebsiteUnavailable:   {"FF10"},
}

// sided are reasons about an account. The path says whose account.
var sided = []string{"AC01", "AC04", "AC06"}

// places of a request that a bank can complain about, by the words in the path.
var complained = []struct {
	word string
	code payment.ErrorCode
}{
	{"currency", payment.InvalidCurrency},
	{"instructedamount", payment.InvalidAmount},
	{"amount", payment.InvalidAmount},
	{"creditor", payment.InvalidBeneficiary},
	{"debtor", payment.InvalidEmitter},
	{"remittance", payment.InvalidLabel},
	{"endtoend", payment.InvalidReferenceID},
	{"date", payment.InvalidDate},
	{"frequency", payment.InvalidDate},
	{"dayofexecution", payment.InvalidDate},
	{"monthsofexecution", payment.InvalidDate},
}

// placeOf returns what is wrong according to the path of a message, or "".
func placeOf(path string) payment.ErrorCode {
	path = strings.ToLower(path)
	for _, one := range complained {
		if strings.Contains(path, one.word) {
			return one.code
		}
	}
	return ""
}

// reasonForm is how a text begins with a reason of ISO 20022, for which the standard has
// no member.
var reasonForm = regexp.MustCompile(`^([A-Z]{4}|[A-Z]{2}[0-9]{2}): `)

// reason returns the code, of the standard or of ISO 20022, that says what a message is about,
// or "".
func (m message) reason() string {
	candidates := []string{m.Code}
	if found := reasonForm.FindStringSubmatch(m.Text); found != nil {
		candidates = append(candidates, found[1])
	}
	for _, code := range candidates {
		if _, known := meanings[code]; known || slices.Contains(sided, code) || reasonCode(code) != "" {
			return code
		}
	}
	return ""
}

// reasonCode returns our code for a reason of ISO 20022, or "".
func reasonCode(reason string) payment.ErrorCode {
	for code, all := range reasons {
		if slices.Contains(all, reason) {
			return code
		}
	}
	return ""
}

// meant returns the meaning of a message, and false when no table has its code.
func (m message) meant() (meaning, bool) {
	reason := m.reason()
	if slices.Contains(sided, reason) {
		code := placeOf(m.Path)
		return meaning{code: cmp.Or(code, payment.BankMessage)}, true
	}
	if code := reasonCode(reason); code != "" {
		return meaning{code: code}, true
	}
	found, known := meanings[reason]
	if place := placeOf(m.Path); place != "" && known && found.remedy == "" && (found.code == payment.InvalidValue || m.Code == "RESOURCE_UNKNOWN" || m.Code == "RESOURCE_BLOCKED") {
		found.code = place
	}
	return found, known
}

// statuses are the meanings of answers without a code of the standard.
var statuses = map[int]meaning{
	http.StatusBadRequest:           {payment.InvalidValue, ""},
	http.StatusUnauthorized:         {payment.Bug, certificateRemedy},
	http.StatusForbidden:            {payment.Bug, certificateRemedy},
	http.StatusNotFound:             {payment.Bug, "look at address.api: the bank knows no such path"},
	http.StatusMethodNotAllowed:     {payment.Bug, requestRemedy},
	http.StatusNotAcceptable:        {payment.Bug, requestRemedy},
	http.StatusUnsupportedMediaType: {payment.Bug, requestRemedy},
	http.StatusTooManyRequests:      {payment.WebsiteUnavailable, busyRemedy},
}

// judge returns the meaning of a refusal: that of the first known message, or of the status. A
// text without a known code is the bank's message to people.
func judge(status int, all []message) (meaning, string) {
	for _, m := range all {
		if found, known := m.meant(); known {
			return found, m.Text
		}
	}
	found, known := statuses[status]
	if len(all) > 0 && all[0].Text != "" && (!known || found.remedy == "") {
		return meaning{code: payment.BankMessage}, all[0].Text
	}
	if !known {
		found = meaning{code: payment.NoSpecifiedReason}
	}
	return found, ""
}

// refusal returns what a refused request means for an order: a *payment.Refusal when that is
// final, connector.ErrNotSent when the bank accepted nothing for now, and otherwise an unknown
// outcome. When the operator can act, the error is also a fault.
func (b *Bank) refusal(r request, a answer) error {
	all := b.messages(r, a)
	what, text := judge(a.status, all)
	says := strings.TrimSpace(fmt.Sprintf("it answers %d %s", a.status, words(all))) + ": " + cmp.Or(what.remedy, requestRemedy)
	switch {
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable && codeOf(all) != "":
		return b.fault(r, connector.ErrNotSent, says)
	case a.status == http.StatusRequestTimeout, a.status >= http.StatusInternalServerError, a.status == http.StatusConflict && len(all) == 0:
		return b.fault(r, errUnknownOutcome, fmt.Sprintf("it answers %d, and nobody knows whether it has done what it was asked to", a.status))
	case what.remedy != "":
		return b.fault(r, &payment.Refusal{Code: what.code, Description: text}, says)
	}
	return &payment.Refusal{Code: what.code, Description: text}
}

// errUnknownOutcome reports that a bank failed in the middle of something.
var errUnknownOutcome = errors.New("the outcome is not known")

// unanswered returns what an unanswered question about an order means.
func (b *Bank) unanswered(r request, a answer) error {
	all := b.messages(r, a)
	what, _ := judge(a.status, all)
	says := strings.TrimSpace(fmt.Sprintf("it answers %d %s", a.status, words(all)))
	if what.remedy != "" {
		says += ": " + what.remedy
	}
	return b.fault(r, errRefused, says)
}

// words are the codes of messages for the timeline.
func words(all []message) string {
	var codes []string
	for _, m := range all {
		if m.Code != "" && !slices.Contains(codes, m.Code) {
			codes = append(codes, m.Code)
		}
	}
	return strings.Join(codes, " ")
}

// readStates are the states in which a read ends that the bank refuses with a code, where it is
// not for the operator to do something: then it is a bug. SCARequired means that the consent
// must be renewed.
var readStates = map[string]passerelle.ConnectionState{
	"CONSENT_UNKNOWN":         passerelle.SCARequired,
	"CONSENT_INVALID":         passerelle.SCARequired,
	"CONSENT_EXPIRED":         passerelle.SCARequired,
	"TOKEN_UNKNOWN":           passerelle.SCARequired,
	"TOKEN_INVALID":           passerelle.SCARequired,
	"TOKEN_EXPIRED":           passerelle.SCARequired,
	"STATUS_INVALID":          passerelle.SCARequired,
	"SCA_METHOD_UNKNOWN":      passerelle.SCARequired,
	"SCA_INVALID":             passerelle.SCARequired,
	"PSU_CREDENTIALS_INVALID": passerelle.Wrongpass,
	"CORPORATE_ID_INVALID":    passerelle.Wrongpass,
	"SERVICE_BLOCKED":         passerelle.ActionNeeded,
	"RESOURCE_BLOCKED":        passerelle.ActionNeeded,
	"ACCESS_EXCEEDED":         passerelle.RateLimiting,
	"RESOURCE_EXPIRED":        passerelle.WebsiteUnavailable,
	"SERVICE_UNAVAILABLE":     passerelle.WebsiteUnavailable,
	"INTERNAL_SERVER_ERROR":   passerelle.WebsiteUnavailable,
}

// readRemedies are about codes whose meaning for reads is another than for payments.
var readRemedies = map[string]string{
	"PERIOD_INVALID":          "look at profile.accounts.history_days: the bank does not tell transactions that far back",
	"SERVICE_INVALID":         "look at profile.accounts: the bank does not have this call",
	"RESOURCE_UNKNOWN":        "the bank does not know an account or a page that it named itself",
	"CONSENT_INVALID":         consentRemedy,
	"PARAMETER_NOT_SUPPORTED": "look at profile.accounts: the bank does not have a consent or a query of that kind",
}

// readRefusal returns what a refusal of the bank means for a read.
type readRefusal struct {
	state      passerelle.ConnectionState
	message    string
	retryAfter time.Duration
	// fault is for the operator, nil where it is for the person or for time.
	fault error
}

func (r *readRefusal) Error() string { return "the bank refuses a read: " + string(r.state) }

// refused returns what an answer without success means for a read.
func (b *Bank) refused(r request, a answer) error {
	all := b.messages(r, a)
	refusal := &readRefusal{state: readState(a.status, all), retryAfter: retryAfter(a.header, b.now())}
	if refusal.state == passerelle.Bug {
		what, _ := judge(a.status, all)
		remedy := cmp.Or(readRemedies[codeOf(all)], what.remedy, requestRemedy)
		refusal.fault = b.fault(r, errRefused, strings.TrimSpace(fmt.Sprintf("it answers %d %s", a.status, words(all)))+": "+remedy)
	}
	for _, m := range all {
		if refusal.state == passerelle.Wrongpass || refusal.state == passerelle.ActionNeeded {
			refusal.message = cmp.Or(refusal.message, m.Text)
		}
	}
	return refusal
}

// errRefused reports that the bank does not accept our request.
var errRefused = errors.New("the bank refuses the request")

// readState is the state that the first known code, or else the status, stands for.
func readState(status int, all []message) passerelle.ConnectionState {
	if code := codeOf(all); code != "" {
		return cmp.Or(readStates[code], passerelle.Bug)
	}
	switch {
	case status == http.StatusTooManyRequests:
		return passerelle.RateLimiting
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		return passerelle.WebsiteUnavailable
	}
	return passerelle.Bug
}

// codeOf returns the first code that the standard has.
func codeOf(all []message) string {
	for _, m := range all {
		if _, known := meanings[m.Code]; known {
			return m.Code
		}
	}
	return ""
}

// retryAfter is how long a bank wants not to be asked (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	reported := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(reported); err == nil {
		return time.Duration(min(max(seconds, 0), maxLife)) * time.Second
	}
	if at, err := http.ParseTime(reported); err == nil {
		return min(max(at.Sub(now), 0), maxLife*time.Second)
	}
	return 0
}
