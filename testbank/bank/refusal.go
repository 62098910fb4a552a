package bank

import "fmt"

// Refusal is a negative response.
type Refusal struct {
	// Status is the HTTP status.
	Status int
	Code   string
	// Path is the wrong member or header, if there is one.
	Path string
	Text string
}

func (r *Refusal) Error() string {
	if r.Path == "" {
		return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Text)
	}
	return fmt.Sprintf("%d %s: %s: %s", r.Status, r.Code, r.Path, r.Text)
}

// Refuse makes a refusal with the status that belongs to the code.
func Refuse(code, path, text string) *Refusal {
	return &Refusal{Status: codeStatus[code], Code: code, Path: path, Text: text}
}

// wrongFormat refuses a value that is missing or cannot be read.
func wrongFormat(path, text string) *Refusal { return Refuse("FORMAT_ERROR", path, text) }

// rule is a refusal that applies when broken is set.
type rule struct {
	broken  bool
	refusal *Refusal
}

// firstBroken returns the refusal of the first rule that is broken, or nil.
func firstBroken(rules ...rule) error {
	for _, r := range rules {
		if r.broken {
			return r.refusal
		}
	}
	return nil
}

// codeStatus maps every code of the standard (1.3.11, section 14.11) to its status. If the standard
// allows several statuses for a code, codeStatus contains the one that this bank uses.
var codeStatus = map[string]int{
	"FORMAT_ERROR": 400, "PARAMETER_NOT_CONSISTENT": 400, "PARAMETER_NOT_SUPPORTED": 400, "SERVICE_INVALID": 405, "SERVICE_BLOCKED": 403,
	"RESOURCE_UNKNOWN": 404, "RESOURCE_EXPIRED": 403, "RESOURCE_BLOCKED": 400, "TIMESTAMP_INVALID": 400, "PERIOD_INVALID": 400,
	"SCA_METHOD_UNKNOWN": 400, "SCA_INVALID": 400, "STATUS_INVALID": 409, "UNSUPPORTED_MEDIA_TYPE": 415,
	"CONSENT_UNKNOWN": 403, "CONSENT_INVALID": 401, "CONSENT_EXPIRED": 401, "ACCESS_EXCEEDED": 429, "REQUESTED_FORMATS_INVALID": 406,
	"PRODUCT_INVALID": 403, "PRODUCT_UNKNOWN": 404, "PAYMENT_FAILED": 400, "KID_MISSING": 401, "EXECUTION_DATE_INVALID": 400, "CANCELLATION_INVALID": 405,
	"CERTIFICATE_INVALID": 401, "CERTIFICATE_EXPIRED": 401, "CERTIFICATE_BLOCKED": 401, "CERTIFICATE_REVOKED": 401, "CERTIFICATE_MISSING": 401,
	"SIGNATURE_INVALID": 401, "SIGNATURE_MISSING": 401, "ROLE_INVALID": 401,
	"PSU_CREDENTIALS_INVALID": 401, "CORPORATE_ID_INVALID": 401, "TOKEN_UNKNOWN": 401, "TOKEN_INVALID": 401, "TOKEN_EXPIRED": 401,
	"CARD_INVALID": 400, "NO_PIIS_ACTIVATION": 400, "REFERENCE_MIX_INVALID": 400, "REFERENCE_STATUS_INVALID": 409,
	"INTERNAL_SERVER_ERROR": 500, "SERVICE_UNAVAILABLE": 503,
}
