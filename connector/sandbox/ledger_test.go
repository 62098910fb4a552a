package sandbox_test

import (
	"context"
	"testing"

	"passerelle/connector/sandbox"
)

func TestMemoryLedger(t *testing.T) {
	ctx, ledger := t.Context(), sandbox.NewMemoryLedger()
	if _, _, found, err := ledger.Load(ctx, 1, "a"); found || err != nil {
		t.Fatalf("an empty ledger: found %t, %v", found, err)
	}
	if saved, err := ledger.Save(ctx, 1, "a", 0, []byte("x")); saved || err != nil {
		t.Fatalf("saved over nothing: %t, %v", saved, err)
	}
	for n, body := range []string{"first", "second"} {
		stored, version, submissions, err := ledger.Submit(ctx, 1, "a", []byte(body))
		if string(stored) != "first" || version != 1 || submissions != int64(n+1) || err != nil {
			t.Fatalf("Submit of %s = %s, %d, %d, %v", body, stored, version, submissions, err)
		}
	}
	for n, wanted := range []bool{true, false} {
		if saved, err := ledger.Save(ctx, 1, "a", 1, []byte("changed")); saved != wanted || err != nil {
			t.Errorf("Save number %d over version 1 = %t, %v", n+1, saved, err)
		}
	}
	body, version, found, err := ledger.Load(ctx, 1, "a")
	if string(body) != "changed" || version != 2 || !found || err != nil {
		t.Errorf("Load = %s, %d, %t, %v", body, version, found, err)
	}
	if _, _, found, _ := ledger.Load(ctx, 2, "a"); found || ledger.Orders() != 1 {
		t.Errorf("another domain has the order: %t; there are %d", found, ledger.Orders())
	}
}

func TestMemoryLedgerReportsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ledger := sandbox.NewMemoryLedger()
	_, _, _, submitted := ledger.Submit(ctx, 1, "a", nil)
	_, _, _, loaded := ledger.Load(ctx, 1, "a")
	_, saved := ledger.Save(ctx, 1, "a", 1, nil)
	if submitted == nil || loaded == nil || saved == nil || ledger.Orders() != 0 {
		t.Errorf("Submit %v, Load %v, Save %v, %d orders", submitted, loaded, saved, ledger.Orders())
	}
}
