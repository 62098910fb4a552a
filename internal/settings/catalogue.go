package settings

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
)

// These keys have an effect.
const (
	Timezone         = "api.timezone"
	SignedAnswers    = "api.sign_responses"
	QueryToken       = "api.query_token"
	AllowedOrigins   = "api.allowed_origins"
	MaxAmount        = "payment.max_amount"
	PeriodicEnabled  = "payment.periodic.enabled"
	PlainFields      = "payment.allow_plain_fields"
	AutoConfirmation = "payment.auto_confirmation"
	ExpireDays       = "payment.manual_expire_time_days"
	Systematic       = "payment.state_updated_webhook.systematic"
	CallbackGrace    = "payment.callback_grace_minutes"
	FlushInterval    = "webhooks.flush_interval_seconds"
	DeliveryTimeout  = "webhooks.timeout_seconds"
	SignatureAliases = "webhooks.signature.aliases"
	Compression      = "webhooks.compression.enabled"
	Authorities      = "webhooks.ca_cert"
	CFONB            = "autosync.cfonb"
	AlertsFrequency  = "webhooks.alerts_frequency"
	RetentionDays    = "webhooks.retention_days"
	ManagerEmail     = "svc.manager.email"
	ServiceTokenLife = "auth.scoped_token_expire"
	UserTokenLife    = "auth.user_token_expire"
	SignedTokenLife  = "auth.default_token_expire"
	BlockCount       = "auth.block_count"
	BlockSeconds     = "auth.block_seconds"
	RateEnabled      = "rate.enabled"
	TokenRate        = "rate.token_per_minute"
	AddressRate      = "rate.address_per_minute"
	FormRate         = "rate.form_per_minute"

	AutosyncEnabled   = "autosync.enabled"
	AutosyncFrequency = "autosync.frequency"
	RetryWrongpass    = "autosync.retry_wrongpass"
	ConnectionExpire  = "connection.expire"
	QuestionsCode     = "connection.questions_code"
	OwnerCertificate  = "account_ownership_certificate.enabled"
	Favourites        = "webview.favourites"
)

const (
	maxSettingLength  = 4096
	maxCertificates   = 32 << 10
	maxTimeoutSeconds = 300
	maxAddresses      = 10
	// maxFamiliar limits the stored keys of a domain that have a prefix in families.
	maxFamiliar     = 200
	maxFamiliarName = 100
)

var catalogue = append([]Key{
	{Name: Timezone, Default: "UTC", Help: "IANA time zone of dates and times in requests and responses.", check: zone},
	{Name: SignedAnswers, Default: "0", Help: "Whether responses are signed when a client asks for it with sign_response.", check: boolean},
	{Name: QueryToken, Default: "0", Help: "Whether read requests may carry the token in the query parameter token instead of the header, as old programs do. Proxies and browsers log addresses, and so also log the token.", check: boolean},
	{Name: AllowedOrigins, Aliases: []string{"biapi.allowed_origins"}, Default: "", Help: "Origins such as https://app.example, separated by commas, whose pages may call the API from browsers; empty for none.", check: origins},
	{Name: ServiceTokenLife, Default: "30", Help: "Minutes that a service token is valid.", check: whole(1, 1440)},
	{Name: UserTokenLife, Default: "30", Help: "Minutes after which a temporary user is deleted and its token expires.", check: whole(1, 1440)},
	{Name: SignedTokenLife, Default: "43200", Help: "Minutes that a signed user token (JWT) is valid, if it is set to expire.", check: whole(1, 5256000)},
	{Name: BlockCount, Default: "5", Help: "Number of wrong secrets after which an application must wait, counted per client address; 0 for no limit.", check: whole(0, 1000)},
	{Name: BlockSeconds, Default: "60", Help: "Seconds that the application must wait.", check: whole(1, 86400)},
	{Name: RateEnabled, Default: "", Help: "Whether API requests and hosted pages are limited, and refused with 429 over the limit; by default 0 in sandbox domains and 1 in live ones.", check: booleanOrNone},
	{Name: TokenRate, Default: "1200", Help: "Requests per minute that each process accepts with one token; 0 for no limit.", check: whole(0, 1000000)},
	{Name: AddressRate, Default: "6000", Help: "Requests and hosted pages per minute that each process accepts from one address, or from one /64 network in IPv6; 0 for no limit.", check: whole(0, 1000000)},
	{Name: FormRate, Default: "600", Help: "Forms per minute that each process accepts on the pages about connections from one address, or from one /64 network in IPv6; 0 for no limit.", check: whole(0, 1000000)},
	{Name: AutosyncEnabled, Default: "1", Help: "Whether connections are synchronised in the background.", check: boolean},
	{Name: AutosyncFrequency, Default: "1", Help: "Days between two synchronisations of a connection; 0.5 is twice a day.", check: days, reads: areDays},
	{Name: RetryWrongpass, Default: "1", Help: "Whether established connections are retried after their institution refused the credentials.", check: boolean},
	{Name: ConnectionExpire, Default: "120", Help: "Minutes after which a connection that was never established is removed.", check: whole(1, 525600)},
	{Name: QuestionsCode, Default: "202", Help: "HTTP status of responses whose connection needs the user, from 200 to 299 except 204, 205 and 206, for programs that expect a status other than 202.", check: statusWithBody},
	{Name: OwnerCertificate, Default: "1", Help: "Whether certificates of account ownership are available, and CONNECTION_CERTIFICATE_AVAILABLE is sent.", check: boolean},
	{Name: Favourites, Default: "", Help: "UUIDs of connectors, separated by commas, that hosted pages list before others, in this order; empty for none.", check: uuids},
	{Name: MaxAmount, Default: "0", Help: "Maximum total of a payment, in units of its currency; 0 for no limit.", check: amount, reads: isAmount},
	{Name: PeriodicEnabled, Default: "0", Help: "Whether periodic payments may be created.", check: boolean},
	{Name: PlainFields, Default: "0", Help: "Whether payment fields may be sent unencrypted in a live domain.", check: boolean},
	{Name: AutoConfirmation, Default: "1", Help: "Whether banks execute payments without waiting for the client's confirmation.", check: boolean},
	{Name: ExpireDays, Default: "30", Help: "Days after which a payment without a final state expires; 0 for never.", check: whole(0, 36500)},
	{Name: Systematic, Default: "", Help: "Whether webhooks report every state change of a payment (1), or leave out those that the payer reports at the callback (0); by default 0 in domains created before 13 September 2024 and 1 in others.", check: booleanOrNone},
	{Name: CallbackGrace, Default: "5", Help: "Minutes that PAYMENT_STATE_UPDATED waits for the payer to report the change, where webhooks do not report every change; 0 for no wait.", check: whole(0, 1440)},
	{Name: FlushInterval, Default: "60", Help: "Seconds between two attempts to deliver the waiting payloads of a webhook that failed.", check: whole(1, 86400)},
	{Name: DeliveryTimeout, Default: "10", Help: "Seconds that a receiver has to accept a webhook.", check: whole(1, maxTimeoutSeconds)},
	{Name: SignatureAliases, Default: "BI", Help: "Additional prefixes, separated by commas, under which signature headers are repeated.", check: prefixes},
	{Name: Compression, Aliases: []string{"webhooks.compressions.enabled"}, Default: "0", Help: "Whether webhook bodies are compressed with gzip.", check: boolean},
	{Name: Authorities, Default: "", Help: "Certificates, in PEM, of additional authorities to trust for webhook receivers and token endpoints, besides those of the system.", max: maxCertificates, check: certificates},
	{Name: CFONB, Default: "0", Help: "Whether ACCOUNT_FOUND, CONNECTION_SYNCED and USER_SYNCED contain CFONB 120 statements instead of JSON.", check: boolean},
	{Name: AlertsFrequency, Default: "1", Help: "Minimum number of days between two alert mails about one webhook; 0.5 is twice a day.", check: days, reads: areDays},
	{Name: RetentionDays, Default: "90", Help: "Days that events and records of their deliveries are kept, from 1 to 3650; undelivered payloads are kept longer.", check: whole(1, 3650)},
	{Name: ManagerEmail, Aliases: []string{"biapi.manager.email"}, Default: "", Help: "Addresses, separated by commas, that get alert mails about webhooks; empty for none.", check: addresses},
}, unused()...)

// unused returns the keys that programs of this API family use and that have no effect here. Their
// defaults are the values that these programs expect.
func unused() []Key {
	var keys []Key
	for _, about := range [][3]string{
		{"autosync.send_update", "1", "Whether background synchronisations are reported."},
		{"auth.token_size", "128", "Length of tokens."},
		{"bank.account.authorized_currencies", "", "Currencies of accounts that are stored."},
		{"bank.account.display_loans", "", "Whether loans are shown."},
		{"bank.implicit_date_filtering", "", "Whether lists of transactions are limited in time."},
		{"bank.trs.ignore_coming", "", "Whether coming transactions are omitted."},
		{"biapi.callback_url", "", "Single receiver URL of an earlier API."},
		{"biapi.multi_push", "0", "Several receiver URLs of an earlier API."},
		{"connection.allow_new_error", "0", "Whether a connection that fails at once is kept."},
		{"connection.delay_error", "1", "Whether errors are reported late."},
		{"connection.delete_noacc", "0", "Whether a connection without accounts is removed."},
		{"connection.disable_new", "0", "Whether new connections are refused."},
		{"connection.error.to_wrongpass", "webauthRequired, SCARequired, passwordExpired", "States shown as wrong credentials to older programs."},
		{"connection.keep_success", "1", "Whether the last success is kept after an error."},
		{"connectors.default_auth_mechanism", "", "How people authenticate when a connector has several ways."},
		{"connectors.enable_new", "0", "Whether new connectors are shown."},
		{"connectors.sources.enable_new", "1", "Whether new sources of connectors are shown."},
		{"oauth2.enabled", "1", "Whether the webview may be used."},
		{"root.baseurl", "", "Base URL; set the one of a domain with passerelle domain update."},
		{"root.prefix", "/%(version)s/", "Beginning of all paths."},
		{"transfer.max_amount", "0", "Highest amount of a transfer."},
		{"transfer.max_period_amount", "0", "Highest total of transfers in a period."},
		{"transfer.max_period_days", "0", "Days of that period."},
		{"transfer.recipient.iban_white_list.enabled", "0", "Whether recipients are limited to a list."},
		{"transfer.recipient.iban_white_list.entries", "", "That list."},
	} {
		keys = append(keys, Key{Name: about[0], Default: about[1], Help: about[2], check: anything})
	}
	for i := range keys {
		keys[i].Unused = true
	}
	return keys
}

// families lists the prefixes of keys that the catalogue does not list individually.
var families = []string{"alerts.", "cat.", "documents.", "mails.", "oidc.", "stet."}

// familiar returns a key of a family. The name of such a key has the prefix of the family. After
// the prefix, it has words of lower-case letters, digits and underscores, joined by dots.
func familiar(name string) (Key, bool) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	for _, family := range families {
		rest, isMember := strings.CutPrefix(name, family)
		wellFormed := rest != "" && strings.Trim(rest, letters+".") == "" && !strings.Contains("."+rest+".", "..")
		if isMember && wellFormed && len(name) <= maxFamiliarName {
			return Key{Name: name, Help: "One of the keys " + family + "*.", Unused: true, check: anything}, true
		}
	}
	return Key{}, false
}

func anything(string) string { return "" }

func boolean(value string) string {
	if value == "0" || value == "1" {
		return ""
	}
	return `"0" or "1"`
}

func booleanOrNone(value string) string {
	if value == "" {
		return ""
	}
	return boolean(value)
}

func whole(low, high int64) func(string) string {
	return func(value string) string {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < low || n > high || strconv.FormatInt(n, 10) != value {
			return fmt.Sprintf("a whole number from %d to %d", low, high)
		}
		return ""
	}
}

// statusWithBody accepts the statuses of success whose responses have a complete body.
func statusWithBody(value string) string {
	if whole(200, 299)(value) != "" || slices.Contains([]string{"204", "205", "206"}, value) {
		return "a whole number from 200 to 299 except 204, 205 and 206"
	}
	return ""
}

// days accepts decimals from 0.01 to 365, in a form that is also a JSON number.
func days(value string) string {
	if !passerelle.IsDecimal(value) || !areDays(value) {
		return "a number of days from 0.01 to 365, such as 1 or 0.5"
	}
	return ""
}

// areDays accepts the same numbers as days, in any form. Earlier versions stored ".5" and "007".
func areDays(value string) bool {
	n, err := strconv.ParseFloat(value, 64)
	return err == nil && n >= 0.01 && n <= 365
}

func amount(value string) string {
	_, err := passerelle.ParseMoney("amount", value, "JPY")
	if err != nil || strings.HasPrefix(value, "-") {
		return "a whole amount, or 0 for none"
	}
	return ""
}

// isAmount also accepts an amount with decimals, because the default would be no limit at all.
func isAmount(value string) bool {
	return passerelle.IsDecimal(value) && !strings.HasPrefix(value, "-")
}

func zone(value string) string {
	if _, err := time.LoadLocation(value); err != nil || value == "" || value == "Local" {
		return "an IANA time zone such as Europe/Paris"
	}
	return ""
}

func prefixes(value string) string {
	for _, word := range words(value) {
		if len(word) > 32 || strings.HasPrefix(word, "-") || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "words of at most 32 letters, digits and hyphens that begin with a letter or a digit, separated by commas"
		}
	}
	return ""
}

// maxFavourites limits the number of favourites, so users can read all of them at a glance.
const maxFavourites = 20

func uuids(value string) string {
	all := words(value)
	if len(all) > maxFavourites || slices.ContainsFunc(all, func(one string) bool { return !uuidForm.MatchString(one) }) {
		return fmt.Sprintf("at most %d UUIDs, separated by commas, or empty", maxFavourites)
	}
	return ""
}

var uuidForm = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// certificates accepts only the certificates of authorities. A private key among them would be
// visible to everyone who may read settings.
func certificates(value string) string {
	const right = "certificates of authorities in PEM, or empty"
	for rest := []byte(strings.TrimSpace(value)); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return right
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !certificate.IsCA {
			return right
		}
		rest = bytes.TrimSpace(rest)
	}
	return ""
}

// addresses accepts mail addresses without a name or quotes. An address with a name or quotes
// could add headers to a mail, or change its receiver.
func addresses(value string) string {
	all := words(value)
	if len(all) > maxAddresses || slices.ContainsFunc(all, func(one string) bool { return !passerelle.IsEmail(one) }) {
		return fmt.Sprintf("at most %d mail addresses such as ops@bank.example, separated by commas, or empty", maxAddresses)
	}
	return ""
}

// origins accepts origins in the form that browsers send. In another form, an origin would never
// match the origin of a page.
func origins(value string) string {
	if slices.ContainsFunc(words(value), func(one string) bool { return !isOrigin(one) }) {
		return "origins as browsers send them, such as https://shop.example or http://localhost:3000, separated by commas: " +
			"each in full, without a *, and without port 443 after https and 80 after http"
	}
	return ""
}

var usualPorts = map[string]string{"https": "443", "http": "80"}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || usualPorts[u.Scheme] == "" || u.User != nil || !strings.EqualFold(u.Scheme+"://"+u.Host, text) {
		return false
	}
	host, port := u.Hostname(), u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || port != strconv.FormatUint(n, 10) || port == usualPorts[u.Scheme]) {
		return false
	}
	if _, err := netip.ParseAddr(host); err != nil && (strings.HasPrefix(u.Host, "[") || !hostForm.MatchString(host)) {
		return false
	}
	return !strings.HasSuffix(u.Host, ":")
}

// hostForm matches a host name in the form that browsers send. Browsers send names in other
// alphabets as Punycode, which has this form.
var hostForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
