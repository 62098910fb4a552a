package store_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

type explained struct {
	rows  database.Querier
	plans []string
}

// explain makes a store ask for the plan of each statement before it executes the statement.
func explain(s fixture) *explained {
	e := &explained{rows: s.db.Database.Querier}
	s.db.Database.Observe(func(ctx context.Context, statements []database.Statement) error {
		for _, statement := range statements {
			if err := e.explain(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	return e
}

func (e *explained) explain(ctx context.Context, s database.Statement) error {
	if e.rows.Dialect().Name == "postgres" {
		return e.rows.Each(ctx, "EXPLAIN (COSTS OFF) "+s.SQL, s.Args, func(row database.Row) (bool, error) {
			step, err := database.ScanString(row)
			e.plans = append(e.plans, step)
			return true, err
		})
	}
	return e.rows.Each(ctx, "EXPLAIN QUERY PLAN "+s.SQL, s.Args, func(row database.Row) (bool, error) {
		var id, parent, unused int64
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		e.plans = append(e.plans, detail)
		return true, err
	})
}

// TestPlans checks that the statements of requests and loops use their indexes, so that their
// cost does not grow with a table. Without statistics, SQLite chooses plans by fixed rules, so an
// almost empty database suffices.
func TestPlans(t *testing.T) {
	s := newFixture(t, storetest.EmptySQLite(t))
	all := s.questions()
	engine := explain(s)
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			engine.plans = nil
			if err := test.run(); err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(engine.plans, "\n")
			if !strings.Contains(plan, test.index) {
				t.Errorf("no use of %s:\n%s", test.index, plan)
			}
			wantNoScan(t, engine.plans)
		})
	}
}

type question struct {
	run   func() error
	index string
}

// questions creates a payment and a webhook, and returns statements of requests and loops.
func (s fixture) questions() map[string]question {
	s.t.Helper()
	p, w := s.create(draft(1), now), s.receiver(webhook.PaymentStateUpdated)
	s.happen(1, 1, now)
	ctx, limit := s.t.Context(), 5
	list := func(f store.PaymentFilter, w store.Window) func() error {
		f.Domain, w.Limit = s.domain, limit
		return func() error { _, err := s.db.Payments(ctx, f, w, true); return err }
	}
	write := func(fn func(*store.Tx)) func() error {
		return func() error { return s.try(func(tx *store.Tx) error { fn(tx); return nil }) }
	}
	var ids []int64
	var dues []store.Due
	from := []any{p.Created.UnixMicro(), int64(p.ID)}
	at := store.Window{Order: "register_date", From: from}
	return map[string]question{
		"list by registration":  {list(store.PaymentFilter{}, store.Window{Order: "register_date"}), "payment_by_registration (domain_id=?)"},
		"… turned":              {list(store.PaymentFilter{}, store.Window{Order: "register_date", Descending: true}), "payment_by_registration (domain_id=?)"},
		"… from a place on":     {list(store.PaymentFilter{}, store.Window{Order: "register_date", From: from}), "payment_by_registration (domain_id=? AND registered>?)"},
		"… before a place":      {list(store.PaymentFilter{}, store.Window{Order: "register_date", From: from, Backward: true}), "payment_by_registration (domain_id=? AND registered<?)"},
		"… of some days":        {list(store.PaymentFilter{From: now, Until: now}, store.Window{Order: "register_date"}), "payment_by_registration (domain_id=? AND registered>? AND registered<?)"},
		"… in a state":          {list(store.PaymentFilter{State: "done"}, store.Window{Order: "register_date"}), "payment_in_state (domain_id=? AND state=?)"},
		"… in a state, from on": {list(store.PaymentFilter{State: "done"}, store.Window{Order: "register_date", From: from}), "payment_in_state (domain_id=? AND state=? AND registered>?)"},
		"list by id":            {list(store.PaymentFilter{}, store.Window{Order: "id"}), "payment_by_id (domain_id=?)"},
		"list by amount":        {list(store.PaymentFilter{}, store.Window{Order: "amount", From: []any{1, 1}}), "payment_by_amount (domain_id=? AND amount>?)"},
		"list by state":         {list(store.PaymentFilter{}, store.Window{Order: "state", From: []any{"done", 1}}), "payment_by_state (domain_id=? AND state>?)"},
		"list by id, from on":   {list(store.PaymentFilter{}, store.Window{Order: "id", From: []any{1, 1}}), "payment_by_id (domain_id=?"},
		"list by validation":    {list(store.PaymentFilter{}, store.Window{Order: "validate_date"}), "payment_by_validation (domain_id=?"},
		"… without one":         {list(store.PaymentFilter{}, store.Window{Order: "validate_date", From: []any{nil, 1}}), "payment_by_validation (domain_id=? AND validated=? AND id>?)"},
		"list by connector":     {list(store.PaymentFilter{}, store.Window{Order: "connectors", Descending: true}), "payment_by_connector (domain_id=?"},
		"… among equals":        {list(store.PaymentFilter{}, store.Window{Order: "connectors", From: []any{"Bank", 1}}), "payment_by_connector (domain_id=? AND connector_name=? AND id>?)"},
		"… without any":         {list(store.PaymentFilter{}, store.Window{Order: "connectors", From: []any{nil, 1}}), "payment_by_connector (domain_id=? AND connector_name=? AND id>?)"},
		"list by size":          {list(store.PaymentFilter{}, store.Window{Order: "instruction_count", From: []any{1, 1}}), "payment_by_lines (domain_id=? AND instruction_count=? AND id>?)"},
		"list by type":          {list(store.PaymentFilter{}, store.Window{Order: "execution_date_type", From: []any{"instant", 1}}), "payment_by_date_type (domain_id=? AND date_type=? AND id>?)"},
		"filter by error":       {list(store.PaymentFilter{ErrorCode: "bug"}, at), "payment_of_error (domain_id=? AND error_code=? AND registered>?)"},
		"filter by bank id":     {list(store.PaymentFilter{BankPaymentID: "x"}, at), "payment_of_bank_id (domain_id=? AND bank_payment_id=? AND registered>?)"},
		"filter by website":     {list(store.PaymentFilter{Website: "x"}, at), "payment_of_website (domain_id=? AND website=? AND registered>?)"},
		"filter by payer":       {list(store.PaymentFilter{Payer: "x"}, at), "payment_of_payer (domain_id=? AND payer_identification=? AND registered>?)"},
		"filter by beneficiary": {list(store.PaymentFilter{Beneficiary: "x"}, at), "instruction_of_beneficiary (domain_id=? AND beneficiary_identification=? AND (registered,payment_id)>(?,?))"},
		"filter by reference":   {list(store.PaymentFilter{Reference: "x"}, at), "instruction_of_reference (domain_id=? AND reference_id=? AND (registered,payment_id)>(?,?))"},
		"filter by payer's end": {list(store.PaymentFilter{PayerEnd: "0189"}, at), "payment_of_payer_end (domain_id=? AND <expr>=? AND registered>?)"},
		"filter by an end":      {list(store.PaymentFilter{BeneficiaryEnd: "0189"}, at), "instruction_of_end (domain_id=? AND <expr>=? AND (registered,payment_id)>(?,?))"},
		"filter by client":      {list(store.PaymentFilter{Client: s.client}, at), "payment_of_client (domain_id=? AND client_id=? AND registered>?)"},
		"filter by amount":      {list(store.PaymentFilter{Least: 1, Most: 2}, store.Window{Order: "amount"}), "payment_by_amount (domain_id=? AND amount>? AND amount<?)"},
		"deliveries about it":   {func() error { _, err := s.db.DeliveriesAbout(ctx, s.domain, "payment", int64(p.ID)); return err }, "event_1 (domain_id=? AND subject=? AND subject_id=?)"},
		"attempts about it":     {func() error { _, err := s.db.Attempts(ctx, s.domain, p.ID); return err }, "attempt_2 (payment_id=?)"},
		"newest received": {func() error {
			_, err := s.db.NewestReceived(ctx, store.ReceivedFilter{Domain: s.domain}, store.Window{Limit: limit, From: []any{int64(9), int64(9)}}, 9)
			return err
		}, "received_by_domain (domain_id=? AND id<?)"},
		"filter by label":     {list(store.PaymentFilter{LabelStart: "rent"}, store.Window{Order: store.LabelOrder}), "instruction_of_label (domain_id=? AND label_folded>? AND label_folded<?)"},
		"filter by label, on": {list(store.PaymentFilter{LabelStart: "rent"}, store.Window{Order: store.LabelOrder, From: []any{"rent", 1}}), "instruction_of_label (domain_id=? AND label_folded=? AND payment_id>?)"},
		"filter by type":      {list(store.PaymentFilter{DateType: "instant"}, at), "payment_of_date_type (domain_id=? AND date_type=? AND registered>?)"},
		"filter by connector": {list(store.PaymentFilter{Connectors: []string{"a"}}, at), "payment_of_connector (domain_id=? AND connector_uuid=? AND registered>?)"},
		"filter by source":    {list(store.PaymentFilter{Connectors: []string{"a"}, Source: 7}, at), "payment_of_connector (domain_id=? AND connector_uuid=? AND registered>?)"},
		"filter by country":   {list(store.PaymentFilter{Connectors: []string{"a", "b"}}, at), "payment_of_connector (domain_id=? AND connector_uuid=? AND registered>?)"},
		"filter by none":      {list(store.PaymentFilter{NoConnector: true}, at), "payment_of_no_connector (domain_id=? AND registered>?)"},
		"expiring payments":   {write(func(tx *store.Tx) { tx.ExpiringPayments(s.domain, now, now, time.Hour, limit, &ids) }), "payment_to_expire (domain_id=? AND expires_from<?)"},
		"timeline": {func() error {
			_, err := s.db.Timeline(ctx, s.domain, []passerelle.PaymentID{p.ID}, 0)
			return err
		}, "sqlite_autoindex_payment_note_1 (payment_id=?)"},
		"newest notes": {func() error {
			_, err := s.db.Timeline(ctx, s.domain, []passerelle.PaymentID{p.ID}, limit)
			return err
		}, "sqlite_autoindex_payment_note_1 (payment_id=?)"},
		"terms":       {func() error { _, err := s.db.CurrentTerms(ctx, s.domain); return unless(err, store.ErrNotFound) }, "terms_in_force (domain_id=?)"},
		"field key":   {func() error { _, err := s.db.FieldKey(ctx, s.domain, "x"); return unless(err, store.ErrNotFound) }, "field_key_"},
		"one payment": {func() error { _, err := s.db.Payment(ctx, s.domain, p.ID, true); return err }, "instruction_1 (payment_id=? AND position=?)"},
		"count in a state": {func() error {
			_, err := s.db.CountPayments(ctx, store.PaymentFilter{Domain: s.domain, State: "done"}, limit)
			return err
		}, "COVERING INDEX payment_"},
		"count by validation": {func() error {
			_, err := s.db.CountPayments(ctx, store.PaymentFilter{Domain: s.domain, DateField: "validate_date", From: now}, limit)
			return err
		}, "payment_by_validation (domain_id=? AND validated>?)"},
		"count all": {func() error {
			_, err := s.db.CountPayments(ctx, store.PaymentFilter{Domain: s.domain}, limit)
			return err
		}, "counter_1 (domain_id=? AND name=?)"},
		"due payments":         {write(func(tx *store.Tx) { tx.DuePayments(s.domain, now, time.Hour, limit, []string{"a"}, &dues) }), "payment_to_check (domain_id=? AND next_check<?)"},
		"lapsed attempts":      {write(func(tx *store.Tx) { tx.ClaimAttempts(s.domain, time.Hour, limit, []string{"a"}, &dues) }), "attempt_unanswered (domain_id=? AND lease_until<?)"},
		"attempt of a payment": {func() error { _, err := s.db.Attempt(ctx, s.domain, p.ID); return unless(err, store.ErrNotFound) }, "INDEX sqlite_autoindex_attempt_2 (payment_id=? AND number=?)"},
		"token by hash": {func() error {
			_, err := s.db.TokenByHash(ctx, s.domain, []byte("x"))
			return unless(err, store.ErrNotFound)
		}, "token_1 (hash=?)"},
		"volumes":           {func() error { _, err := s.db.Volumes(ctx, s.domain, time.Hour, now); return err }, "payment_by_registration (domain_id=? AND registered>?)"},
		"oldest in a state": {func() error { _, _, err := s.db.OldestIn(ctx, s.domain, "created"); return err }, "payment_in_state (domain_id=? AND state=?)"},
		"queues":            {func() error { _, err := s.db.Queues(ctx, s.domain, "created"); return err }, "payment_in_state (domain_id=? AND state=?)"},
		"unknown outcomes":  {func() error { _, err := s.db.CountUnknownOutcomes(ctx, s.domain); return err }, "attempt_unanswered (domain_id=?)"},
		"ending consents": {func() error {
			_, err := bankstore.From(s.db).ConnectionsEnding(ctx, s.domain, now, now, store.Window{Limit: limit, From: []any{1, 1}})
			return err
		}, "connection_lapsing (domain_id=? AND consent_until>? AND consent_until<?)"},
		"domain health": {func() error { _, err := s.db.DomainHealth(ctx, s.domain, now); return err }, "webhook_health_by_age (domain_id=? AND hour>? AND hour<?)"},
		"troubles":      {func() error { _, err := bankstore.From(s.db).Troubles(ctx, s.domain); return err }, "connection_in_trouble (domain_id=? AND state>?)"},
		"session": {func() error {
			_, _, err := operatorstore.From(s.db).Session(ctx, []byte("x"))
			return unless(err, store.ErrNotFound)
		}, "console_session_1 (token_hash=?)"},
		"sessions": {func() error {
			_, err := operatorstore.From(s.db).Sessions(ctx, 1, now, now.Add(-time.Hour), limit)
			return err
		}, "console_session_of_operator (operator_id=?)"},
		"ended sessions":    {write(func(tx *store.Tx) { tx.PurgeSessions(now, limit) }), "console_session_by_expiry (expires<?)"},
		"attempts":          {write(func(tx *store.Tx) { operatorstore.In(tx).ForgetSignIns(now, limit, limit) }), "sign_in_failure_by_age (latest<?)"},
		"attempts too many": {write(func(tx *store.Tx) { operatorstore.In(tx).ForgetSignIns(now, limit, limit) }), "due USING INDEX sign_in_failure_by_weight"},
		"attempts forgiven": {write(func(tx *store.Tx) { operatorstore.In(tx).ForgiveSignIn([]byte("x")) }), "sign_in_failure_part_of (part_of=?)"},
		"audit of a domain": {func() error {
			_, err := operatorstore.From(s.db).Audits(ctx, operatorstore.AuditFilter{Domain: s.domain}, store.Window{Limit: limit})
			return err
		}, "audit_of_domain (domain_id=?)"},
		"audit of one": {func() error {
			_, err := operatorstore.From(s.db).Audits(ctx, operatorstore.AuditFilter{Operator: 1}, store.Window{Limit: limit})
			return err
		}, "audit_of_operator (operator_id=?)"},
		"audit of a subject": {func() error {
			_, err := operatorstore.From(s.db).Audits(ctx, operatorstore.AuditFilter{Domain: s.domain, Subject: "payment", SubjectID: 1}, store.Window{Limit: limit, From: from})
			return err
		}, "audit_of_subject (subject=? AND subject_id=? AND at<?)"},
		"audit filtered": {func() error {
			_, err := operatorstore.From(s.db).Audits(ctx, operatorstore.AuditFilter{Domain: s.domain, Act: "sign in", From: now}, store.Window{Limit: limit, From: from})
			return err
		}, "audit_of_domain (domain_id=? AND at>? AND at<?)"},
		"audit of all": {func() error {
			_, err := operatorstore.From(s.db).Audits(ctx, operatorstore.AuditFilter{}, store.Window{Limit: limit, From: from})
			return err
		}, "audit_by_time (at<?)"},
		"acts to chain": {func() error { _, err := operatorstore.From(s.db).UnchainedAudit(ctx, s.domain, limit); return err }, "audit_to_chain (<expr>=?)"},
		"chains to lengthen": {func() error {
			_, err := operatorstore.From(s.db).NextUnchained(ctx, -1)
			return unless(err, store.ErrNotFound)
		}, "audit_to_chain (<expr>>?)"},
		"a chain": {func() error {
			_, err := operatorstore.From(s.db).AuditLinks(ctx, s.domain, operatorstore.AuditLink{Number: 1, Audit: store.Audit{ID: 1}}, limit)
			return err
		}, "audit_chain (<expr>=? AND number>?)"},
		"acts that wait":    {func() error { _, err := operatorstore.From(s.db).CountUnchainedAudit(ctx, s.domain, limit); return err }, "audit_to_chain (<expr>=?)"},
		"expired tokens":    {write(func(tx *store.Tx) { tx.PurgeTokens(now, limit) }), "token_by_expiry (expires<?)"},
		"users":             {func() error { _, err := s.db.Users(ctx, s.domain, store.UserWindow{Limit: limit, From: 1}); return err }, "end_user_by_domain (domain_id=? AND id>?)"},
		"expired users":     {func() error { _, err := s.db.ExpiredUsers(ctx, s.domain, now, 0, limit); return err }, "end_user_by_expiry (domain_id=? AND expires<?)"},
		"deleted users":     {func() error { _, err := s.db.ErasuresDue(ctx, s.domain, now, 0, limit); return err }, "erasure_due (domain_id=? AND due<?)"},
		"remains of a user": {func() error { _, err := s.db.AnyRemains(ctx, store.Erasure{Domain: s.domain, User: 1}); return err }, "event_of_user (domain_id=? AND user_id=?)"},
		"erasing a user":    {write(func(tx *store.Tx) { tx.Erase(store.Erasure{Domain: s.domain, User: 1}, limit, now) }), "token_by_user (domain_id=? AND user_id=?)"},
		"consents of a user": {func() error {
			_, err := bankstore.From(s.db).Consents(ctx, bankstore.ConsentFilter{Domain: s.domain, User: 1}, store.Window{Limit: limit, From: []any{1, 1}})
			return err
		}, "consent_of_user (domain_id=? AND user_id=? AND given<?)"},
		"ended consents": {func() error {
			_, err := bankstore.From(s.db).ConnectionsLapsing(ctx, s.domain, now, bankstore.Connection{}, limit)
			return err
		}, "connection_lapsing (domain_id=? AND consent_until>? AND consent_until<?)"},
		"bodies to be erased": {write(func(tx *store.Tx) {
			tx.VoidBodiesWith(s.domain, 1, store.HoldingOf("connection", 1, nil), now, limit, func() {})
		}), "event_holding (domain_id=? AND user_id=?)"},
		"tokens of a user": {write(func(tx *store.Tx) { tx.RevokeUserTokens(s.domain, s.client, 1, now) }), "token_by_user (domain_id=? AND user_id=?)"},
		"webhook token": {func() error {
			_, err := s.db.WebhookToken(ctx, s.domain, s.client, 1)
			return unless(err, store.ErrNotFound)
		}, "user_token_newest (domain_id=? AND user_id=? AND client_id=?)"},
		"subscriptions": {func() error {
			_, err := bankstore.From(s.db).Subscriptions(ctx, bankstore.SubscriptionFilter{Domain: s.domain, User: 1}, store.Window{Limit: limit})
			return err
		}, "subscription_of_user (domain_id=? AND user_id=? AND id>?)"},
		"documents": {func() error {
			_, err := bankstore.From(s.db).Documents(ctx, bankstore.DocumentFilter{Domain: s.domain, User: 1}, store.Window{Limit: limit, From: []any{"2026-11-20", int64(1)}})
			return err
		}, "document_of_user (domain_id=? AND user_id=? AND date<?)"},
		"documents of a subscription": {func() error {
			_, err := bankstore.From(s.db).Documents(ctx, bankstore.DocumentFilter{Domain: s.domain, User: 1, Subscription: 1}, store.Window{Limit: limit})
			return err
		}, "document_of_subscription (subscription_id=? AND epoch=?"},
		"documents counted": {func() error {
			_, err := bankstore.From(s.db).CountDocuments(ctx, bankstore.DocumentFilter{Domain: s.domain, User: 1})
			return err
		}, "subscription_of_user (domain_id=? AND user_id=?)"},
		"domain by host": {func() error { _, err := s.db.ServedDomainByHost(ctx, "x"); return unless(err, store.ErrNotFound) }, "domain_2 (host=?)"},
		"history":        {func() error { _, err := s.db.Transitions(ctx, s.domain, p.ID); return err }, "payment_transition_"},
		"webhooks": {func() error {
			_, err := s.db.Webhooks(ctx, store.WebhookFilter{Domain: s.domain}, store.Window{Limit: limit, From: []any{1}})
			return err
		}, "webhook_in_use (domain_id=? AND id>?)"},
		"all webhooks": {func() error {
			_, err := s.db.Webhooks(ctx, store.WebhookFilter{Domain: s.domain, All: true}, store.Window{Limit: limit})
			return err
		}, "webhook_by_domain (domain_id=? AND id>?)"},
		"webhook data": {func() error {
			_, err := s.db.WebhookData(ctx, store.WebhookDataFilter{Domain: s.domain, Webhook: 1, From: now}, store.Window{Limit: limit, From: from})
			return err
		}, "delivery_in_state (webhook_id=? AND <expr>=? AND created>? AND created<?)"},
		"webhook data in a state": {func() error {
			_, err := s.db.WebhookData(ctx, store.WebhookDataFilter{Domain: s.domain, Webhook: 1, State: store.WebhookPending}, store.Window{Limit: limit, From: from})
			return err
		}, "delivery_in_state (webhook_id=? AND <expr>=? AND created<?)"},
		"webhook data counted": {func() error {
			_, err := s.db.CountWebhookData(ctx, store.WebhookDataFilter{Domain: s.domain, Webhook: 1, State: store.WebhookDelivered})
			return err
		}, "delivery_in_state (webhook_id=? AND <expr>=?"},
		"webhook logs": {func() error {
			_, err := s.db.WebhookLogs(ctx, store.WebhookLogFilter{Domain: s.domain, Webhook: 1, From: now, User: 1}, store.Window{Limit: limit, From: from})
			return err
		}, "delivery_attempt_by_time (webhook_id=? AND at>? AND at<?)"},
		"last attempts": {func() error {
			_, err := s.db.LastAttempts(ctx, s.domain, []passerelle.DeliveryID{1, 2})
			return err
		}, "delivery_attempt_in_order (delivery_id=? AND at>?)"},
		"attempts of one": {func() error {
			_, err := s.db.AttemptsOf(ctx, s.domain, 1, store.Window{Limit: limit, From: from})
			return err
		}, "delivery_attempt_in_order (delivery_id=? AND at<?)"},
		"pending of webhooks": {func() error {
			_, err := s.db.Pending(ctx, s.domain, limit, 1, 2)
			return err
		}, "delivery_in_state (webhook_id=? AND <expr>=?)"},
		"names of providers": {func() error {
			_, err := s.db.AuthProviderNames(ctx, s.domain, 1, 2)
			return err
		}, "PRIMARY KEY (rowid=?)"},
		"undelivered since": {func() error {
			_, err := s.db.CountUndelivered(ctx, store.Webhook{ID: 1, Domain: s.domain}, now, limit)
			return err
		}, "delivery_in_state (webhook_id=? AND <expr>=? AND created>?)"},
		"recover": {write(func(tx *store.Tx) { tx.RecoverWebhook(store.Webhook{ID: 1, Domain: s.domain}, now, now) }), "delivery_in_state (webhook_id=? AND <expr>=? AND created>?)"},
		"changes of settings": {func() error {
			_, err := s.db.SettingChanges(ctx, store.SettingChanges{Domain: s.domain, From: now}, store.Window{Limit: limit, From: from})
			return err
		}, "setting_change_by_time (domain_id=? AND at>? AND at<?)"},
		"requests recorded": {func() error { s.deliver(w, 1, ""); return nil }, "SEARCH delivery_attempt USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\nSCAN latest\nSEARCH delivery USING INTEGER PRIMARY KEY (rowid=?)"},
		"old events": {func() error {
			return s.db.PurgeEvents(ctx, store.Retention{Domain: s.domain, Events: now, Health: now, Batch: limit, Batches: 1})
		}, "delivery_over (domain_id=? AND created<?)"},
		"old events without a delivery": {func() error {
			return s.db.PurgeEvents(ctx, store.Retention{Domain: s.domain, Events: now, Health: now, Batch: limit, Batches: 1})
		}, "event_by_age (domain_id=? AND created>? AND created<?)"},
		"old parts": {func() error { return s.db.PurgeParts(ctx, limit, 1) }, "event_part_by_age ((created,event_id)>(?,?) AND created<?)"},
		"new deliveries": {func() error {
			_, err := s.db.NewDeliveries(ctx, store.Webhook{ID: 1, Domain: s.domain}, 0, limit)
			return err
		}, "delivery_waiting (webhook_id=? AND <expr>=? AND id>?)"},
		"following deliveries": {func() error {
			_, err := s.db.Following(ctx, []passerelle.DeliveryID{1, 2})
			return err
		}, "event_1 (domain_id=? AND subject=? AND subject_id=? AND name=? AND version>?)"},
		"undelivered": {func() error {
			_, err := s.db.Undelivered(ctx, store.Webhook{ID: 1, Domain: s.domain}, 0, limit)
			return err
		}, "delivery_waiting (webhook_id=? AND <expr>=? AND id>?)"},
	}
}

// limited matches plan steps that read few rows, such as a common table expression with a limit.
var limited = regexp.MustCompile(`^SCAN (due|over|wanted|waiting|latest|counted|lost|withdrawal|place|list_\d+|CONSTANT ROW)`)

// wantNoScan fails the test when a plan reads or sorts a whole table. A common table expression
// with a limit may be read completely. A plan that reads the expression `place` may also sort.
func wantNoScan(t *testing.T, plans []string) {
	t.Helper()
	page := slices.Contains(plans, "SCAN place")
	for _, step := range plans {
		scans := strings.HasPrefix(step, "SCAN ") && !limited.MatchString(step)
		if scans || strings.Contains(step, "TEMP B-TREE") && !page {
			t.Errorf("a step that grows with the table: %s", step)
		}
	}
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return fmt.Errorf("%w, got %w", expected, err)
}
