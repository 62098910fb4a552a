package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"passerelle/internal/servicetest"
)

const (
	testConnector     = "338178e6-3d01-564f-9a7b-52ca442459bf"
	providerConnector = "b7f0e7d4-6c1c-5c0e-9b8a-5a0c7a2f9d11"
)

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func opening() time.Time { return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC) }

// fixture is a running service. things contains the values of names that a row has in braces (see
// fill).
type fixture struct {
	*servicetest.Instance
	things map[string]string
}

// newFixture creates a user who shares all accounts and subscriptions.
func newFixture(t *testing.T, s *servicetest.Instance) *fixture {
	t.Helper()
	w := &fixture{Instance: s, things: map[string]string{
		"client": s.ClientID, "secret": s.Secret, "basic": basic(s.ClientID, s.Secret), "base": s.Base, "origin": s.Origin,
		"config token": s.ConfigToken, "users token": s.UsersToken, "test connector": testConnector, "provider connector": providerConnector, "picture": picture,
	}}
	s.OK(s.Call("POST", "/config", s.ConfigToken, `{"api.query_token":"1"}`))
	id, token := w.user(t)
	w.things["user"], w.things["user token"] = id, token
	w.things["connection"] = w.share(t, token)
	w.things["account"] = w.first(t, "/users/me/accounts", "accounts")
	w.things["accounts"] = strings.Join(w.all(t, "/users/me/accounts", "accounts"), ",")
	w.things["subscriptions"] = strings.Join(w.all(t, "/users/me/subscriptions", "subscriptions"), ",")
	for name, path := range map[string]string{"transaction": "transactions", "subscription": "subscriptions", "document": "documents"} {
		w.things[name] = w.first(t, "/users/me/"+path+"?limit=1", path)
	}
	w.things["source"] = w.first(t, "/users/me/connections/"+w.things["connection"]+"/sources", "sources")
	return w
}

func (w *fixture) user(t testing.TB) (id, token string) {
	t.Helper()
	var out struct {
		Token string      `json:"auth_token"`
		ID    json.Number `json:"id_user"`
	}
	w.JSON(w.OK(w.Call("POST", "/auth/init", "", `{"client_id":`+w.ClientID+`,"client_secret":"`+w.Secret+`"}`)), &out)
	return out.ID.String(), out.Token
}

func (w *fixture) connect(t testing.TB, token, login string) string {
	t.Helper()
	var made struct{ ID json.Number }
	w.JSON(w.OK(w.Call("POST", "/users/me/connections", token, map[string]string{
		"connector_uuid": testConnector, "login": login, "password": "1234",
	})), &made)
	return made.ID.String()
}

func (w *fixture) share(t testing.TB, token string) string {
	t.Helper()
	connection := w.connect(t, token, "ordinary")
	w.shareAll(t, token, "accounts")
	w.shareAll(t, token, "subscriptions")
	return connection
}

func (w *fixture) shareAll(t testing.TB, token, kind string) {
	t.Helper()
	ids := w.listIDs(t, token, "/users/me/"+kind+"?all", kind)
	w.OK(w.Call("PUT", "/users/me/"+kind+"/"+strings.Join(ids, ",")+"?all", token, `{"disabled":false}`))
	w.OK(w.Call("POST", "/sandbox/run", w.ConfigToken, nil))
}

func (w *fixture) listIDs(t testing.TB, token, path, key string) []string {
	t.Helper()
	var out map[string]json.RawMessage
	w.JSON(w.OK(w.Call("GET", path, token, nil)), &out)
	var items []struct{ ID json.Number }
	if err := json.Unmarshal(out[key], &items); err != nil || len(items) == 0 {
		t.Fatalf("%s has no %s: %v", path, key, err)
	}
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID.String()
	}
	return ids
}

func (w *fixture) all(t testing.TB, path, key string) []string {
	t.Helper()
	return w.listIDs(t, w.things["user token"], path, key)
}

func (w *fixture) first(t testing.TB, path, key string) string { return w.all(t, path, key)[0] }

// make returns the value of a name that the fixture does not have yet.
func (w *fixture) make(t testing.TB, name string) string {
	t.Helper()
	switch name {
	case "wealth token", "wealth connection", "wealth account", "investment":
		w.invest(t)
		return w.things[name]
	case "receipt token", "receipted", "receipt":
		w.receive(t)
		return w.things[name]
	case "cluster":
		return w.first(t, "/users/me/transactionsclusters", "transactionsclusters")
	case "new account":
		other := w.connect(t, w.things["user token"], "one")
		return w.all(t, "/users/me/connections/"+other+"/accounts?all", "accounts")[0]
	case "deciding":
		return w.connect(t, w.things["user token"], "app")
	case "group", "new group":
		return w.made(t, w.things["user token"], "/users/me/categories", `{"name":"Sailing"}`)
	case "logo file":
		return w.number(t, "/connectors/"+testConnector+"/logos", "connectorlogos", "id_file")
	case "payment code":
		var out struct{ Token string }
		w.JSON(w.OK(w.Call("POST", "/payments/"+w.fill(t, "{payment}")+"/scopedtoken", w.Token("payments:validate"), `{"scope":"payments:validate"}`)), &out)
		return out.Token
	case "service token":
		return w.Token("payments:admin")
	case "validating token":
		return w.Token("payments:validate")
	case "new code":
		return w.code(t)
	case "temporary token", "new temporary token":
		return w.temporary(t)
	case "new user":
		id, _ := w.user(t)
		return id
	case "new user token":
		_, token := w.user(t)
		return token
	case "new connection":
		return w.connect(t, w.things["user token"], "one")
	case "asking", "new asking":
		return w.connect(t, w.things["user token"], "otp")
	case "basic colon":
		return basic(w.ClientID, w.Secret+":")
	case "signer", "new signer":
		return w.signer(t)
	case "loan", "disabled":
		return w.account(t, name)
	case "transaction account", "value":
		var out struct {
			Account json.Number `json:"id_account"`
			Value   json.Number
		}
		w.JSON(w.OK(w.Call("GET", "/users/me/transactions/"+w.things["transaction"], w.things["user token"], nil)), &out)
		return map[string]string{"transaction account": out.Account.String(), "value": strings.TrimPrefix(out.Value.String(), "-")}[name]
	case "login encrypted":
		return w.encrypted(t, "one")
	case "password encrypted":
		return w.encrypted(t, "1234")
	case "payment", "new payment":
		var made struct{ ID json.Number }
		w.JSON(w.OK(w.Call("POST", "/payments", w.Token("payments:admin"), servicetest.Draft())), &made)
		return made.ID.String()
	}
	t.Fatalf("nobody knows what %q is", name)
	return ""
}

func (w *fixture) code(t testing.TB) string {
	t.Helper()
	var out struct{ Code string }
	w.JSON(w.OK(w.Call("GET", "/auth/token/code", w.things["user token"], nil)), &out)
	return out.Code
}

func (w *fixture) temporary(t testing.TB) string {
	t.Helper()
	var out struct {
		Token string `json:"auth_token"`
	}
	w.JSON(w.OK(w.Call("POST", "/auth/init", "", nil)), &out)
	return out.Token
}

func (w *fixture) made(t testing.TB, token, path, body string) string {
	t.Helper()
	var out struct{ ID json.Number }
	w.JSON(w.OK(w.Call("POST", path, token, body)), &out)
	return out.ID.String()
}

func (w *fixture) number(t testing.TB, path, key, member string) string {
	t.Helper()
	var out map[string]json.RawMessage
	w.JSON(w.OK(w.Call("GET", path, "", nil)), &out)
	var items []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(out[key]))
	decoder.UseNumber()
	if err := decoder.Decode(&items); err != nil || len(items) == 0 {
		t.Fatalf("%s has no %s: %v", path, key, err)
	}
	return fmt.Sprint(items[0][member])
}

func (w *fixture) invest(t testing.TB) {
	t.Helper()
	_, token := w.user(t)
	w.things["wealth token"] = token
	w.things["wealth connection"] = w.connect(t, token, "wealth")
	w.shareAll(t, token, "accounts")
	var out struct {
		Investments []struct {
			ID      json.Number
			Account json.Number `json:"id_account"`
		}
	}
	w.JSON(w.OK(w.Call("GET", "/users/me/investments?limit=1", token, nil)), &out)
	w.things["investment"], w.things["wealth account"] = out.Investments[0].ID.String(), out.Investments[0].Account.String()
}

func (w *fixture) receive(t testing.TB) {
	t.Helper()
	_, token := w.user(t)
	w.connect(t, token, "receipts")
	w.shareAll(t, token, "accounts")
	var out struct {
		Transactions []struct {
			ID          json.Number
			Attachments []struct{ ID json.Number }
		}
	}
	w.JSON(w.OK(w.Call("GET", "/users/me/transactions?limit=100&expand=attachments", token, nil)), &out)
	for _, one := range out.Transactions {
		if len(one.Attachments) > 0 {
			w.things["receipt token"], w.things["receipted"], w.things["receipt"] = token, one.ID.String(), one.Attachments[0].ID.String()
			return
		}
	}
	t.Fatal("no transaction has an attachment")
}

func (w *fixture) signer(t testing.TB) string {
	t.Helper()
	var made struct {
		ID     json.Number
		Secret string
	}
	w.JSON(w.OK(w.Call("POST", "/clients", w.ConfigToken, `{"name":"signer","generate_keys":true}`)), &made)
	w.things["signer secret"] = made.Secret
	return made.ID.String()
}

// account returns the id of a loan account or, for the kind "disabled", of an account that is not
// shared.
func (w *fixture) account(t testing.TB, kind string) string {
	t.Helper()
	var out struct {
		Accounts []struct {
			ID   json.Number
			Loan map[string]any
		}
	}
	w.JSON(w.OK(w.Call("GET", "/users/me/connections/"+w.things["connection"]+"/accounts?all", w.things["user token"], nil)), &out)
	if kind == "disabled" {
		// The accounts of a new connection are not shared.
		other := w.connect(t, w.things["user token"], "one")
		return w.all(t, "/users/me/connections/"+other+"/accounts?all", "accounts")[0]
	}
	for _, a := range out.Accounts {
		if a.Loan != nil {
			return a.ID.String()
		}
	}
	t.Fatal("there is no loan")
	return ""
}

// encrypted encrypts a value with the key of /publickey.
func (w *fixture) encrypted(t testing.TB, value string) string {
	t.Helper()
	var key jose.JSONWebKey
	if err := json.Unmarshal(w.OK(w.Call("GET", "/publickey", "", nil)).Body, &key); err != nil {
		t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypter.Encrypt([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	text, err := sealed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
