package initiation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

func (w *fixture) wantRefusal(t *testing.T, err error, rows map[string]int64, kind passerelle.Kind, field string, words ...string) {
	t.Helper()
	var reported *passerelle.Error
	if !errors.As(err, &reported) || reported.Kind != kind || reported.Field != field {
		t.Errorf("the error is %v, want %s on %q", err, kind, field)
		return
	}
	for _, word := range words {
		if !strings.Contains(reported.Message, word) {
			t.Errorf("the message %q lacks %q", reported.Message, word)
		}
	}
	w.wantRows(t, rows)
}

// particular sets strict rules about the number of instructions, payer accounts and fields.
func particular(p *connector.Profile) {
	p.Sandbox = false
	p.Payments.MaxInstructions = 1
	p.Payments.PayerAccount = payment.PayerMandatory
	p.PaymentFields = []payment.Field{
		{Name: "branch", Type: "list", Label: "Your branch", Required: true, Values: []payment.FieldValue{{Label: "North", Value: "n"}, {Label: "South", Value: "s"}}},
		{Name: "login", Type: "text", Label: "Your login", Regex: `^\d{8}$`},
		{Name: "nick", Type: "text", Label: "Your nick", Regex: `^(?=.*[aeiou])(?!root)\w+$`},
	}
}

func TestCreationRefusals(t *testing.T) {
	user := &passerelle.Identity{IDUser: 7, Sensitive: &passerelle.Sensitive{FirstName: "A", LastName: "B"}}
	for _, test := range []struct {
		name   string
		lines  int
		change func(*payment.Draft)
		live   bool
		field  string
		words  []string
	}{
		{name: "no instructions", field: "instructions"},
		{name: "no redirect URI", lines: 1, change: func(d *payment.Draft) { d.ClientRedirectURI = "" }, field: "client_redirect_uri"},
		{
			name: "redirect URI not registered", lines: 1, live: true, change: func(d *payment.Draft) { d.ClientRedirectURI = "https://evil.test/x" },
			field: "client_redirect_uri", words: []string{"https://evil.test/x", shop},
		},
		{name: "unknown connector", lines: 1, change: func(d *payment.Draft) { d.Connector = "nobody" }, field: "connector_uuid"},
		{name: "sandbox connector in a live domain", lines: 1, live: true, change: func(d *payment.Draft) { d.Connector = testConnector }, field: "connector_uuid"},
		{
			name: "ineligible connector", lines: 1, field: "connector_uuid", words: []string{"Banque Exemple", "nspCurrency"},
			change: func(d *payment.Draft) { d.Connector, d.Instructions[0].Amount.Currency = "40", "CHF" },
		},
		{name: "user as payer", lines: 1, change: func(d *payment.Draft) { d.PayerIdentity = user }, field: "payer_identity.id_user"},
		{name: "user as operator", lines: 1, change: func(d *payment.Draft) { d.OperatorIdentity = user }, field: "operator_identity.id_user"},
		{
			name: "user as beneficiary", lines: 2, field: "instructions[1].beneficiary_identity.id_user",
			change: func(d *payment.Draft) { d.Instructions[1].BeneficiaryIdentity = user },
		},
		{
			name: "periodic while off", lines: 1, field: "instructions[0].execution_date_type",
			change: func(d *payment.Draft) { d.Instructions[0].DateType = payment.Periodic },
		},
		{name: "above the limit", lines: 81, field: "instructions", words: []string{"1000"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				values := settings.Values{settings.MaxAmount: "1000"}
				d, c := w.domain, w.client
				if test.live {
					d, c = w.createDomain("live", passerelle.Live, shop)
				}
				wish := draft(test.lines)
				if test.change != nil {
					test.change(&wish)
				}
				rows := w.rows()
				_, err := w.Create(t.Context(), d, initiation.Creation{By: c.ID, Settings: values, Draft: wish})
				w.wantRefusal(t, err, rows, passerelle.Invalid, test.field, test.words...)
			})
		})
	}
}

func TestValidationRefusals(t *testing.T) {
	fit := func(c *initiation.Choice) {
		c.Fields = map[string]string{"branch": "n"}
		c.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Payer"}
	}
	for _, test := range []struct {
		name   string
		lines  int
		change func(*initiation.Choice)
		field  string
		words  []string
	}{
		{"unknown connector", 1, func(c *initiation.Choice) { c.Connector = "nobody" }, "connector_uuid", nil},
		{"no connector", 1, func(c *initiation.Choice) { c.Connector = "" }, "connector_uuid", nil},
		{"ineligible connector", 2, fit, "connector_uuid", []string{"Banque Exemple", "nspBulk"}},
		{"wrong mechanism", 1, func(c *initiation.Choice) { c.Mechanism = "pigeon" }, "validate_mechanism", []string{"webauth"}},
		{"no webview_url", 1, func(c *initiation.Choice) { c.WebviewURL = "" }, "webview_url", nil},
		{"bad webview_url", 1, func(c *initiation.Choice) { c.WebviewURL = "javascript:alert(1)" }, "webview_url", nil},
		{"no payer", 1, func(c *initiation.Choice) { c.Payer = nil }, "payer", []string{"Banque Exemple"}},
		{"bad payer", 1, func(c *initiation.Choice) { c.Payer.Identification = "FR00" }, "payer.identification", nil},
		{"required field", 1, func(c *initiation.Choice) { c.Fields = nil }, "fields.branch", []string{"Your branch"}},
		{"empty required field", 1, func(c *initiation.Choice) { c.Fields["branch"] = "" }, "fields.branch", nil},
		{"no such choice", 1, func(c *initiation.Choice) { c.Fields["branch"] = "east" }, "fields.branch", []string{`"n" "s"`}},
		{"wrong pattern", 1, func(c *initiation.Choice) { c.Fields["login"] = "1234567" }, "fields.login", []string{`^\d{8}$`}},
		{"wrong pattern of Perl's", 1, func(c *initiation.Choice) { c.Fields["nick"] = "rootless" }, "fields.nick", []string{"(?!root)"}},
		{"long field", 1, func(c *initiation.Choice) { c.Fields["nick"] = strings.Repeat("n", 1001) }, "fields.nick", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				w.line.tune(particular)
				id := w.create(test.lines)
				for _, send := range []bool{true, false} {
					rows, choice := w.rows(), validated(fit, test.change)
					choice.Validated = send
					_, err := w.Validate(t.Context(), w.domain, id, choice)
					w.wantRefusal(t, err, rows, passerelle.Invalid, test.field, test.words...)
				}
				w.line.tune(func(p *connector.Profile) { p.Payments.MaxInstructions = 2 })
				_, err := w.Validate(t.Context(), w.domain, id, validated(fit, func(c *initiation.Choice) { c.Fields["nick"] = "ned" }))
				must(t, err)
				w.wantState(t, id, payment.Validating)
			})
		})
	}
}

// TestPassedExecutionDay validates a payment on its execution day and after this day. No order may
// be sent with a day that has passed.
func TestPassedExecutionDay(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		deferred := func(d *payment.Draft) {
			d.Instructions[0].DateType, d.Instructions[0].ExecutionDate = payment.Deferred, passerelle.DateOf(noon, time.UTC).AddDays(2)
		}
		create := func() passerelle.PaymentID {
			p, err := w.Create(t.Context(), w.domain, initiation.Creation{By: w.client.ID, Draft: draft(1, deferred)})
			must(t, err)
			return p.ID
		}
		late, inTime := create(), create()
		rows := w.rows()
		_, err := w.Validate(t.Context(), w.later(3*24*time.Hour), late, validated())
		w.wantRefusal(t, err, rows, passerelle.Invalid, "connector_uuid", "minDateDelta", "passed")
		_, err = w.Validate(t.Context(), w.later(2*24*time.Hour), inTime, validated())
		must(t, err)
		w.wantState(t, inTime, payment.Validating)
	})
}

func TestWrongPayment(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		id := w.create(1)
		rows := w.rows()
		_, err := w.Validate(t.Context(), w.domain, 999, validated())
		w.wantRefusal(t, err, rows, passerelle.NotFound, "")
		_, err = w.Validate(t.Context(), other, id, validated())
		w.wantRefusal(t, err, rows, passerelle.NotFound, "")
		w.runDue(t, w.Initiation, other, none)
		p := w.sent(1)
		state := w.decide(p, "refuse")
		for _, want := range []payment.State{payment.Validating, payment.Rejected} {
			for _, send := range []bool{true, false} {
				rows, choice := w.rows(), validated()
				choice.Validated = send
				_, err := w.Validate(t.Context(), w.domain, p.ID, choice)
				w.wantRefusal(t, err, rows, passerelle.Conflict, "", string(want))
			}
			_, err := w.Return(t.Context(), w.domain, state, nil)
			must(t, err)
		}
	})
}

func TestOtherDomainsAreLeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		other, _ := w.createDomain("other", passerelle.Sandbox)
		other.Clock.Offset = time.Hour
		p := w.sent(1)
		w.decide(p, "approve")
		id := w.create(1)
		w.line.breaks(before(fails(errCut)), nil)
		_, err := w.Validate(t.Context(), w.domain, id, validated())
		must(t, err)
		w.leasesLapse()
		w.runDue(t, w.Initiation, other, none)
	})
}

// TestLiveDomain checks that a live domain accepts no simulated bank and, by default, no field
// in plain text.
func TestLiveDomain(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		live, client := w.createDomain("live", passerelle.Live, shop)
		p, err := w.Create(t.Context(), live, initiation.Creation{By: client.ID, Draft: draft(1)})
		must(t, err)
		rows := w.rows()
		_, err = w.Validate(t.Context(), live, p.ID, validated())
		w.wantRefusal(t, err, rows, passerelle.Invalid, "connector_uuid")
		if offered, err := w.Offered(t.Context(), live, p); len(offered) != 0 || err != nil {
			t.Errorf("a live domain is offered %v", offered)
		}
		w.line.tune(func(p *connector.Profile) { p.Sandbox = false })
		plain := validated(func(c *initiation.Choice) { c.Fields = map[string]string{"use_case_pay": "redirect"} })
		_, err = w.Validate(t.Context(), live, p.ID, plain)
		w.wantRefusal(t, err, rows, passerelle.Invalid, "fields", "plain text")
		must(t, settings.Set(t.Context(), w.db, live.ID, map[string]string{settings.PlainFields: "1"}, noon))
		sent, err := w.Validate(t.Context(), live, p.ID, plain)
		must(t, err)
		if sent.State != payment.Validating {
			t.Errorf("the payment is %s", sent.State)
		}
	})
}

// TestRedirects checks that a redirect URI must equal a URI that the client has registered. A
// client without registered URIs may use any URI, except in live domains.
func TestRedirects(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		live, none := w.createDomain("live", passerelle.Live)
		_, some := w.createDomain("some", passerelle.Sandbox, "https://a.test/1", "https://a.test/2")
		sandbox := w.domain
		sandbox.ID = some.Domain
		for _, test := range []struct {
			domain passerelle.Domain
			client store.Client
			uri    string
			taken  bool
		}{
			{w.domain, w.client, "https://anything.test/", true},
			{live, none, "https://anything.test/", false},
			{sandbox, some, "https://a.test/2", true},
			{sandbox, some, "https://a.test/2/", false},
			{sandbox, some, "https://a.test", false},
		} {
			rows := w.rows()
			err := w.CheckRedirect(t.Context(), test.domain, test.client.ID, "redirect_uri", test.uri)
			if test.taken != (err == nil) {
				t.Errorf("%s: %v", test.uri, err)
			}
			if err != nil {
				w.wantRefusal(t, err, rows, passerelle.Invalid, "redirect_uri", append(slices.Clone(test.client.RedirectURIs), test.uri)...)
			}
		}
	})
}

func TestWhatIsOffered(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		p := w.stored(w.create(2))
		offered := func() []string {
			var names []string
			profiles, err := w.Offered(t.Context(), w.domain, p)
			must(t, err)
			for _, profile := range profiles {
				names = append(names, profile.UUID)
			}
			return names
		}
		if got := offered(); !slices.Equal(got, []string{testConnector}) {
			t.Errorf("offered is %v", got)
		}
		chosen := func() bool {
			_, chosen, err := w.Chosen(t.Context(), w.domain, p)
			must(t, err)
			return chosen
		}
		if chosen() {
			t.Error("a connector is chosen that nobody chose")
		}
		p.Connector = testConnector
		w.line.tune(func(p *connector.Profile) { p.Hidden = true })
		if !chosen() || len(offered()) != 0 {
			t.Errorf("a hidden connector is chosen: %v, offered: %v", chosen(), offered())
		}
		w.line.tune(func(p *connector.Profile) { p.Hidden, p.Payments.MaxInstructions = false, 1 })
		if chosen() || len(offered()) != 0 {
			t.Errorf("an ineligible connector is chosen: %v, offered: %v", chosen(), offered())
		}
	})
}

// TestNothingSensitiveLeaves puts a word into private fields. The word must not appear in refusals,
// events, encrypted columns, simulated orders or the log.
func TestNothingSensitiveLeaves(t *testing.T) {
	const canary = "CANARY"
	person := func() *passerelle.Identity {
		return &passerelle.Identity{Sensitive: &passerelle.Sensitive{
			FirstName: canary, LastName: canary, BirthCity: canary, PostalAddress: canary, Email: canary,
			SchemeName: passerelle.PassportNumber, Identification: canary, Issuer: canary, UltimateOwnerText: canary, UltimateOwnerExtraText: canary,
		}}
	}
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) {
			p.PaymentFields = append(p.PaymentFields, payment.Field{Name: "pin", Type: "text", Label: "PIN", Regex: "^[A-Z]+$"})
		})
		wish := draft(2, func(d *payment.Draft) {
			d.PayerIdentity, d.OperatorIdentity, d.Instructions[1].BeneficiaryIdentity = person(), person(), person()
		})
		p, err := w.Create(t.Context(), w.domain, initiation.Creation{By: w.client.ID, Draft: wish})
		must(t, err)
		pin := func(value string) initiation.Choice {
			return validated(func(c *initiation.Choice) { c.Fields = map[string]string{"pin": value} })
		}
		_, err = w.Validate(t.Context(), w.domain, p.ID, pin(canary+"!"))
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("the refusal of a PIN: %v", err)
		}
		kept := pin(canary)
		kept.Validated = false
		_, err = w.Validate(t.Context(), w.domain, p.ID, kept)
		must(t, err)
		w.line.breaks(before(fails(errCut)), nil)
		_, err = w.Validate(t.Context(), w.domain, p.ID, validated())
		must(t, err)
		w.line.breaks(nil, nil)
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.domain, recovered)
		_, err = w.Return(t.Context(), w.domain, w.decide(w.stored(p.ID), "approve"), nil)
		must(t, err)
		w.wantState(t, p.ID, payment.Done)
		reported := column[[]byte](w, `SELECT body FROM event`)
		sealed := column[[]byte](w, `SELECT sensitive FROM payment_identity UNION ALL SELECT fields FROM attempt UNION ALL SELECT fields FROM payment_given`)
		orders := column[[]byte](w, `SELECT body FROM sandbox_order`)
		if len(reported) != 3 || len(sealed) != 4 {
			t.Errorf("there are %d events and %d sealed values", len(reported), len(sealed))
		}
		for _, text := range append(slices.Concat(reported, sealed, orders), []byte(w.log.String())) {
			if strings.Contains(string(text), canary) {
				t.Errorf("a canary is in\n%s", text)
			}
		}
	})
}

// TestReturnIsOnAKnownSite checks that the holder of a payment token cannot make the domain's
// callback redirect payers to an unknown site.
func TestReturnIsOnAKnownSite(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		d, c := w.createDomain("registered", passerelle.Sandbox, shop)
		for address, good := range map[string]bool{
			"https://shop.test/webview?step=2": true, "https://SHOP.test/other": true, "https://registered.test/webview/payment": true,
			"https://evil.test/back": false, "http://shop.test/back": false, "https://shop.test.evil.test/": false, "https://shop.test:444/": false,
		} {
			p, err := w.Create(t.Context(), d, initiation.Creation{By: c.ID, Draft: draft(1)})
			must(t, err)
			rows, choice := w.rows(), validated(func(c *initiation.Choice) { c.WebviewURL = address })
			_, err = w.Validate(t.Context(), d, p.ID, choice)
			if good {
				must(t, err)
				continue
			}
			w.wantRefusal(t, err, rows, passerelle.Invalid, "webview_url", shop)
		}
	})
}

func (w *fixture) deleteClient(c store.Client) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *store.Tx) error { tx.DeleteClient(c.Domain, c.ID, noon); return nil }))
}

// TestCancellationsAfterTheClient cancels payments of a deleted client, as a client and as the
// payer. The deleted client must count as a client without redirect URIs.
func TestCancellationsAfterTheClient(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) { p.Sandbox = false })
		live, client := w.createDomain("live", passerelle.Live, shop)
		var ids []passerelle.PaymentID
		for range 2 {
			p, err := w.Create(t.Context(), live, initiation.Creation{By: client.ID, Draft: draft(1)})
			must(t, err)
			ids = append(ids, p.ID)
		}
		_, err := w.Validate(t.Context(), live, ids[1], validated())
		must(t, err)
		w.deleteClient(client)
		for _, id := range ids {
			rows := w.rows()
			_, err := w.Cancel(t.Context(), live, id, initiation.CancelRequest{By: payment.ByClient, RedirectURI: shop})
			w.wantRefusal(t, err, rows, passerelle.Invalid, "client_redirect_uri", shop)
			_, err = w.Cancel(t.Context(), live, id, initiation.CancelRequest{By: payment.ByPayer})
			must(t, err)
		}
		sandboxed := w.create(1)
		w.deleteClient(w.client)
		p, err := w.Cancel(t.Context(), w.domain, sandboxed, withdrawal)
		must(t, err)
		if p.State != payment.Rejected {
			t.Errorf("the payment is %s", p.State)
		}
	})
}

// TestValidationsAfterTheClient validates payments of a deleted client. In a live domain, the payer
// can then return only to the domain's own site.
func TestValidationsAfterTheClient(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		w.line.tune(func(p *connector.Profile) { p.Sandbox = false })
		live, client := w.createDomain("live", passerelle.Live, shop)
		p, err := w.Create(t.Context(), live, initiation.Creation{By: client.ID, Draft: draft(1)})
		must(t, err)
		sandboxed := w.create(1)
		w.deleteClient(client)
		w.deleteClient(w.client)
		rows := w.rows()
		_, err = w.Validate(t.Context(), live, p.ID, validated())
		w.wantRefusal(t, err, rows, passerelle.Invalid, "webview_url", "https://live.test")
		_, err = w.Validate(t.Context(), live, p.ID, validated(func(c *initiation.Choice) { c.WebviewURL = "https://live.test/webview/payment" }))
		must(t, err)
		_, err = w.Validate(t.Context(), w.domain, sandboxed, validated())
		must(t, err)
		for _, id := range []passerelle.PaymentID{p.ID, sandboxed} {
			if state := column[string](w, `SELECT state FROM payment WHERE id = $1`, int64(id))[0]; state != "validating" {
				t.Errorf("payment %d is %s", id, state)
			}
		}
	})
}

// TestNothingTypedIsKept puts a word into values that the payer enters, plain and encrypted. The
// word must not appear in refusals, the log, events, simulated orders, notes or transitions.
func TestNothingTypedIsKept(t *testing.T) {
	const canary = "CANARY"
	onEach(t, func(t *testing.T, w *fixture) {
		typed := func(code string) initiation.ActionAnswer {
			return initiation.ActionAnswer{Action: payment.FillFields, Fields: map[string]string{
				"code": code, "device": "phone", "state": w.encrypted(w.domain, canary), "other": canary,
			}}
		}
		lost := w.steered("actn(fields)/done")
		w.line.interrupts(after(fails(errCut)), nil)
		_, err := w.Answer(t.Context(), w.domain, lost.ID, payment.ByPayer, typed("1234"))
		must(t, err)
		w.line.interrupts(nil, nil)
		w.leasesLapse()
		w.runDue(t, w.Initiation, w.domain, recovered)
		w.wantState(t, lost.ID, payment.Done)
		p := w.steered("actn(fields)/done")
		for _, code := range []string{canary, "4321", "1234"} {
			_, err := w.Answer(t.Context(), w.domain, p.ID, payment.ByPayer, typed(code))
			if (err == nil) == (code == canary) || err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("the answer to a code: %v", err)
			}
		}
		w.wantState(t, p.ID, payment.Done)
		bodies := column[[]byte](w, `SELECT body FROM event UNION ALL SELECT body FROM sandbox_order`)
		texts := column[string](w, `SELECT text FROM payment_note UNION ALL SELECT bank_status FROM payment_transition`)
		for _, text := range append(texts, string(slices.Concat(bodies...)), w.log.String()) {
			if strings.Contains(text, canary) {
				t.Errorf("the canary is in\n%s", text)
			}
		}
		if columns := column[int64](w, `SELECT count(*) FROM attempt WHERE number > 1 AND fields IS NOT NULL`)[0]; columns != 0 {
			t.Errorf("%d answers are kept", columns)
		}
	})
}
