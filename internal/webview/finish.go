package webview

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// The codes with which a client is told that a journey came to nothing.
const (
	accessDenied = "access_denied"
	serverError  = "server_error"
)

func failure(code, description string) url.Values {
	return url.Values{"error": {code}, "error_description": {excerpt(description, maxBankMessage)}}
}

func connectionText(id passerelle.ConnectionID) string { return strconv.FormatInt(int64(id), 10) }

// reconnected tells which connection works again.
func (t *traveller) reconnected(c store.Connection) url.Values {
	return url.Values{"connection_id": {connectionText(c.ID)}}
}

// managed tells which connection is gone, if one is.
func (t *traveller) managed() url.Values {
	if t.Deleted == 0 {
		return url.Values{}
	}
	return url.Values{"connection_id": {connectionText(t.Deleted)}, "connection_deleted": {"true"}}
}

// connected tells which connections were made.
func (t *traveller) connected() url.Values {
	told := url.Values{"connection_id": {connectionText(t.Made[0])}}
	if t.Most > 1 {
		all := make([]string, len(t.Made))
		for i, id := range t.Made {
			all[i] = connectionText(id)
		}
		told.Set("connection_ids", strings.Join(all, ","))
	}
	return told
}

// finish sends a person to the client who has done what they came for.
func (w *Webview) finish(v *visit, t *traveller, _ url.Values) error {
	switch {
	case t.Flow == flowManage:
		return w.depart(v, t, t.managed())
	case len(t.Made) == 0:
		return w.giveUp(v, t)
	}
	told := t.connected()
	if t.New {
		u, err := w.Aggregation.User(v.context(), v.domain, t.User)
		if err != nil {
			return err
		}
		maker := access.Principal{Kind: access.UserToken, Domain: v.domain.ID, Client: t.Client, User: u.ID, Expires: u.Expires}
		code, err := w.Access.IssueCode(v.context(), maker, true)
		if err != nil {
			return fmt.Errorf("make a code for user %d: %w", u.ID, err)
		}
		told.Set("code", code.Text)
	}
	return w.depart(v, t, told)
}

// giveUp sends a person to the client who does not go on. It is told of what is
// not the person's fault.
func (w *Webview) giveUp(v *visit, t *traveller) error {
	if t.Flow == flowManage {
		return w.depart(v, t, t.managed())
	}
	told := failure(accessDenied, "The person went no further.")
	id, err := t.about(v)
	if err != nil || id == 0 {
		return w.depart(v, t, told)
	}
	s, err := w.arriveAt(v, t, id)
	if err == nil && s.c.State.Resolution() == passerelle.ByRetry || err == nil && s.c.State == passerelle.NotSupported {
		told = failure(serverError, "The connection is in the state "+string(s.c.State)+".")
	}
	if t.Flow == flowReconnect {
		told.Set("connection_id", connectionText(id))
	}
	return w.depart(v, t, told)
}

// finishedBody is what the last page of a journey shows when there is no address
// to go to, or a page of the client's around it.
type finishedBody struct {
	frame
	Title, Text string
	// Message is what the page around this one is told, and Origins whose pages
	// that may be.
	Message, Origins string
	// Address is the client's, for browsers that tell nobody.
	Address string
}

// depart ends a journey, of which the browser keeps nothing: the next person at it
// may be another. The client is told where it receives people, or by a message to
// its page that is around this one. One that was begun on another goes back to that.
func (w *Webview) depart(v *visit, t *traveller, told url.Values) error {
	v.journeyCookie(t.handle, t.Framed).Forget(v.writer)
	if t.Flow == flowManage {
		v.journeyCookie(t.handle+added, t.Framed).Forget(v.writer)
	}
	if t.Home != "" {
		web.Redirect(v.writer, v.onward(flowManage, t.Home))
		return nil
	}
	if t.State != "" {
		told.Set("state", t.State)
	}
	if !t.framed() && t.RedirectURI != "" {
		web.Redirect(v.writer, result(told).at(t.RedirectURI))
		return nil
	}
	body := finishedBody{frame: v.journeyFrame(t), Title: v.words.Say("finished.title"), Text: v.words.Say("finished.text")}
	body.Languages = nil
	page := w.journeyPage(v, t, "finished", body.Title, nil)
	page.Status = 0
	if t.framed() {
		message, err := termination(told)
		if err != nil {
			return err
		}
		body.Message, body.Origins = message, strings.Join(framers(t.client), " ")
		page.Module = "finished.mjs"
	}
	if t.RedirectURI != "" {
		body.Address = result(told).at(t.RedirectURI)
	}
	page.Body = body
	return pages.Send(v.writer, page)
}

// framed reports whether the journey is made inside a page of the client's.
func (t *traveller) framed() bool { return t.Framed && len(framers(t.client)) > 0 }

// framers are the origins whose pages may show those of a client's journeys.
func framers(client store.Client) []string { return access.FrameOrigins(client) }

// members are the names that the parameters of a callback have in the message.
var members = map[string]string{
	"connection_id": "connectionId", "connection_ids": "connectionIds", "code": "code", "state": "state",
	"error": "error", "error_description": "errorDescription",
}

// termination is the message by which pages of this API family end, as JSON.
func termination(told url.Values) (string, error) {
	data := map[string]any{}
	for parameter, member := range members {
		if told.Has(parameter) {
			data[member] = told.Get(parameter)
		}
	}
	if told.Has("connection_deleted") {
		data["connectionDeleted"] = true
	}
	raw, err := json.Marshal(map[string]any{"type": "powensWebviewTermination", "data": data})
	if err != nil {
		return "", fmt.Errorf("encode the end of a journey: %w", err)
	}
	return string(raw), nil
}

// moreBody is what the page shows on which another connection can be made.
type moreBody struct {
	journeyBody
	Made []string
	// Another leads to the institutions, as long as more connections may be made.
	Another string
}

// offerMore asks whether another connection is to be made.
func (w *Webview) offerMore(v *visit, t *traveller) error {
	if len(t.Made) == 0 {
		web.Redirect(v.writer, v.to(t))
		return nil
	}
	made, err := w.DB.ConnectionsByID(v.context(), v.domain.ID, t.User, t.Made)
	if err != nil {
		return fmt.Errorf("load the connections of user %d: %w", t.User, err)
	}
	body := moreBody{journeyBody: v.body(t, "more")}
	for _, id := range t.Made {
		if c, there := made[id]; there {
			b, err := w.bankOf(v, c)
			if err != nil {
				return err
			}
			body.Made = append(body.Made, b.Name)
		}
	}
	if len(t.Made) < t.Most {
		body.Another = v.to(t)
	}
	return pages.Send(v.writer, w.journeyPage(v, t, "more", body.Title, body))
}

// askForCode asks for the code of a person who came without one: it may be in the
// part of the address that browsers keep to themselves, where old programs put it.
func (w *Webview) askForCode(v *visit, t *traveller) error {
	body := v.body(t, "code")
	page := w.journeyPage(v, t, "code", body.Title, body)
	page.Module = "handover.mjs"
	return pages.Send(v.writer, page)
}

// takeCode exchanges a code that came by a form.
func (w *Webview) takeCode(v *visit, t *traveller, form url.Values) error {
	if t.User == 0 {
		if err := w.identify(v, t, strings.TrimPrefix(strings.TrimSpace(form.Get("code")), "#")); err != nil {
			return err
		}
	}
	if err := w.keepJourney(v, t); err != nil {
		return err
	}
	web.Redirect(v.writer, v.to(t))
	return nil
}
