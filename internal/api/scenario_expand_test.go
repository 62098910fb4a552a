package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func expansions(of reflect.Type, depth int) [][]string {
	var all [][]string
	known := httpapi.Linked(of)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, []string{name})
		if depth == 1 {
			continue
		}
		for _, below := range expansions(known[name], depth-1) {
			all = append(all, append([]string{name}, below...))
		}
	}
	return all
}

func along(value any, keys []string) []any {
	if len(keys) == 0 {
		return []any{value}
	}
	if items, isList := value.([]any); isList {
		var all []any
		for _, item := range items {
			all = append(all, along(item, keys)...)
		}
		return all
	}
	members, _ := value.(map[string]any)
	if below, there := members[keys[0]]; there && below != nil {
		return along(below, keys[1:])
	}
	return nil
}

// Each possible expansion works, alone and nested in brackets up to four levels deep.
func TestEveryExpansionWorksEverywhere(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		transaction := "/transactions/" + strconv.FormatInt(s.attached(t), 10)
		document := s.subscriber(t, "")["document"]
		s.assets(t, "")
		s.subscriptionBeside(t, 1)
		s.heldEverywhere(t)
		s.do(t, ask{method: "PUT", path: transaction + "/documents", token: "user", body: `{"id_document":` + document + `}`}).says(t, 200, "", "")
		for _, root := range []struct {
			path string
			of   reflect.Type
		}{
			{"/connections?limit=1", reflect.TypeFor[wire.Connection]()},
			{"/accounts?all&limit=1", reflect.TypeFor[wire.BankAccount]()},
			{"/subscriptions?limit=100", reflect.TypeFor[wire.Subscription]()},
			{transaction, reflect.TypeFor[wire.Transaction]()},
			{"/documents/" + document, reflect.TypeFor[wire.Document]()},
			{"/investments?limit=100", reflect.TypeFor[wire.Investment]()},
			{"/connectors/" + testConnector, reflect.TypeFor[wire.Connector]()},
		} {
			s.expandsAll(t, root.path, expansions(root.of, 4))
		}
	})
}

// heldEverywhere adds a position with a pocket to each account of the user.
func (s *fixture) heldEverywhere(t *testing.T) {
	t.Helper()
	who := s.domainOf("")
	accounts, err := bankstore.From(s.DB).BankAccounts(t.Context(), bankstore.AccountFilter{Domain: who.domain.ID, User: who.user, All: true}, store.Window{Limit: 100})
	must(t, err)
	day := passerelle.DateOf(opening, time.UTC)
	for _, a := range accounts {
		s.hand(t, who, a, 1, share("everywhere", "1", "1", "1", day), bankstore.NewAsset{
			Kind: bankstore.Pockets, Key: "all", Investment: "everywhere",
			Details: passerelle.PocketDetails{Key: "all", Label: "Now", Investment: "everywhere", Quantity: exactly2("1"), Value: exactly2("1.00"), Condition: "available"},
		})
	}
}

func (s *fixture) expandsAll(t *testing.T, path string, ways [][]string) {
	t.Helper()
	sign := "?"
	if strings.Contains(path, "?") {
		sign = "&"
	}
	for _, way := range ways {
		expand := strings.Join(way, "[") + strings.Repeat("]", len(way)-1)
		asked := ask{method: "GET", path: path + sign + "expand=" + expand, token: "user", header: map[string]string{"Prefer": "handling=strict"}}
		if strings.Count(expand, "transactions") == 2 {
			// The response would contain the transactions again inside each transaction.
			s.do(t, asked).says(t, 400, "invalidValue", "would embed more than 50000 objects")
			continue
		}
		var body map[string]any
		s.do(t, asked).decode(t, &body)
		start := any(body)
		for key, list := range body {
			if sign == "&" && strings.HasPrefix(path, "/"+key) {
				start = list
			}
		}
		if len(along(start, way)) == 0 {
			t.Errorf("%s: nothing is embedded by expand=%s: %.300s", path, expand, fmt.Sprint(body))
		}
	}
}

func (s *fixture) subscriptionBeside(t *testing.T, connection passerelle.ConnectionID) {
	t.Helper()
	who := s.domainOf("")
	at := opening
	one := bankstore.StoredSubscription{Subscription: passerelle.Subscription{
		User: who.user, Connection: connection, Disabled: &at, SubscriptionDetails: passerelle.SubscriptionDetails{Key: "both", Label: "Both"},
	}}
	var err error
	one.ID, err = bankstore.NewSubscriptionID(t.Context(), s.DB)
	must(t, err)
	s.write(t, func(tx *store.Tx) error { return bankstore.In(tx).CreateSubscription(who.domain.ID, &one) })
	s.write(t, func(tx *store.Tx) error {
		bankstore.In(tx).EnableSubscription(who.domain.ID, who.user, one.ID)
		return nil
	})
}

// The service refuses a response that would embed too many objects.
func TestExpansionsAreBounded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		for i := range 250 {
			s.account(t, s.domainOf(""), h.connections[0], fmt.Sprint("one of many ", i))
		}
		for expand, status := range map[string]int{"accounts": 200, "accounts[connection]": 200, "accounts[connection[accounts]]": 400, "all_accounts[connection[all_accounts[connection]]]": 400} {
			got := s.do(t, ask{method: "GET", path: "/users/me/connections?expand=" + expand, token: "user"})
			if got.status != status || status == 400 && !strings.Contains(string(got.body), "would embed more than 50000 objects") {
				t.Errorf("%s: %d %.200s", expand, got.status, got.body)
			}
		}
	})
}

// No call refuses after a change. When the response would embed too many objects, it embeds none.
func TestNoChangeIsRefusedForItsExpansion(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const below = "all_accounts[connection[all_accounts"
		expand := map[string]string{"connections": below + "[connection]]]", "accounts": "connection[" + below + "]]]", "subscriptions": "connection[" + below + "]]]"}
		body := map[string]string{"connections": `{}`, "accounts": `{"name":"Renamed"}`, "subscriptions": `{"disabled":true}`}
		c, accounts := s.discovered(t, "", "one")
		for i := range 225 {
			s.account(t, s.domainOf(""), c.ID, fmt.Sprint("one of many ", i))
		}
		ids := map[string]string{"{userId}": "me", "{connectionId}": fmt.Sprint(c.ID), "{accountId}": accounts[0], "{subscriptionId}": s.first(t, "subscriptions")}
		change := func(call, body string) {
			verb, pattern, _ := strings.Cut(call, " ")
			resource := resourceOf(pattern)
			a := ask{method: verb, token: "user", body: body}
			a.path = placeholder.ReplaceAllStringFunc(pattern, func(hole string) string { return ids[hole] }) + "?expand=" + expand[resource]
			if resource != "connections" {
				a.path += "&all"
			}
			got := s.do(t, a)
			if got.status != 200 || strings.Contains(string(got.body), `"all_accounts"`) || resource == "accounts" && !strings.Contains(string(got.body), `"Renamed"`) {
				t.Errorf("%s: %d %.300s", call, got.status, got.body)
			}
		}
		for _, call := range s.expandingChanges(t) {
			if !connects(call) {
				change(call, body[resourceOf(call)])
			}
		}
		for _, call := range slices.DeleteFunc(s.expandingChanges(t), func(call string) bool { return !connects(call) }) {
			change(call, strings.Replace(connecting, "one", "many", 1))
		}
		s.do(t, ask{method: "GET", path: "/accounts/" + accounts[0] + "?all&expand=" + expand["accounts"], token: "user"}).says(t, 400, "invalidValue", "would embed more than 50000 objects")
	})
}

func connects(call string) bool {
	return strings.HasPrefix(call, "POST ") && strings.HasSuffix(call, "/connections")
}

// resourceOf returns the last word of a pattern that is not a placeholder.
func resourceOf(pattern string) string {
	return path.Base(strings.TrimSuffix(placeholder.ReplaceAllString(pattern, ""), "/"))
}

// expandingChanges returns each call that changes end users' data and accepts expand. The
// description of expand says what the response to a change embeds.
func (s *fixture) expandingChanges(t *testing.T) []string {
	t.Helper()
	var calls []string
	for pattern, operations := range s.contract.paths {
		for verb, operation := range operations.(map[string]any) {
			if !slices.Contains([]string{"post", "put", "delete"}, verb) || strings.HasPrefix(pattern, "/webhooks") {
				continue // a webhook embeds one object
			}
			parameters, _ := operation.(map[string]any)["parameters"].([]any)
			i := slices.IndexFunc(parameters, func(p any) bool { return p.(map[string]any)["name"] == "expand" })
			if i < 0 {
				continue
			}
			calls = append(calls, strings.ToUpper(verb)+" "+pattern)
			if about := parameters[i].(map[string]any)["description"].(string); !strings.Contains(about, "(of more than 50,000, a read is refused and a change embeds none)") {
				t.Errorf("%s: expand is described as %q", pattern, about)
			}
		}
	}
	slices.Sort(calls)
	return calls
}

func (s *fixture) first(t *testing.T, list string) string {
	t.Helper()
	var body map[string]json.RawMessage
	s.do(t, ask{method: "GET", path: "/" + list + "?all&limit=1", token: "user"}).decode(t, &body)
	var items []struct{ ID int64 }
	must(t, json.Unmarshal(body[list], &items))
	return fmt.Sprint(items[0].ID)
}
