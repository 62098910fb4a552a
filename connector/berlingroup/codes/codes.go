// Package codes translates the statuses and error codes of the XS2A API to the terms of the
// service.
//
// It maps statuses to states of a payment. It maps error codes, in both forms of error bodies, to
// our codes, to states of a connection, and to remedies for the operator. It maps errors of
// authorisation servers to remedies. Its callers ask the bank and act on the result. The package
// only computes and never fails: Rank returns zero for an unknown status, and for an unknown code,
// the HTTP status decides.
package codes

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/payment"
)

// Message is one message of the bank about a request. A body contains messages in one of two forms:
// tppMessages or a problem of RFC 7807.
type Message struct {
	Category string `json:"category"`
	Code     string `json:"code"`
	Path     string `json:"path"`
	Text     string `json:"text"`
}

// Body contains the fields of both forms of bodies.
type Body struct {
	Messages   []Message `json:"tppMessages"`
	Code       string    `json:"code"`
	Title      string    `json:"title"`
	Detail     string    `json:"detail"`
	Additional []struct {
		Code   string `json:"code"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"additionalErrors"`
}

// warning is the category of messages that are not refusals.
const warning = "WARNING"

// All returns the messages of both forms in one list, refusals first.
func (s Body) All() []Message {
	all := slices.Clone(s.Messages)
	if s.Code != "" {
		all = append(all, Message{Code: s.Code, Text: cmp.Or(s.Detail, s.Title)})
	}
	for _, one := range s.Additional {
		all = append(all, Message{Code: one.Code, Text: cmp.Or(one.Detail, one.Title)})
	}
	return slices.Concat(Refusals(all), slices.DeleteFunc(all, func(m Message) bool { return m.Category != warning }))
}

// Refusals returns the messages that are not warnings.
func Refusals(all []Message) []Message {
	return slices.DeleteFunc(slices.Clone(all), func(m Message) bool { return m.Category == warning })
}

// Meaning contains one of the service's codes and, for some refusals, a text for the operator.
type Meaning struct {
	Code payment.ErrorCode
	// Remedy is a text for the operator: what to do or, if the operator can do nothing, the cause.
	// It may be empty.
	Remedy string
}

// OfService reports whether a bank refuses the service itself rather than one request.
func (m Meaning) OfService() bool {
	return slices.Contains([]string{certificateRemedy, certificatesRemedy, signatureRemedy, clockRemedy}, m.Remedy)
}

// Signed returns the meaning for a signed request. A bank that refuses a certificate may mean the
// transport certificate or the signing certificate.
func (m Meaning) Signed() Meaning {
	if m.Remedy == certificateRemedy {
		m.Remedy = certificatesRemedy
	}
	return m
}

// These are the texts for the operator.
const (
	certificateRemedy  = "check tls.certificate: the bank requires a valid certificate that is registered with the bank and has the role for payments (PSP_PI) or accounts (PSP_AI)"
	certificatesRemedy = "check tls.certificate and signature.certificate: the bank requires valid certificates that are registered with the bank and have the role for payments (PSP_PI) or accounts (PSP_AI)"
	signatureRemedy    = "check the table signature: the bank does not accept our signature"
	tokenRemedy        = "check the table oauth: the bank does not accept our access token"
	productRemedy      = "check profile.payments: the bank does not have this product"
	RequestRemedy      = "the bank does not accept a request that follows the standard: check that standard.version and the profile are right"
	clockRemedy        = "check that this machine's clock is right"
	consentRemedy      = "the bank does not accept the consent of the request"
	busyRemedy         = "the bank accepts no more requests for now"
)

// meanings maps the codes of the standard to their meanings.
var meanings = map[string]Meaning{
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
	"SERVICE_INVALID":           {payment.Bug, RequestRemedy},
	"UNSUPPORTED_MEDIA_TYPE":    {payment.Bug, RequestRemedy},
	"REQUESTED_FORMATS_INVALID": {payment.Bug, RequestRemedy},
	"SESSIONS_NOT_SUPPORTED":    {payment.Bug, RequestRemedy},
	"STATUS_INVALID":            {payment.Bug, RequestRemedy},
	"REFERENCE_MIX_INVALID":     {payment.Bug, RequestRemedy},
	"REFERENCE_STATUS_INVALID":  {payment.Bug, RequestRemedy},
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

// reasons maps our codes to reasons of ISO 20022. Banks send reasons in addition to the codes of
// the standard.
var reasons = map[payment.ErrorCode][]string{
	payment.InvalidEmitter:       {"AC02", "AC05", "AG01", "RR01", "RR02"},
	payment.InsufficientFunds:    {"AM04", "AG07"},
	payment.InvalidAmount:        {"AM01", "AM02", "AM06", "AM09", "AM12", "AM13", "AM14", "AM15", "AM21", "AM23"},
	payment.InvalidCurrency:      {"AM03", "AM11", "CURR"},
	payment.InvalidDate:          {"CH03", "CH04", "DT01", "DT03", "DT04", "DT05", "TM01"},
	payment.InvalidBeneficiary:   {"AC03", "AC07", "BE01", "BE06", "BE22", "CNOR", "RC01", "RC02", "RC03", "RC04", "RC05", "RC06", "RC07", "RR03", "SL11", "SL12"},
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

// sided lists reasons about an account that do not say whose account it is. The path of the message
// says whether the account is the payer's or the beneficiary's.
var sided = []string{"AC01", "AC04", "AC06"}

// complained maps words in the path of a message to our code for that part of the request.
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

// placeOf returns our code for the part of the request that a message's path names, or "" if the
// path names no known part.
func placeOf(path string) payment.ErrorCode {
	path = strings.ToLower(path)
	for _, one := range complained {
		if strings.Contains(path, one.word) {
			return one.code
		}
	}
	return ""
}

// reasonForm matches a reason of ISO 20022 at the beginning of a text. The standard has no member
// for such a reason.
var reasonForm = regexp.MustCompile(`^([A-Z][A-Z0-9]{3}): `)

// Reason returns the code of a message: a code of the standard or a reason of ISO 20022. It returns
// "" when the message has no known code.
func (m Message) Reason() string {
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

// Meant returns the meaning of a message, and false when no table has its code.
func (m Message) Meant() (Meaning, bool) {
	reason := m.Reason()
	if slices.Contains(sided, reason) {
		code := placeOf(m.Path)
		return Meaning{Code: cmp.Or(code, payment.BankMessage)}, true
	}
	if code := reasonCode(reason); code != "" {
		return Meaning{Code: code}, true
	}
	found, known := meanings[reason]
	if place := placeOf(m.Path); place != "" && known && found.Remedy == "" && (found.Code == payment.InvalidValue || m.Code == "RESOURCE_UNKNOWN" || m.Code == "RESOURCE_BLOCKED") {
		found.Code = place
	}
	return found, known
}

// statuses maps HTTP statuses to the meanings of responses without a code of the standard.
var statuses = map[int]Meaning{
	http.StatusBadRequest:           {payment.InvalidValue, ""},
	http.StatusUnauthorized:         {payment.Bug, certificateRemedy},
	http.StatusForbidden:            {payment.Bug, certificateRemedy},
	http.StatusNotFound:             {payment.Bug, "check address.api: the bank does not know the path"},
	http.StatusMethodNotAllowed:     {payment.Bug, RequestRemedy},
	http.StatusNotAcceptable:        {payment.Bug, RequestRemedy},
	http.StatusUnsupportedMediaType: {payment.Bug, RequestRemedy},
	http.StatusTooManyRequests:      {payment.WebsiteUnavailable, busyRemedy},
}

// Judge returns the meaning of a refusal: the meaning of the first message with a known code or,
// without such a message, of the HTTP status. It also returns the bank's text. A text without a
// known code becomes a BankMessage for users, unless the status has a remedy for the operator.
func Judge(status int, all []Message) (Meaning, string) {
	for _, m := range all {
		if found, known := m.Meant(); known {
			return found, m.Text
		}
	}
	found, known := statuses[status]
	if len(all) > 0 && all[0].Text != "" && (!known || found.Remedy == "") {
		return Meaning{Code: payment.BankMessage}, all[0].Text
	}
	if !known {
		found = Meaning{Code: payment.NoSpecifiedReason}
	}
	return found, ""
}

// Words returns the codes in messages as text for the timeline and the log. A code that
// does not match codeForm is left out, because it may contain personal data.
func Words(all []Message) string {
	var codes []string
	for _, m := range all {
		if codeForm.MatchString(m.Code) && !slices.Contains(codes, m.Code) && len(codes) < maxWords {
			codes = append(codes, m.Code)
		}
	}
	return strings.Join(codes, " ")
}

// Reasons returns the reasons in messages as text for the timeline, like Words.
func Reasons(all []Message) string {
	var known []Message
	for _, m := range all {
		if code := m.Reason(); code != "" {
			known = append(known, Message{Code: code})
		}
	}
	return Words(known)
}

// Refused returns our code for the first refusal with a known meaning, or "" without such a
// refusal.
func Refused(all []Message) payment.ErrorCode {
	for _, m := range Refusals(all) {
		if found, known := m.Meant(); known {
			return found.Code
		}
	}
	return ""
}

// Text returns the first text in messages, or "".
func Text(all []Message) string {
	for _, m := range all {
		if m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// Texts returns the texts of messages as one text.
func Texts(all []Message) string {
	var texts []string
	for _, m := range all {
		if m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, " ")
}

// linePath matches a path that names an instruction of a bulk payment. Instructions count from 0.
var linePath = regexp.MustCompile(`^(?:\$\.)?payments\[(\d{1,4})\]`)

// RefusedLines returns the refusals in a bulk payment, by the instruction that they name.
func RefusedLines(all []Message) map[int]Message {
	lines := map[int]Message{}
	for _, m := range Refusals(all) {
		if found := linePath.FindStringSubmatch(m.Path); found != nil {
			i, _ := strconv.Atoi(found[1]) // the pattern matches only digits
			lines[i] = m
		}
	}
	return lines
}

// codeForm is the form of the standard's codes and of banks' own codes.
var codeForm = regexp.MustCompile(`^[A-Z][A-Z_]{0,39}[0-9]{0,4}$`)

// maxWords is the maximum number of codes in a text.
const maxWords = 10

// readStates maps the codes with which a bank refuses a read to the states in which the read ends.
// SCARequired means that the consent must be renewed. Other codes end in the state Bug, because
// only the operator can act on them.
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

// ReadRemedy returns what the operator can do when a bank refuses a read.
func ReadRemedy(status int, all []Message) string {
	what, _ := Judge(status, all)
	return cmp.Or(readRemedies[Known(all)], what.Remedy, RequestRemedy)
}

// readRemedies maps codes to remedies that take priority for a read.
var readRemedies = map[string]string{
	"PERIOD_INVALID":          "check profile.accounts.history_days: the bank does not return transactions that are so old",
	"SERVICE_INVALID":         "check profile.accounts: the bank does not have this call",
	"RESOURCE_UNKNOWN":        "the bank does not know an account or a page that it named itself",
	"CONSENT_INVALID":         consentRemedy,
	"PARAMETER_NOT_SUPPORTED": "check profile.accounts: the bank does not have a consent or a query of that kind",
}

// ReadState returns the state for the first known code or, without a known code, for the HTTP
// status.
func ReadState(status int, all []Message) passerelle.ConnectionState {
	if code := Known(all); code != "" {
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

// UnknownResource is the code for an account, a consent or a page that the bank does not know.
const UnknownResource = "RESOURCE_UNKNOWN"

// ReadCode returns the first code that belongs to the standard. Without such a code, it returns
// UnknownResource for the HTTP status 404, and "" for other statuses.
func ReadCode(status int, all []Message) string {
	if code := Known(all); code != "" || status != http.StatusNotFound {
		return code
	}
	return UnknownResource
}

// Known returns the first code that belongs to the standard, or "" without such a code.
func Known(all []Message) string {
	for _, m := range all {
		if _, known := meanings[m.Code]; known {
			return m.Code
		}
	}
	return ""
}
