package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

func (s *Service) webhookAdditionRoutes() []httpapi.Route {
	const all, one = "/webhooks/{webhookId}/add_to_data", "/webhooks/{webhookId}/add_to_data/{key}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: all, Needs: config, Endpoint: httpapi.Handle(s.listAdditions),
			Summary: "List the additions to the payloads of a webhook", Doc: "Lists additions, ordered by name.",
		},
		{
			Method: http.MethodPost, Pattern: all, Needs: config, Endpoint: httpapi.Handle(s.addToData), Errors: []string{"conflict"},
			Summary: "Create an addition to the payloads of a webhook", Doc: "Adds a member to each payload. Its value is the one stored under a key of the user's config when the request is sent, or null if there is none. Events without a user get null. Statements are not JSON and get no additions. A webhook can have at most 20 additions.",
		},
		{
			Method: http.MethodDelete, Pattern: all, Needs: config, Endpoint: httpapi.Handle(s.removeAllFromData), Errors: []string{"conflict"},
			Summary: "Delete all additions to the payloads of a webhook",
		},
		{
			Method: http.MethodGet, Pattern: one, Needs: config, Endpoint: httpapi.Handle(s.oneAddition),
			Summary: "Read one addition to the payloads of a webhook",
		},
		{
			Method: httpapi.Update, Pattern: one, Needs: config, Endpoint: httpapi.Handle(s.changeAddition), Errors: []string{"conflict"},
			Summary: "Set one addition to the payloads of a webhook", Doc: "Creates the addition, or replaces the one with the same name.",
		},
		{
			Method: http.MethodDelete, Pattern: one, Needs: config, Endpoint: httpapi.Handle(s.removeFromData), Errors: []string{"conflict"},
			Summary: "Delete one addition to the payloads of a webhook",
		},
	}
}

type additionOutput struct {
	Key   string `json:"key" doc:"name of the member"`
	Value string `json:"value" doc:"key in the user's config"`
}

type listAdditionsOutput struct {
	Additions []additionOutput `json:"add_to_data"`
	Total     int              `json:"total"`
}

// additions returns the additions of a webhook, never nil.
func additions(w store.Webhook) map[string]string {
	if w.AddToData == nil {
		return map[string]string{}
	}
	return w.AddToData
}

// live loads a webhook that is not deleted.
func (s *Service) live(ctx context.Context, c *httpapi.Caller, id passerelle.WebhookID) (store.Webhook, error) {
	w, err := s.webhook(ctx, c, id)
	if err == nil && w.Deleted != nil {
		err = passerelle.Missing()
	}
	return w, err
}

func (s *Service) listAdditions(ctx context.Context, c *httpapi.Caller, in oneWebhookInput) (listAdditionsOutput, error) {
	w, err := s.live(ctx, c, in.ID)
	out := listAdditionsOutput{Additions: []additionOutput{}, Total: len(w.AddToData)}
	for _, key := range slices.Sorted(maps.Keys(w.AddToData)) {
		out.Additions = append(out.Additions, additionOutput{key, w.AddToData[key]})
	}
	return out, err
}

type oneAdditionInput struct {
	oneWebhookInput
	Key string `path:"key"`
}

func (s *Service) oneAddition(ctx context.Context, c *httpapi.Caller, in oneAdditionInput) (additionOutput, error) {
	w, err := s.live(ctx, c, in.ID)
	value, has := w.AddToData[in.Key]
	if err == nil && !has {
		err = passerelle.Missing()
	}
	return additionOutput{in.Key, value}, err
}

type addToDataInput struct {
	oneWebhookInput
	Key   string `body:"key,required" max:"100" doc:"name of the member: letters, digits, -, _ and .; names that payloads already use are refused" example:"customer"`
	Value string `body:"value" max:"255" doc:"key in the user's config; by default, the name of the member" example:"customer_number"`
}

func (s *Service) addToData(ctx context.Context, c *httpapi.Caller, in addToDataInput) (additionOutput, error) {
	out := additionOutput{in.Key, cmp.Or(in.Value, in.Key)}
	return out, s.Delivery.AddToData(ctx, c.Domain, in.ID, out.Key, out.Value, c.By(), s.recordIn(c, delivery.ActChangeWebhook, delivery.SubjectWebhook))
}

type changeAdditionInput struct {
	oneAdditionInput
	Value string `body:"value" max:"255" doc:"key in the user's config; by default, the name of the member"`
}

func (s *Service) changeAddition(ctx context.Context, c *httpapi.Caller, in changeAdditionInput) (additionOutput, error) {
	return s.addToData(ctx, c, addToDataInput{oneWebhookInput: in.oneWebhookInput, Key: in.Key, Value: in.Value})
}

func (s *Service) removeAllFromData(ctx context.Context, c *httpapi.Caller, in oneWebhookInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.RemoveFromData(ctx, c.Domain, in.ID, "", c.By(), s.recordIn(c, delivery.ActChangeWebhook, delivery.SubjectWebhook))
}

func (s *Service) removeFromData(ctx context.Context, c *httpapi.Caller, in oneAdditionInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.RemoveFromData(ctx, c.Domain, in.ID, in.Key, c.By(), s.recordIn(c, delivery.ActChangeWebhook, delivery.SubjectWebhook))
}
