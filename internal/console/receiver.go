package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/console/page"
	"passerelle/internal/operators"
	"passerelle/internal/simulation"
	"passerelle/internal/web"
)

const (
	// How many requests of the built-in receiver a page shows, and how many bytes of each body.
	receiverPage = 10
	receiverBody = 3000
	// How many headers of a request it shows, and how much of each, because anybody can send
	// any.
	receiverHeaders = 30
	receiverHeader  = 200
)

// receiverData is a page of what the built-in receiver got, the newest first.
type receiverData struct {
	Requests []receivedRow
	May      bool
	// Address is where webhooks reach the receiver, Older the next page.
	Address, Older string
}

type receivedRow struct {
	ID                             int64
	Name, At, SignatureCheck, Body string
	// Valid is set when the signature is.
	Valid   bool
	Headers []page.DetailRow
	// Left is how many bytes of the body are not shown.
	Left int64
}

func (c *Console) receiver(pc *page.Context) error {
	if err := simulation.Open(pc.Domain); err != nil {
		return err
	}
	before, err := strconv.ParseInt(pc.Request.URL.Query().Get("before"), 10, 64)
	if err != nil {
		before = 0
	}
	got, err := c.DB.NewestReceived(pc, pc.Domain.ID, before, receiverPage+1, receiverBody)
	if err != nil {
		return fmt.Errorf("list what the receiver of domain %d got: %w", pc.Domain.ID, err)
	}
	data := receiverData{May: pc.Who.May(operators.Simulate), Address: web.Origin(pc.Domain.BaseURL) + "/sandbox/receiver/"}
	for _, one := range got[:min(len(got), receiverPage)] {
		row := receivedRow{
			ID: one.ID, Name: one.Name, At: pc.Time(one.At), SignatureCheck: one.SignatureCheck, Valid: strings.HasPrefix(one.SignatureCheck, "valid"),
			Body: strings.ToValidUTF8(string(one.Body), "�"), Headers: headerFacts(one.Headers), Left: one.Size - int64(len(one.Body)),
		}
		data.Requests = append(data.Requests, row)
	}
	if len(got) > receiverPage {
		data.Older = "?before=" + strconv.FormatInt(got[receiverPage-1].ID, 10)
	}
	return pages.Send(pc, "receiver", "Receiver", data)
}

// headerFacts are the headers of a request by name.
func headerFacts(stored string) []page.DetailRow {
	headers := map[string][]string{}
	if json.Unmarshal([]byte(stored), &headers) != nil {
		return nil // it was written by the receiver
	}
	var facts []page.DetailRow
	for name, values := range headers {
		for _, value := range values {
			facts = append(facts, page.DetailRow{Name: opening(name), Value: opening(value)})
		}
	}
	slices.SortFunc(facts, func(a, b page.DetailRow) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return facts[:min(len(facts), receiverHeaders)]
}

// opening is the beginning of a text from a request.
func opening(text string) string {
	if len(text) <= receiverHeader {
		return text
	}
	return strings.ToValidUTF8(text[:receiverHeader], "") + "…"
}

func (c *Console) emptyReceiver(pc *page.Context) error {
	entry, err := simulated(pc, actEmpty, "")
	if err != nil {
		return err
	}
	if err := c.Simulation.Forget(pc, pc.Domain, entry); err != nil {
		return err
	}
	web.Redirect(pc.Writer, pc.Path("/simulation/receiver"))
	return nil
}
