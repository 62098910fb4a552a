package banking

import (
	"context"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) informationRoutes() []httpapi.Route {
	route := func(method, rest, summary, doc string, e httpapi.Endpoint) httpapi.Route {
		pattern, aliases := everywhere("/transactions/{transactionId}/informations" + rest)
		return httpapi.Route{Method: method, Pattern: pattern, Aliases: aliases, Needs: ofUser, Endpoint: e, Summary: summary, Doc: doc}
	}
	note := route(httpapi.Update, "", "Store values for a transaction", "Stores texts under up to 100 keys of your choice, given as members or as one key and value. Omitted keys keep their values.", httpapi.Handle(s.noteInformations))
	note.Errors = []string{"conflict"}
	return []httpapi.Route{
		route(http.MethodGet, "", "List the values stored for a transaction", "", httpapi.Handle(s.listInformations)),
		note,
		route(http.MethodDelete, "", "Delete all values stored for a transaction", "Deletes all values.", httpapi.Handle(s.forgetInformations)),
		route(http.MethodGet, "/{informationId}", "Read one value stored for a transaction", "", httpapi.Handle(s.oneInformation)),
		route(http.MethodDelete, "/{informationId}", "Delete one value stored for a transaction", "", httpapi.Handle(s.forgetInformation)),
	}
}

type ofTransaction struct {
	anyPlace
	whichTransaction
}

type listInformationsOutput struct {
	Informations []wire.TransactionInformation `json:"transactioninformations"`
	Total        int                           `json:"total"`
}

// informations returns the notes about a transaction. It fails when the caller may not see the
// transaction.
func (s *Service) informations(ctx context.Context, c *httpapi.Caller, in ofTransaction) (listInformationsOutput, error) {
	if _, err := s.readTransaction(ctx, c, in, nil); err != nil {
		return listInformationsOutput{}, err
	}
	noted, err := bankstore.From(s.DB).Informations(ctx, c.Domain.ID, []passerelle.TransactionID{in.Transaction})
	if err != nil {
		return listInformationsOutput{}, fmt.Errorf("list the information about transaction %d: %w", in.Transaction, err)
	}
	out := listInformationsOutput{Informations: make([]wire.TransactionInformation, len(noted)), Total: len(noted)}
	for i, n := range noted {
		out.Informations[i] = wire.TransactionInformation{ID: n.ID, IDTransaction: int64(n.Transaction), Key: n.Key, Value: n.Value}
	}
	return out, nil
}

func (s *Service) listInformations(ctx context.Context, c *httpapi.Caller, in ofTransaction) (listInformationsOutput, error) {
	return s.informations(ctx, c, in)
}

type noteInformationsInput struct {
	ofTransaction
	Key    string            `body:"key" max:"100" doc:"with value: the only key to store"`
	Value  string            `body:"value" max:"1000"`
	Values map[string]string `body:"*" max:"1000" names:"100" doc:"values by key; a key has at most 100 characters"`
}

func (s *Service) noteInformations(ctx context.Context, c *httpapi.Caller, in noteInformationsInput) (listInformationsOutput, error) {
	values := map[string]string{}
	for key, value := range in.Values {
		if key == "" {
			return listInformationsOutput{}, passerelle.InvalidField("body", "a key must not be empty")
		}
		values[key] = value
	}
	if in.Key != "" {
		values[in.Key] = in.Value
	}
	if len(values) > aggregation.MaxInformations {
		return listInformationsOutput{}, passerelle.InvalidField("body", "must have at most %d keys", aggregation.MaxInformations)
	}
	before, err := s.informations(ctx, c, in.ofTransaction)
	if err != nil || len(values) == 0 {
		return before, err
	}
	if err := s.Aggregation.NoteInformations(ctx, c.Domain, in.ID, in.Transaction, values); err != nil {
		return listInformationsOutput{}, err
	}
	return s.informations(ctx, c, in.ofTransaction)
}

func (s *Service) forgetInformations(ctx context.Context, c *httpapi.Caller, in ofTransaction) (httpapi.Nothing, error) {
	return s.forgetInformation(ctx, c, oneInformationInput{ofTransaction: in})
}

type oneInformationInput struct {
	ofTransaction
	Information int64 `path:"informationId"`
}

func (s *Service) oneInformation(ctx context.Context, c *httpapi.Caller, in oneInformationInput) (wire.TransactionInformation, error) {
	all, err := s.informations(ctx, c, in.ofTransaction)
	if err != nil {
		return wire.TransactionInformation{}, err
	}
	for _, one := range all.Informations {
		if one.ID == in.Information {
			return one, nil
		}
	}
	return wire.TransactionInformation{}, passerelle.Missing()
}

// forgetInformation removes one note about a transaction. A zero id removes all notes.
func (s *Service) forgetInformation(ctx context.Context, c *httpapi.Caller, in oneInformationInput) (httpapi.Nothing, error) {
	if _, err := s.readTransaction(ctx, c, in, nil); err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.ForgetInformations(ctx, c.Domain, in.ID, in.Transaction, in.Information)
}
