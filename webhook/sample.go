package webhook

import (
	"strconv"
	"strings"
)

// These are the ids of the user and the connection in samples.
const (
	SampleUser       = 17
	SampleConnection = 42
)

// Sample returns an example of an event's body as compact JSON, without id_webhook_data, which
// every delivery adds. A sample has every member of the real body, except a few that only [Members]
// lists. The result is nil for an event that is not in the catalogue.
func Sample(event Event) []byte { return SampleOf(event, SampleUser, SampleConnection) }

// SampleOf returns the sample for a user and a connection. Only their ids differ from [Sample].
func SampleOf(event Event, user, connection int64) []byte {
	text, known := samples[event]
	if !known {
		return nil
	}
	return []byte(strings.NewReplacer("$user", strconv.FormatInt(user, 10), "$connection", strconv.FormatInt(connection, 10)).Replace(text))
}

// with adds members to a JSON object. members contains names, each followed by its value as JSON.
func with(object string, members ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(object, "}"))
	for i := 0; i < len(members); i += 2 {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(members[i]) + ":" + members[i+1])
	}
	return b.String() + "}"
}

func list(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// compact joins the lines of a JSON object into one.
func compact(lines string) string {
	return strings.NewReplacer("\n\t", "", "\n", "").Replace(strings.TrimSpace(lines))
}

// samples maps events to their samples, which are composed of the objects below.
var samples = map[Event]string{
	UserCreated:                    user,
	UserDeleted:                    user,
	UserSynced:                     with("{}", "user", user, "connections", list(syncedConnection)),
	ConnectionSynced:               with("{}", "user", user, "connection", syncedConnection),
	ConnectionDeleted:              connection,
	ConnectionCertificateAvailable: `{"id_connection":$connection,"id_user":$user}`,
	AccountsFetched:                with("{}", "user", user, "connection", with(linkedConnection, "accounts", list(checking, savings))),
	AccountCategorized:             with("{}", "transactions", list(cardPayment, salary)),
	AccountSynced:                  syncedChecking,
	AccountDisabled:                strings.Replace(checking, `"disabled":null`, `"disabled":"2026-11-20 09:15:04"`, 1),
	AccountEnabled:                 checking,
	AccountFound:                   `{"id":301,"id_user":$user,"id_connection":$connection,"disabled":"2026-11-20 09:15:04","type":"checking"}`,
	AccountOwnershipsFound:         with("{}", "account_ownerships", list(ownership)),
	TransactionAttachmentsFound:    with(`{"id_connection":$connection,"id_account":301,"id_transaction":9001}`, "attachments", list(attachment)),
	SubscriptionSynced:             syncedSubscription,
	SubscriptionFound:              `{"id":501,"id_user":$user,"id_connection":$connection}`,
	PaymentStateUpdated:            paid,
}

var (
	linkedConnection = with(connection, "connector", connector, "sources", list(source))
	syncedConnection = with(linkedConnection, "accounts", list(
		with(syncedChecking, "market_orders", "[]"), with(syncedSavings, "market_orders", "[]")), "subscriptions", list(syncedSubscription))

	syncedChecking     = with(checking, "investments", "[]", "recipients", "[]", "transactions", list(cardPayment, salary), "transfers", "[]")
	syncedSavings      = with(savings, "investments", "[]", "recipients", "[]", "transactions", "[]", "transfers", "[]")
	syncedSubscription = with(subscription, "documents", list(document))
)

const user = `{"id":$user,"signin":"2026-11-20 09:00:00","platform":"sharedAccess"}`

var connection = compact(`
{"id":$connection,"id_user":$user,"id_connector":40,"id_bank":40,"connector_uuid":"338178e6-3d01-564f-9a7b-52ca442459bf",
	"state":null,"error":null,"error_message":null,"active":true,
	"created":"2026-11-20 09:10:00","last_update":"2026-11-20 09:15:04","last_push":"2026-11-20 09:15:04",
	"next_try":"2026-11-21 09:15:04","expire":null}`)

const connector = `{"id":40,"uuid":"338178e6-3d01-564f-9a7b-52ca442459bf","name":"Banque Exemple","slug":"TST","code":null,"color":"2b6cb0",` +
	`"hidden":false,"charged":false,"beta":false,"restricted":false,"auth_mechanism":"credentials","capabilities":["bank","document"]}`

const source = `{"id":88,"id_connection":$connection,"id_connector_source":4,"name":"directaccess","state":null,"disabled":null,` +
	`"created":"2026-11-20 09:10:00","last_update":"2026-11-20 09:15:04","access_expire":"2027-05-19 09:15:04","expire":null,"next_try":"2026-11-21 09:15:04"}`

const euro = `{"id":"EUR","symbol":"€","prefix":false,"crypto":false,"precision":2,"marketcap":null,"datetime":null,"name":"Euro"}`

var checking = compact(`
{"id":301,"id_connection":$connection,"id_user":$user,"id_source":88,"id_parent":null,
	"number":"12345678901","iban":"FR7630006000011234567890189","bic":"AGRIFRPP","webid":"12345678901",
	"name":"Compte courant","original_name":"Compte courant","company_name":null,
	"balance":2481.17,"coming":-20.00,"coming_balance":2461.17,"formatted_balance":"2 481,17 €","currency":` + euro + `,
	"type":"checking","id_type":6,"usage":"PRIV","ownership":"owner","display":true,"bookmarked":0,
	"disabled":null,"deleted":null,"last_update":"2026-11-20 09:15:04","opening_date":"2019-03-01",
	"error":null,"information":{},"loan":null}`)

var savings = compact(`
{"id":302,"id_connection":$connection,"id_user":$user,"id_source":88,"id_parent":null,
	"number":"00098765432","iban":"","bic":"","webid":"00098765432",
	"name":"Livret A","original_name":"Livret A","company_name":null,
	"balance":5000.00,"coming":null,"coming_balance":5000.00,"formatted_balance":"5 000,00 €","currency":` + euro + `,
	"type":"livret_a","id_type":13,"usage":"PRIV","ownership":"owner","display":true,"bookmarked":0,
	"disabled":null,"deleted":null,"last_update":"2026-11-20 09:15:04","opening_date":null,
	"error":null,"information":{},"loan":null}`)

var cardPayment = compact(`
{"id":9001,"id_account":301,"application_date":"2026-11-19","date":"2026-11-20","datetime":null,"vdate":"2026-11-20","vdatetime":null,
	"rdate":"2026-11-19","rdatetime":"2026-11-19 11:42:10","bdate":"2026-11-20","bdatetime":null,
	"value":-12.83,"gross_value":null,"formatted_value":"-12,83 €","type":"card","nature":"card",
	"original_wording":"CARTE 19/11 CAFÉ DE LA GARE","simplified_wording":"Café de la Gare","stemmed_wording":"CAFE DE LA GARE","wording":"Café de la Gare",
	"categories":[{"code":"restaurants","parent_code":"food"}],"id_category":22,"date_scraped":"2026-11-20 09:15:02","coming":false,"active":true,"state":"parsed",
	"id_cluster":null,"comment":null,"last_update":"2026-11-20 09:15:02","deleted":null,
	"original_value":null,"original_gross_value":null,"original_currency":null,"commission":null,"commission_currency":null,
	"country":"FR","card":"4970********0012","webid":"t-9001","documents_count":0,"informations":{},"counterparty":null}`)

var salary = compact(`
{"id":9002,"id_account":301,"application_date":"2026-11-18","date":"2026-11-18","datetime":null,"vdate":"2026-11-18","vdatetime":null,
	"rdate":"2026-11-18","rdatetime":null,"bdate":"2026-11-18","bdatetime":null,
	"value":1994.00,"gross_value":null,"formatted_value":"1 994,00 €","type":"transfer","nature":"transfer",
	"original_wording":"VIR SEPA ATELIER DU NORD SALAIRE NOVEMBRE 2026","simplified_wording":"Atelier du Nord","stemmed_wording":"ATELIER DU NORD SALAIRE","wording":"Atelier du Nord",
	"categories":[{"code":"salary","parent_code":"income"}],"id_category":2,"date_scraped":"2026-11-20 09:15:02","coming":false,"active":true,"state":"parsed",
	"id_cluster":null,"comment":null,"last_update":"2026-11-20 09:15:02","deleted":null,
	"original_value":null,"original_gross_value":null,"original_currency":null,"commission":null,"commission_currency":null,
	"country":null,"card":"","webid":"t-9002","documents_count":0,"informations":{},
	"counterparty":{"label":"Atelier du Nord","account_scheme_name":"iban","account_identification":"FR1420041010050500013M02606","type":"debtor"}}`)

const ownership = `{"id_account":301,"id_connection":$connection,"id_user":$user,"id_connector_source":4,"name":"Compte courant","bank_name":"Banque Exemple",` +
	`"multiple_holders":false,"calculated":[],"usage":"PRIV","parties":[{"role":"holder","identity":{"is_user":true,"full_name":"Jeanne Martin"}}],` +
	`"identifications":[{"scheme_name":"iban","identification":"FR7630006000011234567890189"}]}`

const attachment = `{"id":7001,"name":"receipt.pdf","description":null,"mime_type":"application/pdf","size":48213,"created_date":"2026-11-19",` +
	`"created_datetime":"2026-11-19 11:42:10","last_update":"2026-11-20 09:15:02","url":"https://api.example/2.0/users/$user/transactions/9001/attachments/7001/file"}`

const subscription = `{"id":501,"id_connection":$connection,"id_user":$user,"id_source":88,"number":"C-2019-4711","label":"Électricité","subscriber":"Jeanne Martin",` +
	`"validity":null,"renewdate":"2027-03-01","last_update":"2026-11-20 09:15:04","deleted":null,"disabled":null,"error":null}`

var document = compact(`
{"id":6001,"id_user":$user,"id_subscription":501,"id_type":4,"id_category":null,"id_file":8001,"id_thumbnail":null,
	"name":"Facture novembre 2026","number":"F-2026-11","issuer":"Électricité du Parc","date":"2026-11-15","timestamp":"2026-11-15 00:00:00","duedate":"2026-12-05",
	"total_amount":84.60,"untaxed_amount":70.50,"vat":14.10,"currency":"EUR","income":false,"readonly":true,"has_file_on_website":true,
	"url":"https://api.example/2.0/users/$user/documents/6001/file","thumb_url":"https://api.example/2.0/users/$user/documents/6001/thumbnail","last_update":"2026-11-20 09:15:03"}`)

var paid = compact(`
{"id":1200,"state":"done","state_detail":null,"action":null,"error_code":null,"error_description":null,"fields":{},"validate_uri":null,
	"id_connector":40,"connector_uuid":"338178e6-3d01-564f-9a7b-52ca442459bf","validate_mechanism":"webauth",
	"register_date":"2026-11-20 09:12:30","client_redirect_uri":"https://shop.example/back","client_state":"order 42",
	"payer":{"scheme_name":"iban","identification":"FR1420041010050500013M02606","label":"Jeanne Martin","issuer":null},
	"instructions":[{"reference_id":"H3K9TQ2M7XW4B8R6","amount":12.50,"currency":` + euro + `,"label":"Invoice 42",
	"execution_date_type":"instant","execution_date":null,"exec_date":"2026-11-20","start_date":null,"end_date":null,"frequency":null,
	"beneficiary":{"id":3400,"id_account":null,"label":"Shop","scheme_name":"iban","identification":"FR7630006000011234567890189","issuer":null,
	"disabled_date":null,"merchant_scheme_name":null,"merchant_identification":null,"bic":null},
	"beneficiary_identity":null,"state":"done","error_code":null,"error_description":null}],"payer_identity":null}`)
