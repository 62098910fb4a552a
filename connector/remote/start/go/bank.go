//go:build ignore

// A bank that accepts payments and asks the payer for approval on a page. It stores each order in a
// file.
//
// Usage: SECRET=... go run bank.go protocol.go PORT FOLDER
// With TEST=1, the bank lets `passerelle connector test` act as the payer.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

var (
	port, folder = commandLine()
	// address is the address at which browsers reach this program.
	address = cmp.Or(os.Getenv("ADDRESS"), "http://127.0.0.1:"+port)
	profile = object{
		"uuid": "4d1f0a3c-7b52-4f0e-9c48-2a6d51e0c7b3", "name": "Go Bank", "countries": []string{"FR"}, "sandbox": true, "idempotent": true,
		"payments": object{
			"mechanisms": []string{"webauth"}, "schemes": []string{"iban"}, "date_types": []string{"first_open_day", "instant"},
			"currencies": []string{"EUR"}, "payer_account": "not_used", "max_instructions": 1,
		},
	}
	lock sync.Mutex // an order that arrives twice is stored once
)

// line is one transfer in a payment.
type line struct {
	Amount      struct{ Value, Currency string }
	Beneficiary struct{ Label string }
}

// order is a stored order.
type order struct {
	Key, Status, ReturnURL string
	Line                   line
}

// body has the members that all calls about orders have in common.
type body struct {
	Act   string
	Order struct {
		Key       string
		ReturnURL string `json:"return_url"`
		Payment   struct{ Instructions []line }
	}
}

func path(key string) string { return filepath.Join(folder, url.QueryEscape(key)+".json") }

func load(key string) *order {
	raw, err := os.ReadFile(path(key))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(err)
	o := &order{}
	must(json.Unmarshal(raw, o))
	return o
}

func store(o order) {
	file, err := os.Create(path(o.Key) + ".new")
	must(err)
	must(errors.Join(json.NewEncoder(file).Encode(o), file.Sync(), file.Close(), os.Rename(file.Name(), path(o.Key))))
}

func report(o *order) object {
	if o == nil {
		return object{"error": object{"kind": "unknownOrder"}}
	}
	answer := object{"status": o.Status, "bank_payment_id": o.Key}
	if o.Status == "awaiting" {
		answer["action"], answer["validate_uri"] = "redirect", address+"/pay/"+url.PathEscape(o.Key)
	} else if o.Status == "declined" {
		answer["code"], answer["description"] = "CancelledByUser", "The payer refused."
	}
	return object{"report": answer}
}

func decide(o *order, approved bool) {
	if o.Status == "awaiting" {
		o.Status = map[bool]string{true: "settled", false: "declined"}[approved]
		store(*o)
	}
}

func about(serve func(body) object) call {
	return func(raw []byte, _ func(object)) object {
		var b body
		must(json.Unmarshal(raw, &b))
		lock.Lock()
		defer lock.Unlock()
		return serve(b)
	}
}

func initiate(b body) object {
	if load(b.Order.Key) == nil {
		store(order{b.Order.Key, "awaiting", b.Order.ReturnURL, b.Order.Payment.Instructions[0]})
	}
	return status(b)
}

func test(b body) object {
	if b.Act != "begin" {
		decide(load(b.Order.Key), b.Act == "approve")
	}
	orders, err := filepath.Glob(filepath.Join(folder, "*.json"))
	must(err)
	return object{"orders": len(orders)}
}

func show(at string, form map[string][]string) (string, bool) {
	lock.Lock()
	defer lock.Unlock()
	key, _ := url.PathUnescape(strings.TrimPrefix(at, "/pay/"))
	o := load(key)
	if o == nil || !strings.HasPrefix(at, "/pay/") {
		return "", false
	}
	if len(form) == 0 {
		what := html.EscapeString(o.Line.Amount.Value + " " + o.Line.Amount.Currency + " to " + o.Line.Beneficiary.Label)
		return "<h1>Pay " + what + "</h1><form method=post><button name=decision value=approve>approve</button>" +
			"<button name=decision value=refuse>refuse</button></form>", true
	}
	decide(o, url.Values(form).Get("decision") == "approve")
	return o.ReturnURL, true
}

func status(b body) object { return report(load(b.Order.Key)) }

func main() {
	describe := func([]byte, func(object)) object { return profile }
	calls := map[string]call{"profile": describe, "initiate": about(initiate), "status": about(status)}
	if os.Getenv("TEST") != "" {
		calls["test"] = about(test)
	}
	serve(port, calls, show)
}
