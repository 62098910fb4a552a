package webhook_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"passerelle/internal/wire"
	"passerelle/webhook"
)

// TestMembersAreOfAllBodies checks that Members lists, in alphabetical order, the members of the
// objects that bodies contain. Members that only an expansion adds may be missing.
func TestMembersAreOfAllBodies(t *testing.T) {
	members := webhook.Members()
	for _, object := range []any{wire.User{}, wire.Connection{}, wire.BankAccount{}, wire.Subscription{}, wire.Payment{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(object)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if expansion := field.Tag.Get("expand") != ""; field.Anonymous || expansion || name == "-" {
				continue
			}
			if !slices.Contains(members, name) {
				t.Errorf("%T has %s, which is not among the members of bodies", object, name)
			}
		}
	}
	if !slices.IsSorted(members) || slices.Contains(members, "crm") {
		t.Errorf("members are %v", members)
	}
}
