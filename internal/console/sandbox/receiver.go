package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/operators"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

const (
	// receiverPage is the number of requests to the built-in receiver that a page shows.
	// receiverBody is the largest number of bytes that the page shows of each body.
	receiverPage = 10
	receiverBody = 3000
	// receiverHeaders is the largest number of headers that the page shows of each request.
	// receiverHeader is the largest number of bytes that the page shows of a header's name or
	// value. The page needs these limits, because anybody can send any headers.
	receiverHeaders = 30
	receiverHeader  = 200
	// maxName is the length of the longest name to search for.
	maxName = 200
)

// receiverData is the content of a page of requests to the built-in receiver, newest first.
type receiverData struct {
	Requests []receivedRow
	May      bool
	// Address is the address at which the receiver accepts webhooks.
	Address string
	// Name and Signature filter the requests.
	Name, Signature string
	Pager           page.Pager
}

type receivedRow struct {
	ID                         int64
	Name, SignatureCheck, Body string
	At                         page.When
	// Valid is set when the signature is valid.
	Valid   bool
	Headers []page.DetailRow
	// Tree is the body as a tree. It is set if the body is JSON and the page shows the complete
	// body.
	Tree *page.JSONNode
	// Left is the number of bytes of the body that the page does not show.
	Left int64
}

func (c *handler) receiver(pc *page.Context) error {
	if err := simulation.Open(pc.Domain); err != nil {
		return err
	}
	data := receiverData{May: pc.Who.May(operators.Simulate), Address: web.Origin(pc.Domain.BaseURL) + "/sandbox/receiver/"}
	query := pc.Request.URL.Query()
	data.Name, data.Signature = strings.TrimSpace(query.Get("name")), query.Get("signature")
	filter := store.ReceivedFilter{Domain: pc.Domain.ID, Name: data.Name}
	switch data.Signature {
	case "valid", "other":
		filter.Valid = new(data.Signature == "valid")
	default:
		data.Signature = ""
	}
	if err := passerelle.CheckText("name", data.Name, maxName); err != nil {
		pc.Problem, pc.Wrong = "Name: at most 200 characters, without control characters", "name"
		return pages.Send(pc, "receiver", "Receiver", data)
	}
	w := pc.Window(2)
	w.Limit = receiverPage + 1
	got, err := c.DB.NewestReceived(pc, filter, w, receiverBody)
	if err != nil {
		return fmt.Errorf("list the requests to the receiver of domain %d: %w", pc.Domain.ID, err)
	}
	got, data.Pager = page.Paged(pc, w, got, func(one store.ReceivedOpening) []any { return one.Place() })
	for _, one := range got {
		data.Requests = append(data.Requests, newReceivedRow(pc, one))
	}
	return pages.Send(pc, "receiver", "Receiver", data)
}

func newReceivedRow(pc *page.Context, one store.ReceivedOpening) receivedRow {
	row := receivedRow{
		ID: one.ID, Name: one.Name, At: pc.When(one.At), SignatureCheck: one.SignatureCheck, Valid: strings.HasPrefix(one.SignatureCheck, "valid"),
		Body: strings.ToValidUTF8(string(one.Body), "�"), Headers: headerFacts(one.Headers), Left: one.Size - int64(len(one.Body)),
	}
	if row.Left == 0 {
		row.Tree, _ = page.JSONTree(row.Body)
	}
	return row
}

// headerFacts returns at most receiverHeaders headers of a request, ordered by name.
func headerFacts(stored string) []page.DetailRow {
	headers := map[string][]string{}
	if json.Unmarshal([]byte(stored), &headers) != nil {
		return nil // cannot fail, because the receiver has written this JSON
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

// opening returns the first part of a text from a request.
func opening(text string) string {
	if len(text) <= receiverHeader {
		return text
	}
	return strings.ToValidUTF8(text[:receiverHeader], "") + "…"
}

func (c *handler) emptyReceiver(pc *page.Context) error {
	entry, err := simulated(pc, actEmpty, "")
	if err != nil {
		return err
	}
	if err := c.Simulation.Forget(pc, pc.Domain, entry); err != nil {
		return err
	}
	return pc.Lead(pc.Path("/simulation/receiver"), "The receiver has been emptied.")
}
