package berlingroup

// File is an operator's description of one bank, in TOML. Paths in a file are relative to the
// file's folder. The tags of the fields contain the texts of the reference page.
type File struct {
	UUID       string   `toml:"uuid" need:"required" doc:"The connector's UUID, in lower case. It identifies the bank everywhere and never changes."`
	ID         int64    `toml:"id" need:"required" doc:"The connector's number, unique in the deployment. The number of its source is ten times this number, plus 1."`
	Name       string   `toml:"name" need:"required" doc:"The name that people see."`
	Countries  []string `toml:"countries" need:"required" doc:"The bank's countries, as ISO 3166-1 alpha-2 codes."`
	Color      string   `toml:"color" doc:"Colour of the logo: six hexadecimal digits, without #."`
	BICs       []string `toml:"bics" doc:"All BICs of the bank. Without iban_prefixes, the service compares them with the BIC of the payer's account."`
	IBANPrefix []string `toml:"iban_prefixes" doc:"All prefixes of the bank's account numbers. A dot matches any digit, such as a check digit: DE..50010517. For a payer with such an account, the service selects the bank. For a payer with an account at another bank of the deployment, it does not offer the bank. Without prefixes, the bank accepts any account."`
	Sandbox    bool     `toml:"sandbox" doc:"Marks a test bank, which moves no money. Live domains do not offer it. Its addresses for browsers on this machine may be http."`
	Hidden     bool     `toml:"hidden" doc:"Hides the bank from payers. Payments in progress continue."`

	Standard  Standard   `toml:"standard" need:"required" doc:"The standard that the bank implements."`
	Address   Address    `toml:"address" need:"required" doc:"The address of the bank's API."`
	TLS       TLS        `toml:"tls" need:"required" doc:"Our transport certificate (QWAC), and the authorities that must have issued the bank's certificate."`
	Signature *Signature `toml:"signature" doc:"How the service signs requests. Without this table, it does not sign them."`
	Passwords *Passwords `toml:"passwords" doc:"How the service encrypts passwords, for banks with the embedded approach that require encryption. Without this table, it sends passwords unencrypted inside TLS."`
	OAuth     *OAuth     `toml:"oauth" doc:"The bank's authorisation server. Required for the oauth approach."`
	Profile   Profile    `toml:"profile" need:"required" doc:"What the bank supports, and how it behaves."`
}

// Standard names the standard that the bank uses.
type Standard struct {
	Kind    string `toml:"kind" need:"required" doc:"The name of the standard: berlin-group."`
	Version string `toml:"version" need:"required" doc:"The version of the standard, 1.3.0 to 1.3.99. It decides which members the service sends, and which fields of the profile are possible."`
}

// Address contains the addresses of the bank.
type Address struct {
	API string `toml:"api" need:"required" doc:"The https base address of the API: the part before /v1/payments."`
	Own string `toml:"own" doc:"The IP address that the bank sees when this service calls it. Orders and consents have it when the user's address is unknown. By default, the address of the network interface that leads to the bank. Set this field behind address translation."`
}

// TLS contains the settings for connections to the bank.
type TLS struct {
	Certificate string   `toml:"certificate" need:"required" doc:"PEM file of the transport certificate (QWAC) with its chain."`
	Key         string   `toml:"key" doc:"PEM file of its private key. Only its owner and group may be able to read the file. Give either this or command."`
	Command     []string `toml:"command" doc:"A program that signs TLS handshakes, for keys in a hardware module. It reads a digest from standard input, signs it as the variable SIGNATURE_SCHEME says, and writes the raw signature to standard output within ten seconds. The variable is rsa_pss_rsae_sha256 or rsa_pkcs1_sha256 for an RSA key, and ecdsa_secp256r1_sha256, ecdsa_secp384r1_sha384 or ecdsa_secp521r1_sha512 (in ASN.1) for an EC key."`
	Authorities string   `toml:"authorities" doc:"PEM file of the authorities that must have issued the bank's server certificate. By default, the system's authorities."`
}

// Signature contains the settings for signing requests.
type Signature struct {
	Certificate string   `toml:"certificate" need:"required" doc:"PEM file of the signing certificate (QSealC)."`
	Key         string   `toml:"key" doc:"PEM file of its private key, an RSA key. Give either this or command."`
	Command     []string `toml:"command" doc:"A program that signs, for keys in a hardware module. It reads the bytes to sign from standard input and writes the raw signature (RSA PKCS #1 v1.5, SHA-256) to standard output within ten seconds."`
	Digest      string   `toml:"digest" preset:"SHA-256" doc:"Digest of the body: SHA-256 or SHA-512."`
	KeyID       string   `toml:"key_id" doc:"The keyId of signatures, for banks that require another one than SN=9FA1,CA=CN=Authority,C=DE: the serial number of the certificate, in hexadecimal capitals, and its issuer, with %20 in place of blanks."`
	Headers     []string `toml:"headers" preset:"digest, x-request-id, psu-id, psu-corporate-id, date, tpp-redirect-uri" doc:"Headers that the signature covers, in this order. The service skips headers that a request does not have. The list must contain digest and x-request-id."`
}

// Passwords contains the settings for encrypting passwords for the bank.
type Passwords struct {
	Certificate string `toml:"certificate" need:"required" doc:"PEM file of the bank's RSA certificate for passwords. The service sends passwords as compact JWE with RSA-OAEP-256 and A256GCM."`
}

// OAuth describes the bank's authorisation server.
type OAuth struct {
	Metadata string `toml:"metadata" need:"required" doc:"The https address of the server's metadata (RFC 8414)."`
	ClientID string `toml:"client_id" need:"required" doc:"Our client id at the server. The transport certificate authenticates us (RFC 8705)."`
}

// Profile describes the bank's capabilities.
type Profile struct {
	SCA                []string `toml:"sca" need:"required" doc:"Approaches to strong authentication (SCA) that the bank supports, preferred first: redirect, oauth, decoupled, embedded."`
	Start              string   `toml:"start" preset:"implicit" doc:"Whether the authorisation starts with the order (implicit) or on request (explicit). If the bank's response differs, the service follows the response."`
	Confirmation       bool     `toml:"confirmation" doc:"The bank executes a payment only after a confirmation, which the service sends when the payer comes back. Domains that confirm payments themselves need such a bank."`
	DebtorAccount      string   `toml:"debtor_account" preset:"optional" doc:"Whether the order names the payer's account: required, optional, or refused."`
	RedirectSeconds    int      `toml:"redirect_seconds" preset:"600" doc:"How long the bank's page waits for the person, in seconds. After that, the service requests a new page. For a payment, it requests the page at the next status check."`
	AuthorisationHours int      `toml:"authorisation_hours" preset:"24" doc:"How long an authorisation may take, in hours. After that, the bank accepts no approval. When a payer abandons a payment and the bank cannot cancel it, the service rejects the payment after this time, if the bank shows approvals."`
	CallsADay          int      `toml:"calls_a_day" preset:"4" doc:"How often a day the service may read the bank without the user present. 0 means never."`
	PSUID              bool     `toml:"psu_id" doc:"The bank requires the payer's user name (PSU-ID) with the order. Passerelle first asks the payer for it."`
	PSUIDType          string   `toml:"psu_id_type" doc:"The value of PSU-ID-Type, which some banks require beside the user name (PSU-ID)."`
	CorporateID        bool     `toml:"psu_corporate_id" doc:"The bank identifies companies by PSU-Corporate-ID. Passerelle first asks the person for it. For private accounts, the person leaves it empty."`
	LastStatus         string   `toml:"last_status" preset:"ACSC" doc:"The last payment status that the bank ever reports: ACTC, ACCP, ACSP, ACWC, ACSC or ACCC. If this status comes before ACSC, a payment with this status is accepted."`
	Idempotent         bool     `toml:"idempotent" doc:"The bank documents that it treats a repeated X-Request-ID as the same order. The service then sends an order again when the response was lost. Without it, such an order waits for an operator."`
	IdempotentMinutes  int      `toml:"idempotent_minutes" preset:"60" doc:"How long the bank recognises a repeated X-Request-ID, in minutes. After that time, the service never sends an order again, and the order waits for an operator. Used with idempotent."`
	Notifications      bool     `toml:"notifications" doc:"The bank reports changes to TPP-Notification-URI. The host of that address is the host of the domain. The transport certificate must contain this host."`

	Payments *Payments `toml:"payments" doc:"The payments that the bank accepts. Without this table, the bank accepts none."`
	Accounts *Accounts `toml:"accounts" doc:"The account data that the bank offers. Without this table, the service does not read the bank."`
}

// Payments describes the payments that the bank accepts.
type Payments struct {
	Single       []string `toml:"single" need:"required" doc:"Payment products for single payments: sepa-credit-transfers, instant-sepa-credit-transfers, target-2-payments. Instant payments use the instant product. Other payments use the other product. A bank with two other products needs a file for each."`
	Bulk         []string `toml:"bulk" doc:"Payment products for payments with several instructions."`
	Periodic     []string `toml:"periodic" doc:"Payment products for periodic payments."`
	FutureDates  bool     `toml:"future_dates" doc:"A payment may name its execution date."`
	Frequencies  []string `toml:"frequencies" doc:"Frequencies of periodic payments, as the API names them. Required with periodic."`
	MinAmount    string   `toml:"min_amount" doc:"The smallest amount, in EUR."`
	MaxAmount    string   `toml:"max_amount" doc:"The amount above which the bank usually refuses a payment, in EUR. Passerelle warns payers."`
	MaxBulk      int      `toml:"max_bulk" preset:"1000" doc:"The maximum number of instructions of a payment. Needs bulk."`
	MinDays      int      `toml:"min_days" doc:"The minimum number of days until the execution date."`
	MaxDays      int      `toml:"max_days" doc:"The maximum number of days until the execution date. Without it, there is no maximum."`
	OpenDaysOnly bool     `toml:"open_days_only" doc:"The execution date must be a day on which TARGET is open."`
	Cancellation string   `toml:"cancellation" preset:"none" doc:"How orders can be cancelled: none (they cannot), direct, or sca (the payer approves the cancellation). An accepted payment is final and cannot be cancelled (see last_status)."`
}

// Accounts describes the accounts and data that the bank offers.
type Accounts struct {
	Consents        []string `toml:"consents" need:"required" doc:"Kinds of consent that the bank offers: global, all-psd2, detailed, available-accounts. The service requests the first of these kinds, in this order, that the bank offers."`
	BookingStatuses []string `toml:"booking_statuses" preset:"booked" doc:"Transactions that the bank returns: booked, pending, both, information, all. The service does not read information, which is about standing orders."`
	Formats         []string `toml:"formats" preset:"json" doc:"Formats of transaction lists: json, camt (camt.052 to camt.054), mt940 (also MT942). The service requests the first format. camt and mt940 contain booked transactions only. List the formats of downloads after the first. With several formats, the entry reference identifies transactions."`
	ConsentDays     int      `toml:"consent_days" preset:"180" doc:"How long a consent lasts, in days; at most 180."`
	HistoryDays     int      `toml:"history_days" preset:"90" doc:"How many days of past transactions the bank returns."`
	DeltaList       bool     `toml:"delta_list" doc:"The bank can return only new transactions. Used with transaction_ids, when the user is not present."`
	EntryReference  bool     `toml:"entry_reference" doc:"The bank can return the transactions after an entry reference. Used with transaction_ids, when the user is not present. The service prefers this to delta_list."`
	CardAccounts    bool     `toml:"card_accounts" doc:"The bank has card accounts."`
	TransactionIDs  bool     `toml:"transaction_ids" doc:"The bank gives each transaction a transactionId that never changes. Otherwise the service identifies a transaction by amount, value date, parties and texts."`
}
