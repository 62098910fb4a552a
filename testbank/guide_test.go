package testbank_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"passerelle/testbank/bank"
)

var update = flag.Bool("update", false, "write the tables of docs/test-bank.md anew")

const (
	guide     = "../docs/test-bank.md"
	generated = "<!-- Generated from the code; make generate updates what follows. -->\n"
)

func TestGuideIsFresh(t *testing.T) {
	written, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(written), generated)
	if !found {
		t.Fatalf("%s has lost the line before its tables", guide)
	}
	want := head + generated + tables()
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != want {
		t.Errorf("%s is not what the code has; run make generate", guide)
	}
}

func tables() string {
	var page strings.Builder
	page.WriteString("\n## Profiles\n\n| Name | Bank code | What it shows |\n|---|---|---|\n")
	for _, p := range bank.Profiles() {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.Name, p.BankCode(), p.Shows)
	}
	page.WriteString("\n## Customers\n\n| PSU-ID | Name | PSU-Corporate-ID |\n|---|---|---|\n")
	for _, c := range bank.Customers() {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", c.ID, c.Name, c.Corporate)
	}
	fmt.Fprintf(&page, "\nEvery password is `%s`, every code `%s`.\n", bank.Password, bank.Code)
	page.WriteString("\n## Failures of an order\n\nEach failure has a name and an amount. Amounts from 13.01 are other failures, from 14.01 reasons of a rejection, from\n15.01 codes of the standard in alphabetical order, and from 16.01 last statuses. In a bulk, the first transfer counts,\nexcept for reasons of a rejection.\n\n| Creditor's name | or amount | The bank |\n|---|---|---|\n")
	for _, m := range bank.Manners() {
		fmt.Fprintf(&page, "| `Fault %s` | %s | %s |\n", m.Word, m.Amount, m.Shows)
	}
	page.WriteString("\n## Failures of any call\n\nValues of `wire` of an injected fault:")
	for i, wire := range bank.Wires() {
		if i > 0 {
			page.WriteString(",")
		}
		fmt.Fprintf(&page, " `%s`", wire)
	}
	page.WriteString(".\n")
	return page.String()
}
