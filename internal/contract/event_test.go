package contract_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// eventShapes are the bodies of webhooks, by event, from section 9.1 of the fact list.
const eventShapes = `
USER_CREATED             id_webhook_data int, id int, signin time, platform text
USER_DELETED             id_webhook_data int, id int, signin time, platform text
USER_SYNCED              id_webhook_data int, user User, connections [SyncedConnection]+
CONNECTION_SYNCED        id_webhook_data int, user User, connection SyncedConnection
CONNECTION_DELETED       id_webhook_data int, id int, id_user int, connector_uuid uuid, active bool, created time
CONNECTION_CERTIFICATE_AVAILABLE id_webhook_data int, id_connection int, id_user int
ACCOUNTS_FETCHED         id_webhook_data int, user User, connection FetchedConnection
ACCOUNT_SYNCED           id_webhook_data int, id int, id_connection int, id_user int, balance num?, currency Currency, name text, type text, disabled null
                         investments [any], recipients [any], transactions [Transaction], transfers [any]
ACCOUNT_CATEGORIZED      id_webhook_data int, transactions [Transaction]
ACCOUNT_ENABLED          id_webhook_data int, id int, id_connection int, id_user int, disabled null, number str, name text
ACCOUNT_DISABLED         id_webhook_data int, id int, id_connection int, id_user int, disabled time, number str, name text
ACCOUNT_FOUND            id_webhook_data int, id int, id_user int, id_connection int, disabled time, type text
ACCOUNT_OWNERSHIPS_FOUND id_webhook_data int, account_ownerships [Ownership]+
SUBSCRIPTION_FOUND       exactly id_webhook_data int, id int, id_user int, id_connection int
SUBSCRIPTION_SYNCED      id_webhook_data int, id int, id_connection int, id_user int, label text, disabled null, documents [Document]
TRANSACTION_ATTACHMENTS_FOUND id_webhook_data int, id_connection int, id_account int, id_transaction int, attachments [Attachment]+
PAYMENT_STATE_UPDATED    id_webhook_data int, id int, state text, instructions [Instruction]+, register_date time
SyncedConnection         id int, id_user int, connector_uuid uuid, state any, error any, last_update time?, active bool, created time, connector Connector
                         sources [ConnectionSource]+, accounts [SyncedAccount], subscriptions [SyncedSubscription]
FetchedConnection        id int, id_user int, connector_uuid uuid, active bool, created time, connector Connector, sources [ConnectionSource]+, accounts [Account]
SyncedAccount            id int, id_connection int, balance num?, currency FORM.Currency, last_update time?, name text, original_name text, type text, iban str
                         investments [any], recipients [any], transactions [FORM.Transaction], transfers [any]
SyncedSubscription       id int, label text, documents [Document]
FORM.Currency            id text, precision int
FORM.Transaction         id int, id_account int, date date, datetime time?, value num, type text, original_wording str, date_scraped time, last_update time`

// TestEvents checks the bodies of all events in eventShapes (section 9.1 of the fact list), and
// their signatures (section 9.3).
func TestEvents(t *testing.T) {
	all := read(t, every...)
	servicetest.Each(t, servicetest.Options{Now: opening}, func(t *testing.T, s *servicetest.Instance) {
		w := &fixture{Instance: s}
		met := []string{}
		for name := range all {
			if strings.ToUpper(name) == name && strings.Contains(name, "_") {
				met = append(met, name)
				s.Subscribe(name, name)
			}
		}
		w.live(t)
		var got struct{ Requests []servicetest.Received }
		s.JSON(s.OK(s.Call("GET", "/sandbox/receiver", s.ConfigToken, nil)), &got)
		bodies := map[string]int{}
		for _, r := range got.Requests {
			bodies[r.Name]++
			for _, fault := range all.fits(r.Name, r.Name, decoded(t, []byte(r.Body))) {
				t.Error(fault)
			}
			if !strings.HasPrefix(r.SignatureCheck, "valid ") {
				t.Errorf("%s: the signature is %s", r.Name, r.SignatureCheck)
			}
			if kind := r.Headers.Get("Content-Type"); kind != "application/json; charset=utf-8" {
				t.Errorf("%s: Content-Type %s", r.Name, kind)
			}
		}
		for _, name := range met {
			if bodies[name] == 0 {
				t.Errorf("no %s came", name)
			}
		}
	})
}

// live makes the calls that cause all events.
func (w *fixture) live(t *testing.T) {
	t.Helper()
	_, other := w.user(t)
	w.connect(t, other, "receipts")
	w.shareAll(t, other, "accounts")
	_, token := w.user(t)
	w.share(t, token)
	w.OK(w.Call("DELETE", "/users/me/connections/"+w.connect(t, token, "none"), token, nil))
	w.connect(t, token, "one")
	account := w.listIDs(t, token, "/users/me/accounts", "accounts")[0]
	w.OK(w.Call("PUT", "/users/me/connections", token, `{}`))
	w.OK(w.Call("POST", "/sandbox/run", w.ConfigToken, nil)) // this sends the event about an account before the user withholds that account
	w.OK(w.Call("POST", "/users/me/accounts/"+account, token, `{"disabled":true}`))
	payment := w.Create(w.Token("payments:admin"), servicetest.Draft())
	body := map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/back"}
	w.OK(w.Call("POST", "/payments/"+strconv.FormatInt(payment, 10), w.Token("payments:admin"), body))
	w.OK(w.Call("POST", "/sandbox/run", w.ConfigToken, nil))
	w.OK(w.Call("DELETE", "/users/me", token, nil))
	w.OK(w.Call("POST", "/sandbox/run", w.ConfigToken, nil))
}

// TestSignatureHeaders checks rule 10 in section 0 of the fact list. The names of headers must have
// the documented spelling, because some receivers are case-sensitive.
func TestSignatureHeaders(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	url, heads := listens(t)
	var provider struct{ ID json.Number }
	s.JSON(s.OK(s.Call("POST", "/webhooks/auth", s.ConfigToken, `{"type":"hmac_signature","name":"raw"}`)), &provider)
	s.OK(s.Call("POST", "/webhooks", s.ConfigToken, `{"event":"USER_CREATED","url":"`+url+`","id_auth":"`+provider.ID.String()+`"}`))
	(&fixture{Instance: s}).user(t)
	head := <-heads
	for _, name := range []string{"Signature", "Signature-Date"} {
		if head["BI-"+name] == "" || head["BI-"+name] != head["SVC-"+name] {
			t.Errorf("BI-%s is %q, and SVC-%s %q: %v", name, head["BI-"+name], name, head["SVC-"+name], head)
		}
	}
	if head["SVC-Event"] != "USER_CREATED" {
		t.Errorf("SVC-Event is %q", head["SVC-Event"])
	}
}

// listens starts a receiver for one request, and delivers the request's headers with unchanged
// names.
func listens(t *testing.T) (url string, heads <-chan map[string]string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	came := make(chan map[string]string, 1)
	go receive(listener, came)
	return "http://" + listener.Addr().String() + "/hook", came
}

func receive(listener net.Listener, heads chan<- map[string]string) {
	connection, err := listener.Accept()
	if err != nil {
		return
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	head := map[string]string{}
	for lines := textproto.NewReader(reader); ; {
		line, err := lines.ReadLine()
		if err != nil || line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		head[name] = value
	}
	_, _ = io.WriteString(connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	heads <- head
}
