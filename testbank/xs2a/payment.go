package xs2a

import (
	"fmt"
	"net/http"

	"passerelle/testbank/bank"
)

// paymentBody is the response to an accepted order.
type paymentBody struct {
	Status    string `json:"transactionStatus"`
	ID        string `json:"paymentId"`
	SCAStatus string `json:"scaStatus,omitempty"`
	Message   string `json:"psuMessage,omitempty"`
	Links     links  `json:"_links"`
}

// initiate handles POST /v1/{payment-service}/{payment-product}.
func initiate(service string) endpoint {
	return func(a *API, r *request) (answer, error) {
		if err := wantsReturn(a, r); err != nil {
			return answer{}, err
		}
		taken, err := a.Bank.Take(r.Context(), r.caller, service, r.PathValue("product"), r.body)
		if err != nil {
			return answer{}, err
		}
		order := taken.Order
		body := paymentBody{Status: a.Bank.Reported(order), ID: order.ID, Links: links{}}
		if taken.Authorisation != nil {
			state := a.authorisationBody(taken.Authorisation)
			body.Links, body.SCAStatus, body.Message = state.Links, state.Status, state.Message
		} else if order.Status == "RCVD" {
			body.Links = a.start(order.Prefers, r.caller, order.Path()+"/"+bank.OfPayment)
		}
		body.Links["self"], body.Links["status"] = a.at(order.Path()), a.at(order.Path()+"/status")
		got := answer{status: http.StatusCreated, body: body, location: a.Base + order.Path(), approach: order.Prefers, notify: order.Notify != ""}
		if !taken.Again { // a repeated request gets the response that was lost
			got.wire = bank.MannerOf(order).Wire
		}
		return got, nil
	}
}

// wantsReturn refuses a request without a return address if the approach redirects the customer.
func wantsReturn(a *API, r *request) error {
	approach := a.Bank.Profile.Approach(r.caller.Prefers)
	if (approach == bank.Redirect || approach == bank.OAuth) && r.caller.Return.OK == "" {
		return bank.Refuse("FORMAT_ERROR", "TPP-Redirect-URI", "the bank has to know where its customer goes afterwards")
	}
	return nil
}

// information handles GET …/{paymentId}.
func information(service string) endpoint {
	return func(a *API, r *request) (answer, error) {
		order, err := a.find(r, service)
		if err != nil {
			return answer{}, err
		}
		content, err := a.Bank.Content(order)
		return answer{status: http.StatusOK, body: content}, err
	}
}

// find reads the order in a path. Every part of the path must belong to the order.
func (a *API) find(r *request, service string) (*bank.Order, error) {
	order, err := a.Bank.Order(r.Context(), r.caller, r.PathValue("paymentId"))
	if err == nil && (order.Service != service || order.Product != r.PathValue("product")) {
		err = bank.Refuse("RESOURCE_UNKNOWN", "paymentId", "there is no such order")
	}
	return order, err
}

// statusBody is the response to a request for the status of an order.
type statusBody struct {
	Status   string    `json:"transactionStatus"`
	Funds    *bool     `json:"fundsAvailable,omitempty"`
	Message  string    `json:"psuMessage,omitempty"`
	Messages []message `json:"tppMessages,omitempty"`
}

// status handles GET …/{paymentId}/status. The text of a message begins with the reason for a
// refusal, because the standard has no member for the reason.
func status(service string) endpoint {
	return func(a *API, r *request) (answer, error) {
		order, err := a.find(r, service)
		if err != nil {
			return answer{}, err
		}
		body := statusBody{Status: a.Bank.Reported(order)}
		if order.Status == "RJCT" {
			body.Message = "Order refused: " + bank.ReasonText(order.Reason) + "."
			body.Messages = []message{{Category: "ERROR", Code: "ERROR", Text: reasonText(order.Reason)}}
		}
		if order.Reason == "AM04" {
			body.Funds = new(bool)
		}
		for i, line := range order.Lines {
			if order.Status == "PART" && line.Reason != "" {
				body.Messages = append(body.Messages, message{Category: "ERROR", Code: "ERROR", Path: fmt.Sprintf("payments[%d]", i), Text: reasonText(line.Reason)})
			}
		}
		return answer{status: http.StatusOK, body: body}, nil
	}
}

func reasonText(code string) string {
	if code == "" {
		return bank.ReasonText(code)
	}
	return code + ": " + bank.ReasonText(code)
}

// cancellationBody is the response to a cancellation that needs authorisation.
type cancellationBody struct {
	Status string `json:"transactionStatus"`
	Links  links  `json:"_links"`
}

// cancel handles DELETE …/{paymentId}.
func cancel(service string) endpoint {
	return func(a *API, r *request) (answer, error) {
		if _, err := a.find(r, service); err != nil {
			return answer{}, err
		}
		order, needsSCA, err := a.Bank.Cancel(r.Context(), r.caller, r.PathValue("paymentId"))
		if err != nil {
			return answer{}, err
		}
		if !needsSCA {
			return answer{status: http.StatusNoContent}, nil
		}
		all := a.start(order.Prefers, r.caller, order.Path()+"/"+bank.OfCancellation)
		all["self"], all["status"] = a.at(order.Path()), a.at(order.Path()+"/status")
		return answer{status: http.StatusAccepted, body: cancellationBody{a.Bank.Reported(order), all}, approach: order.Prefers}, nil
	}
}
