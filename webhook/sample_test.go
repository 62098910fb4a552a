package webhook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	connectionKeys  = "active connector_uuid created error error_message expire id id_bank id_connector id_user last_push last_update next_try state"
	accountKeys     = "balance bic bookmarked coming coming_balance company_name currency deleted disabled display error formatted_balance iban id id_connection id_parent id_source id_type id_user information last_update loan name number opening_date original_name ownership type usage webid"
	syncedKeys      = accountKeys + " investments recipients transactions transfers"
	transactionKeys = "active application_date bdate bdatetime card categories coming comment commission commission_currency counterparty country date date_scraped datetime deleted documents_count formatted_value gross_value id id_account id_category id_cluster informations last_update nature original_currency original_gross_value original_value original_wording rdate rdatetime simplified_wording state stemmed_wording type value vdate vdatetime webid wording"
	documentKeys    = "currency date duedate has_file_on_website id id_category id_file id_subscription id_thumbnail id_type id_user income issuer last_update name number readonly thumb_url timestamp total_amount untaxed_amount url vat"
	subscribedKeys  = "deleted disabled error id id_connection id_source id_user label last_update number renewdate subscriber validity"
)

// places lists the members that receivers rely on, by event and path of the object in the sample.
var places = map[string]string{
	"USER_CREATED":                          "id platform signin",
	"USER_DELETED":                          "id platform signin",
	"USER_SYNCED":                           "connections user",
	"USER_SYNCED connections":               connectionKeys + " accounts connector sources subscriptions",
	"CONNECTION_SYNCED":                     "connection user",
	"CONNECTION_SYNCED user":                "id platform signin",
	"CONNECTION_SYNCED connection":          connectionKeys + " accounts connector sources subscriptions",
	"CONNECTION_SYNCED connection accounts": syncedKeys + " market_orders",

	"CONNECTION_SYNCED connection accounts transactions": transactionKeys,
	"CONNECTION_SYNCED connection sources":               "access_expire created disabled expire id id_connection id_connector_source last_update name next_try state",
	"CONNECTION_SYNCED connection subscriptions":         subscribedKeys + " documents",
	"CONNECTION_DELETED":                                 connectionKeys,
	"CONNECTION_CERTIFICATE_AVAILABLE":                   "id_connection id_user",
	"ACCOUNTS_FETCHED":                                   "connection user",
	"ACCOUNTS_FETCHED connection":                        connectionKeys + " accounts connector sources",
	"ACCOUNTS_FETCHED connection accounts":               accountKeys,
	"ACCOUNT_CATEGORIZED":                                "transactions",
	"ACCOUNT_CATEGORIZED transactions":                   transactionKeys,
	"ACCOUNT_SYNCED":                                     syncedKeys,
	"ACCOUNT_DISABLED":                                   accountKeys,
	"ACCOUNT_ENABLED":                                    accountKeys,
	"ACCOUNT_FOUND":                                      "disabled id id_connection id_user type",
	"ACCOUNT_OWNERSHIPS_FOUND":                           "account_ownerships",
	"ACCOUNT_OWNERSHIPS_FOUND account_ownerships":        "bank_name calculated id_account id_connection id_connector_source id_user identifications multiple_holders name parties usage",
	"TRANSACTION_ATTACHMENTS_FOUND":                      "attachments id_account id_connection id_transaction",
	"TRANSACTION_ATTACHMENTS_FOUND attachments":          "created_date created_datetime description id last_update mime_type name size url",
	"SUBSCRIPTION_SYNCED":                                subscribedKeys + " documents",
	"SUBSCRIPTION_SYNCED documents":                      documentKeys,
	"SUBSCRIPTION_FOUND":                                 "id id_connection id_user",
	"PAYMENT_STATE_UPDATED":                              "action client_redirect_uri client_state connector_uuid error_code error_description fields id id_connector instructions payer payer_identity register_date state state_detail validate_mechanism validate_uri",
}

// at returns the object at a path of a sample. In a list it takes the first element.
func at(t *testing.T, sample any, way []string) map[string]any {
	t.Helper()
	for _, name := range way {
		members, _ := sample.(map[string]any)
		if sample = members[name]; sample == nil {
			t.Fatalf("no %s", name)
		}
		if items, isList := sample.([]any); isList {
			sample = items[0]
		}
	}
	members, isObject := sample.(map[string]any)
	if !isObject {
		t.Fatalf("%v is not an object", way)
	}
	return members
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func TestSamplesHaveTheMembersThatReceiversRelyOn(t *testing.T) {
	for place, want := range places {
		words := strings.Fields(place)
		t.Run(place, func(t *testing.T) {
			object := at(t, decoded(t, webhook.Sample(webhook.Event(words[0]))), words[1:])
			members := slices.Sorted(slices.Values(strings.Fields(want)))
			if diff := cmp.Diff(members, slices.Sorted(maps.Keys(object))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, entry := range webhook.Events() {
		if places[string(entry.Event)] == "" {
			t.Errorf("add the members of %s to places in webhook/sample_test.go", entry.Event)
		}
	}
	if webhook.Sample("NO_SUCH_EVENT") != nil {
		t.Error("an event that does not exist has a sample")
	}
}

// TestPayloadsAreNamed: the field Payload of a catalogue entry names the object in the sample, or
// its members.
func TestPayloadsAreNamed(t *testing.T) {
	objects := map[string]string{"User": "USER_CREATED", "Connection": "CONNECTION_DELETED", "BankAccount": "ACCOUNT_ENABLED", "Payment": "PAYMENT_STATE_UPDATED"}
	for _, entry := range webhook.Events() {
		want := places[objects[entry.Payload]]
		object, extra, isObject := strings.Cut(entry.Payload, " + ")
		switch {
		case object == "Subscription":
			want = subscribedKeys + " " + extra
		case isObject:
			want = accountKeys + " " + strings.ReplaceAll(extra, ",", "")
		case want == "":
			want = strings.ReplaceAll(entry.Payload, ",", "")
		}
		members := slices.Sorted(slices.Values(strings.Fields(want)))
		got := slices.Sorted(slices.Values(strings.Fields(places[string(entry.Event)])))
		if diff := cmp.Diff(members, got); diff != "" {
			t.Errorf("%s: %s", entry.Event, diff)
		}
	}
}

var (
	aDate     = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	aDateTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$`)
	startsOne = regexp.MustCompile(`^\d{4}-`)
	money     = regexp.MustCompile(`^(balance|coming_balance|(.*_)?value|amount|(.*_)?amount|vat|commission)$`)
)

func eachMember(value any, walk func(name string, value any)) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			walk(name, member)
			eachMember(member, walk)
		}
	case []any:
		for _, item := range value {
			eachMember(item, walk)
		}
	}
}

func TestSamplesKeepTheFormats(t *testing.T) {
	for _, entry := range webhook.Events() {
		sample := webhook.Sample(entry.Event)
		if bytes.ContainsAny(sample, "\n\t$") {
			t.Errorf("%s is not compact: %s", entry.Event, sample)
		}
		eachMember(decoded(t, sample), func(name string, value any) {
			text, isText := value.(string)
			_, isNumber := value.(json.Number)
			switch {
			case name == "id_webhook_data":
				t.Errorf("%s has an id that belongs to its deliveries", entry.Event)
			case isText && startsOne.MatchString(text) && !aDate.MatchString(text) && !aDateTime.MatchString(text) && !strings.Contains(text, "*"):
				t.Errorf("%s: %s is %s, neither a date nor a date and time", entry.Event, name, text)
			case money.MatchString(name) && !isNumber && value != nil && !strings.HasPrefix(name, "formatted"):
				t.Errorf("%s: %s is not a number", entry.Event, name)
			}
		})
	}
}

// rendered maps members of samples, or events, to the types that the service renders there.
var rendered = map[string]reflect.Type{
	"user": reflect.TypeFor[wire.User](), "USER_CREATED": reflect.TypeFor[wire.User](), "USER_DELETED": reflect.TypeFor[wire.User](),
	"connection": reflect.TypeFor[wire.Connection](), "connections": reflect.TypeFor[wire.Connection](), "CONNECTION_DELETED": reflect.TypeFor[wire.Connection](),
	"connector": reflect.TypeFor[wire.Connector](), "sources": reflect.TypeFor[wire.ConnectionSource](),
	"accounts": reflect.TypeFor[wire.BankAccount](), "ACCOUNT_SYNCED": reflect.TypeFor[wire.BankAccount](), "ACCOUNT_DISABLED": reflect.TypeFor[wire.BankAccount](),
	"ACCOUNT_ENABLED": reflect.TypeFor[wire.BankAccount](), "ACCOUNT_FOUND": reflect.TypeFor[wire.FoundAccount](), "transactions": reflect.TypeFor[wire.Transaction](),
	"account_ownerships": reflect.TypeFor[wire.Ownership](), "TRANSACTION_ATTACHMENTS_FOUND": reflect.TypeFor[wire.FoundAttachments](), "attachments": reflect.TypeFor[wire.Attachment](),
	"subscriptions": reflect.TypeFor[wire.Subscription](), "SUBSCRIPTION_SYNCED": reflect.TypeFor[wire.Subscription](), "SUBSCRIPTION_FOUND": reflect.TypeFor[wire.FoundSubscription](),
	"documents": reflect.TypeFor[wire.Document](), "currency": reflect.TypeFor[wire.Currency](),
}

// eventMembers lists the members that only bodies of events have, beside those of the rendered type.
var eventMembers = []string{"documents", "market_orders", "recipients", "transfers"}

// TestSamplesAreRendered: the objects of samples have members and values that the service can send.
func TestSamplesAreRendered(t *testing.T) {
	for _, entry := range webhook.Events() {
		check := func(name string, value any) {
			object, isObject := value.(map[string]any)
			kind, known := rendered[name]
			if !isObject || !known {
				return
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			read := reflect.New(kind)
			if err := json.Unmarshal(text, read.Interface()); err != nil {
				t.Errorf("%s: %s: %v", entry.Event, name, err)
				return
			}
			sent := decoded(t, wire.Encode(read.Elem().Interface())).(map[string]any)
			for member, value := range object {
				got, sends := sent[member]
				_, nested := rendered[member]
				switch {
				case !sends && !slices.Contains(eventMembers, member):
					t.Errorf("%s: %s has %s, which the service does not send", entry.Event, name, member)
				case sends && !nested:
					if diff := cmp.Diff(value, got); diff != "" {
						t.Errorf("%s: %s of %s (-sample +sent): %s", entry.Event, member, name, diff)
					}
				}
			}
		}
		body := decoded(t, webhook.Sample(entry.Event))
		check(string(entry.Event), body)
		eachMember(body, func(name string, value any) {
			check(name, value)
			items, _ := value.([]any)
			for _, item := range items {
				check(name, item)
			}
		})
	}
}

// TestSamplesHaveTheNumbersOfTheirTypes: id_type and id_category belong to type and categories.
func TestSamplesHaveTheNumbersOfTheirTypes(t *testing.T) {
	for _, entry := range webhook.Events() {
		check := func(value any) {
			object, _ := value.(map[string]any)
			if kind, isAccount := object["type"].(string); isAccount && object["id_type"] != nil {
				if want := passerelle.AccountType(kind).Details().Number; object["id_type"] != json.Number(strconv.FormatInt(want, 10)) {
					t.Errorf("%s: the id_type of %s is %v, want %d", entry.Event, kind, object["id_type"], want)
				}
			}
			all, _ := object["categories"].([]any)
			for _, one := range all {
				category := one.(map[string]any)
				code := category["parent_code"].(string) + "." + category["code"].(string)
				if want := passerelle.CategoryNumber([]string{code}); object["id_category"] != json.Number(strconv.FormatInt(int64(want), 10)) {
					t.Errorf("%s: the id_category of %s is %v, want %d", entry.Event, code, object["id_category"], want)
				}
			}
		}
		body := decoded(t, webhook.Sample(entry.Event))
		check(body)
		eachMember(body, func(_ string, value any) {
			check(value)
			items, _ := value.([]any)
			for _, item := range items {
				check(item)
			}
		})
	}
}

func TestSampleOfAPaymentIsRendered(t *testing.T) {
	sample := webhook.Sample(webhook.PaymentStateUpdated)
	var payment wire.Payment
	decoder := json.NewDecoder(bytes.NewReader(sample))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&payment); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(sample), string(wire.Encode(payment))); diff != "" {
		t.Error(diff)
	}
	if want := wire.NewCurrency("EUR"); payment.Instructions[0].Currency != want {
		t.Errorf("currency %+v, want %+v", payment.Instructions[0].Currency, want)
	}
}

func TestSamplesNameRealAccounts(t *testing.T) {
	eachMember(decoded(t, webhook.Sample(webhook.UserSynced)), func(name string, value any) {
		text, isText := value.(string)
		if name != "iban" && name != "account_identification" || !isText || text == "" { // no IBAN
			return
		}
		account := passerelle.Account{Scheme: passerelle.IBAN, Identification: text, Label: "a"}
		if err := account.Check(name); err != nil {
			t.Error(err)
		}
	})
}

func TestSampleOfAnotherUser(t *testing.T) {
	for _, entry := range webhook.Events() {
		got := webhook.SampleOf(entry.Event, 1017, 1042)
		eachMember(decoded(t, got), func(name string, value any) {
			want := map[string]json.Number{"id_user": "1017", "id_connection": "1042"}[name]
			if want != "" && value != want {
				t.Errorf("%s: %s is %v", entry.Event, name, value)
			}
		})
		back := strings.NewReplacer("1017", "17", "1042", "42").Replace(string(got))
		if back != string(webhook.Sample(entry.Event)) {
			t.Errorf("%s: more changed than the identifiers", entry.Event)
		}
	}
}

// TestSamplesAreFiles: testdata/samples contains each sample, for authors of receivers.
func TestSamplesAreFiles(t *testing.T) {
	for _, entry := range webhook.Events() {
		var lines bytes.Buffer
		if err := json.Indent(&lines, webhook.Sample(entry.Event), "", "\t"); err != nil {
			t.Fatal(err)
		}
		lines.WriteByte('\n')
		file := "testdata/samples/" + string(entry.Event) + ".json"
		if *update {
			if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(written), lines.String()); diff != "" {
			t.Errorf("%s is not the sample of the code; run make generate (-file +code):\n%s", file, diff)
		}
	}
}
