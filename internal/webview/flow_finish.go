package webview

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/bankstore"
	"passerelle/internal/web"
)

// These are error codes that a client gets when a flow ends without a result.
const (
	accessDenied = "access_denied"
	serverError  = "server_error"
)

func failure(code, description string) url.Values {
	return url.Values{"error": {code}, "error_description": {passerelle.Excerpt(description, maxBankMessage)}}
}

func connectionText(id passerelle.ConnectionID) string { return strconv.FormatInt(int64(id), 10) }

// reconnected returns the parameters for the client: the id of the connection that works again.
func (t *flowSession) reconnected(c bankstore.Connection) url.Values {
	return url.Values{"connection_id": {connectionText(c.ID)}}
}

// managed returns the parameters for the client: the id of the deleted connection, if any.
func (t *flowSession) managed() url.Values {
	if t.Deleted == 0 {
		return url.Values{}
	}
	return url.Values{"connection_id": {connectionText(t.Deleted)}, "connection_deleted": {"true"}}
}

// connected returns the parameters for the client: the ids of the new connections.
func (t *flowSession) connected() url.Values {
	reported := url.Values{"connection_id": {connectionText(t.Made[0])}}
	if t.Most > 1 {
		all := make([]string, len(t.Made))
		for i, id := range t.Made {
			all[i] = connectionText(id)
		}
		reported.Set("connection_ids", strings.Join(all, ","))
	}
	return reported
}

// finishConnect ends a flow that the person has finished.
func (w *Webview) finishConnect(pc *pageContext, t *flowSession) error {
	switch {
	case t.Flow == flowManage:
		return w.finishFlow(pc, t, t.managed())
	case len(t.Made) == 0:
		return w.cancelFlow(pc, t)
	}
	reported := t.connected()
	if t.New {
		u, err := w.Aggregation.User(pc.context(), pc.domain, t.User)
		if err != nil {
			return err
		}
		maker := access.Principal{Kind: access.UserToken, Domain: pc.domain.ID, Client: t.Client, User: u.ID, Expires: u.Expires}
		code, err := w.Access.IssueCode(pc.context(), maker, true)
		if err != nil {
			return fmt.Errorf("make a code for user %d: %w", u.ID, err)
		}
		reported.Set("code", code.Text)
	}
	return w.finishFlow(pc, t, reported)
}

// cancelFlow ends a flow that the person leaves. For flowManage, the client gets the id of the
// deleted connection, if any. For other flows, the client gets the new connections, or an error if
// there are none. The error contains the state of the page's connection if the person cannot change
// this state.
func (w *Webview) cancelFlow(pc *pageContext, t *flowSession) error {
	switch {
	case t.Flow == flowManage:
		return w.finishFlow(pc, t, t.managed())
	case len(t.Made) > 0:
		return w.finishConnect(pc, t)
	}
	reported := failure(accessDenied, "The person went no further.")
	id, err := t.about(pc)
	if err != nil || id == 0 {
		return w.finishFlow(pc, t, reported)
	}
	s, err := w.loadConnection(pc, t, id)
	if err == nil && s.c.State.Resolution() == passerelle.ByRetry || err == nil && s.c.State == passerelle.NotSupported {
		reported = failure(serverError, "The connection is in the state "+string(s.c.State)+".")
	}
	if t.Flow == flowReconnect {
		reported.Set("connection_id", connectionText(id))
	}
	return w.finishFlow(pc, t, reported)
}

// finishedBody is the content of the last page of a flow. The page appears when there is no address
// to redirect to, or when a client's page shows the flow in a frame.
type finishedBody struct {
	frame
	Title, Text string
	// Message is the message for the client's page. Origins lists the origins that may receive the
	// message.
	Message, Origins string
	// Address is the client's address. A button opens it if the message does not reach the client's
	// page.
	Address string
}

// finishFlow ends a flow and removes its cookies, because another person may use the browser next.
// It redirects the person to the client's address, or shows a last page. In a frame, this page
// sends a message to the client's page. If another flow started this flow, finishFlow redirects the
// person to that other flow instead.
func (w *Webview) finishFlow(pc *pageContext, t *flowSession, reported url.Values) error {
	pc.flowCookie(t.handle, t.Framed).Forget(pc.writer)
	if t.Flow == flowManage {
		pc.flowCookie(t.handle+added, t.Framed).Forget(pc.writer)
	}
	if t.Parent != "" {
		address := pc.onward(flowManage, t.Parent)
		if !reported.Has("error") {
			address += "&step=" + stepAdded
		}
		web.Redirect(pc.writer, address)
		return nil
	}
	if t.State != "" {
		reported.Set("state", t.State)
	}
	if !t.framed() && t.RedirectURI != "" {
		web.Redirect(pc.writer, result(reported).at(t.RedirectURI))
		return nil
	}
	body := finishedBody{frame: pc.flowFrame(t), Title: pc.words.Say("finished.title"), Text: pc.words.Say("finished.text")}
	body.Languages = nil
	page := w.flowPage(pc, t, "finished", body.Title, nil)
	page.Status, page.Alert = 0, ""
	if t.framed() {
		message, err := termination(reported)
		if err != nil {
			return err
		}
		body.Message, body.Origins = message, strings.Join(access.FrameOrigins(t.client), " ")
		page.Module = "finished.mjs"
	}
	if t.RedirectURI != "" {
		body.Address = result(reported).at(t.RedirectURI)
	}
	page.Body = body
	return pages.Send(pc.writer, page)
}

// framed reports whether the flow is shown in a frame of the client's page.
func (t *flowSession) framed() bool { return t.Framed && len(access.FrameOrigins(t.client)) > 0 }

// members maps the text parameters of a callback to their names in the message to the client's
// page.
var members = map[string]string{
	"connection_id": "connectionId", "connection_ids": "connectionIds", "code": "code", "state": "state",
	"error": "error", "error_description": "errorDescription",
}

// termination returns the message that pages of this API family send at the end of a flow, as JSON.
func termination(reported url.Values) (string, error) {
	data := map[string]any{}
	for parameter, member := range members {
		if reported.Has(parameter) {
			data[member] = reported.Get(parameter)
		}
	}
	if reported.Has("connection_deleted") {
		data["connectionDeleted"] = true
	}
	raw, err := json.Marshal(map[string]any{"type": "powensWebviewTermination", "data": data})
	if err != nil {
		return "", fmt.Errorf("encode the end of a flow: %w", err)
	}
	return string(raw), nil
}

// moreBody is the content of the page that appears after the person has made a connection.
type moreBody struct {
	flowBody
	// Made has one line for each connection that shares something. The line says how many accounts
	// and contracts the person shares. Stop explains how to stop sharing.
	Made []string
	Stop string
	// Another is the address of the list of institutions. It is empty when the person may make no
	// more connections.
	Another string
}

// offerMore shows how many accounts and contracts the person shares. If the person may make another
// connection, the page also offers this.
func (w *Webview) offerMore(pc *pageContext, t *flowSession) error {
	if len(t.Made) == 0 {
		web.Redirect(pc.writer, pc.to(t))
		return nil
	}
	made, err := bankstore.From(w.DB).ConnectionsByID(pc.context(), pc.domain.ID, t.User, t.Made)
	if err != nil {
		return fmt.Errorf("load the connections of user %d: %w", t.User, err)
	}
	body := moreBody{flowBody: pc.body(t, "more")}
	body.Text = ""
	for _, id := range t.Made {
		if c, there := made[id]; there {
			b, err := w.bankOf(pc, c)
			if err != nil {
				return err
			}
			things, err := w.sharedOf(pc, &flowConnection{t, c, b})
			if err != nil {
				return err
			}
			if things != "" { // the person may have stopped sharing in another tab
				body.Made = append(body.Made, pc.words.Say("more.made", b.Name, things))
			}
		}
	}
	body.Back, body.Stop = pc.to(t, "step", stepDone), pc.words.Say("more.stop", t.client.Name)
	page := w.flowPage(pc, t, "more", body.Title, body)
	if len(t.Made) < t.Most {
		body.Another, body.Text = pc.to(t), pc.words.Say("more.text")
	} else {
		page.Refresh, page.RefreshTo = acknowledgement, body.Back
	}
	page.Body = body
	return pages.Send(pc.writer, page)
}

// acknowledgement is the time for which a page shows a confirmation before it continues by itself.
const acknowledgement = 8 * time.Second

// sharedOf returns the words for the number of accounts and contracts that a connection shares. It
// also counts those that the client's link does not offer. It returns an empty text when the
// connection shares nothing.
func (w *Webview) sharedOf(pc *pageContext, s *flowConnection) (string, error) {
	data := bankstore.From(w.DB)
	accounts, err := data.CountBankAccounts(pc.context(), bankstore.AccountFilter{Domain: pc.domain.ID, User: s.User, Connection: s.c.ID})
	if err != nil {
		return "", fmt.Errorf("count the accounts of connection %d: %w", s.c.ID, err)
	}
	contracts, err := data.CountSubscriptions(pc.context(), bankstore.SubscriptionFilter{Domain: pc.domain.ID, User: s.User, Connection: s.c.ID})
	if err != nil {
		return "", fmt.Errorf("count the subscriptions of connection %d: %w", s.c.ID, err)
	}
	return newCounted(pc.words, false).things(int(accounts), int(contracts)), nil
}

// askForCode shows a page that can send a missing code. Older programs put the code into the
// fragment of the address. Browsers do not send fragments to the service, so the page's script
// sends the code.
func (w *Webview) askForCode(pc *pageContext, t *flowSession) error {
	body := pc.body(t, "code")
	if t.RedirectURI != "" {
		body.Leave, body.LeaveText = pc.to(t, "step", stepLeave), pc.words.Say("wait.back", t.client.Name)
	}
	page := w.flowPage(pc, t, "code", body.Title, body)
	page.Module = "handover.mjs"
	return pages.Send(pc.writer, page)
}

// takeCode exchanges the code from a form for its user, unless the flow already has a user.
func (w *Webview) takeCode(pc *pageContext, t *flowSession, form url.Values) error {
	if t.User == 0 {
		if err := w.identify(pc, t, strings.TrimPrefix(strings.TrimSpace(form.Get("code")), "#")); err != nil {
			return err
		}
	}
	if err := w.storeFlow(pc, t); err != nil {
		return err
	}
	web.Redirect(pc.writer, pc.to(t))
	return nil
}
