package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/statement"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	// maxTriggerItems limits the deliveries of a triggered event in the response.
	maxTriggerItems = 1000
	// triggerTries is the largest number of attempts to emit an event while its user changes.
	triggerTries = 5
)

// TestEvent is an event that a client requests to test a receiver. Without Data, its body is the
// sample of the event. If User is zero, the sample has the user webhook.SampleUser. If Connection
// is zero, the sample has the connection webhook.SampleConnection.
type TestEvent struct {
	Event      string
	User       passerelle.UserID
	Connection passerelle.ConnectionID
	// Data is a JSON object.
	Data []byte
}

// Triggered is the result of Trigger. The event of a temporary user is Held: it has no deliveries
// until the user becomes permanent.
type Triggered struct {
	Event      webhook.Entry
	SubjectID  int64
	Held       bool
	Deliveries []passerelle.DeliveryID
}

// instant returns the present instant of a sandbox, with the precision of stored instants.
func (l *Simulation) instant(d passerelle.Domain) time.Time {
	return d.Clock.Now(l.Now()).Truncate(time.Microsecond)
}

// Trigger emits a test event into a sandbox domain. The event is delivered like any other event,
// after earlier test events about the same subject. Trigger fails with Invalid for USER_CREATED,
// USER_DELETED and the events of payments, which only real users and payments cause. The error says
// what to do instead. Trigger also fails with Invalid for an unknown event, for a user who does not
// exist, for data with the member webhook.DeliveryMember, and for data that cannot be converted to
// a required statement.
func (l *Simulation) Trigger(ctx context.Context, d passerelle.Domain, t TestEvent) (Triggered, error) {
	entry, err := triggerable(t.Event)
	if err == nil {
		err = checkData(t.Data)
	}
	if err != nil {
		return Triggered{}, err
	}
	e := store.EmittedEvent{Domain: d.ID, Name: entry.Event, Subject: string(entry.Subject), User: t.User, Created: l.instant(d)}
	user, connection := about(t)
	e.SubjectID = connection
	if entry.Subject == webhook.SubjectUser {
		e.SubjectID = user
	}
	if e.Body = t.Data; e.Body == nil {
		e.Body = webhook.SampleOf(entry.Event, user, connection)
	}
	if err := l.makeTriggeredStatement(ctx, &e); err != nil {
		return Triggered{}, err
	}
	if err := l.emitTriggered(ctx, d, &e); err != nil {
		return Triggered{}, err
	}
	out := Triggered{Event: entry, SubjectID: e.SubjectID, Held: e.Held}
	if out.Deliveries, err = l.DB.DeliveriesOf(ctx, e, maxTriggerItems); err != nil {
		return out, fmt.Errorf("list the deliveries of %s: %w", e.Name, err)
	}
	return out, nil
}

// caused contains those events about users that clients cannot trigger, and says what causes each
// event.
var caused = map[webhook.Event]string{
	webhook.UserCreated: "comes from users alone; create one with POST /auth/init",
	webhook.UserDeleted: "comes from users alone; delete one with DELETE /users/{userId}",
}

// causeOf says what causes an event in a sandbox. It returns an empty text for an event that
// clients can trigger. Clients cannot trigger the events of payments, because each of these events
// must belong to a step of a payment's history.
func causeOf(e webhook.Entry) string {
	if e.Subject == webhook.SubjectPayment {
		return "comes from payments alone; take one a step on with POST /sandbox/payments/{paymentId}/simulate"
	}
	return caused[e.Event]
}

func triggerable(name string) (webhook.Entry, error) {
	entry, known := webhook.Lookup(name)
	if how := causeOf(entry); known && how != "" {
		return entry, passerelle.InvalidField("event", "%s %s", name, how)
	}
	if !known {
		return entry, passerelle.InvalidField("event", "must be one of %s", strings.Join(triggerableNames(), ", "))
	}
	return entry, nil
}

// checkData refuses data with the member that the service adds to each body. Receivers would see
// the member twice.
func checkData(data []byte) error {
	var members map[string]json.RawMessage
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, &members); err != nil {
		return passerelle.InvalidField("data", "must be a JSON object")
	}
	if _, has := members[webhook.DeliveryMember]; has {
		return passerelle.InvalidField("data", "must not have the member %s, which the service adds to each payload", webhook.DeliveryMember)
	}
	return nil
}

func triggerableNames() []string {
	var names []string
	for _, entry := range webhook.Events() {
		if causeOf(entry) == "" {
			names = append(names, string(entry.Event))
		}
	}
	return names
}

// about returns the ids of the event's user and connection.
func about(t TestEvent) (int64, int64) {
	user, connection := int64(t.User), int64(t.Connection)
	if user == 0 {
		user = webhook.SampleUser
	}
	if connection == 0 {
		connection = webhook.SampleConnection
	}
	return user, connection
}

func noSuchUser() error { return passerelle.InvalidField("id_user", "no user with this id") }

// makeTriggeredStatement converts the body to a statement when the domain's settings require it.
func (l *Simulation) makeTriggeredStatement(ctx context.Context, e *store.EmittedEvent) error {
	values, err := settings.Load(ctx, &l.DB.Reader, e.Domain)
	if err != nil || !values.On(settings.CFONB) || !slices.Contains(webhook.StatementEvents(), e.Name) {
		return err
	}
	e.MediaType = statement.MediaType
	e.Body, e.Omitted, err = statement.Of(e.Body)
	return err
}

// emitTriggered stores an event with a new version.
func (l *Simulation) emitTriggered(ctx context.Context, d passerelle.Domain, e *store.EmittedEvent) error {
	var err error
	if e.Version, err = l.DB.TriggeredVersion(ctx, e.Domain); err != nil {
		return err
	}
	stored := *e
	if err := l.DB.InParts(ctx, &stored); err != nil {
		return err
	}
	err = store.ErrConflict
	for try := 0; try < triggerTries && errors.Is(err, store.ErrConflict); try++ {
		err = l.emitAbout(ctx, d, &stored)
	}
	switch e.Held = stored.Held; {
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("user %d changes all the time: %w", e.User, passerelle.Unavailable)
	case errors.Is(err, passerelle.NotFound):
		return noSuchUser()
	case err != nil:
		return fmt.Errorf("emit %s: %w", e.Name, err)
	}
	return nil
}

// emitAbout stores an event. The event of a temporary user waits until the user becomes permanent.
// emitAbout fails with store.ErrConflict when the user became permanent after emitAbout read the
// user, because nothing would release the event.
func (l *Simulation) emitAbout(ctx context.Context, d passerelle.Domain, e *store.EmittedEvent) error {
	var user passerelle.User
	if e.User != 0 {
		var err error
		if user, err = l.Aggregation.User(ctx, d, e.User); err != nil {
			return err
		}
		e.Held = user.Permanent == nil
	}
	return l.DB.Write(ctx, func(tx *store.Tx) error {
		if e.User != 0 {
			tx.HoldUserAs(user)
		}
		tx.AfterCommit(l.Aggregation.Wake)
		return tx.Emit(*e)
	})
}
