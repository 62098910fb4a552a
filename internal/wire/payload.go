package wire

import (
	"encoding/json"
	"io"
)

// Payload writes the body of an event about data that a sync has read. It writes the body in parts,
// because the first read of a long history may not fit into memory. A Payload is for one body. Each
// method fails with the first error of a list or of the writer.
type Payload struct {
	out     io.Writer
	encoder *json.Encoder
	// cut is the number of bytes to remove from the end of an encoded resource.
	cut int
	err error
}

// NewPayload begins a body.
func NewPayload(out io.Writer) *Payload {
	p := &Payload{out: out}
	p.encoder = json.NewEncoder(pieces{p})
	p.encoder.SetEscapeHTML(false)
	return p
}

// Each calls a function for each item of a list, in order.
type Each[T any] func(write func(T)) error

// AccountRead is an account with its changed objects.
type AccountRead struct {
	BankAccount
	Investments  Each[Investment]
	Transactions Each[Transaction]
	// MarketOrders is nil for a body without market orders.
	MarketOrders Each[MarketOrder]
}

// SubscriptionRead is a subscription with its changed documents.
type SubscriptionRead struct {
	Subscription
	Documents Each[Document]
}

// ConnectionRead is a connection with its changed objects.
type ConnectionRead struct {
	Connection
	Accounts      Each[AccountRead]
	Subscriptions Each[SubscriptionRead]
}

// Object writes a resource without its changed objects.
func (p *Payload) Object(resource any) error {
	p.object(resource)
	return p.err
}

// Account writes an account that a sync has read.
func (p *Payload) Account(a AccountRead) error {
	p.account(a)
	return p.err
}

// Subscription writes a subscription that a sync has read.
func (p *Payload) Subscription(s SubscriptionRead) error {
	p.subscription(s)
	return p.err
}

// Transactions writes transactions of several accounts.
func (p *Payload) Transactions(all Each[Transaction]) error {
	p.add(`{"transactions":`)
	list(p, all, func(t Transaction) { p.object(t) })
	p.add("}")
	return p.err
}

// Ownerships writes the holders of accounts.
func (p *Payload) Ownerships(all Each[Ownership]) error {
	p.add(`{"account_ownerships":`)
	list(p, all, func(o Ownership) { p.object(o) })
	p.add("}")
	return p.err
}

// Fetched writes a user and a connection. It also writes the connection's accounts, which no sync
// has read yet.
func (p *Payload) Fetched(u User, c Connection, accounts Each[BankAccount]) error {
	p.user(u, `"connection":`)
	p.open(c)
	p.add(`,"accounts":`)
	list(p, accounts, func(a BankAccount) { p.object(a) })
	p.add("}}")
	return p.err
}

// Connection writes a user and a connection that a sync has read.
func (p *Payload) Connection(u User, c ConnectionRead) error {
	p.user(u, `"connection":`)
	p.connection(c)
	p.add("}")
	return p.err
}

// Connections writes a user and all connections that syncs have read.
func (p *Payload) Connections(u User, all Each[ConnectionRead]) error {
	p.user(u, `"connections":`)
	list(p, all, p.connection)
	p.add("}")
	return p.err
}

func (p *Payload) user(u User, next string) {
	p.add(`{"user":`)
	p.object(u)
	p.add("," + next)
}

func (p *Payload) connection(c ConnectionRead) {
	p.open(c.Connection)
	p.add(`,"accounts":`)
	list(p, c.Accounts, p.account)
	p.add(`,"subscriptions":`)
	list(p, c.Subscriptions, p.subscription)
	p.add("}")
}

func (p *Payload) account(a AccountRead) {
	p.open(a.BankAccount)
	p.add(`,"investments":`)
	list(p, a.Investments, func(i Investment) { p.object(i) })
	p.add(`,"recipients":[],"transactions":`)
	list(p, a.Transactions, func(t Transaction) { p.object(t) })
	p.add(`,"transfers":[]`)
	if a.MarketOrders != nil {
		p.add(`,"market_orders":`)
		list(p, a.MarketOrders, func(o MarketOrder) { p.object(o) })
	}
	p.add("}")
}

func (p *Payload) subscription(s SubscriptionRead) {
	p.open(s.Subscription)
	p.add(`,"documents":`)
	list(p, s.Documents, func(d Document) { p.object(d) })
	p.add("}")
}

// list writes a list, item by item.
func list[T any](p *Payload, each Each[T], write func(T)) {
	separator := "["
	err := each(func(one T) {
		p.add(separator)
		separator = ","
		write(one)
	})
	if p.err == nil {
		p.err = err
	}
	if separator == "[" {
		p.add(separator)
	}
	p.add("]")
}

// object writes a resource. open writes a resource without its closing brace, so more members can
// follow.
func (p *Payload) object(resource any) { p.encode(resource, "\n") }

func (p *Payload) open(resource any) { p.encode(resource, "}\n") }

func (p *Payload) encode(resource any, without string) {
	if p.err == nil {
		p.cut = len(without)
		p.err = p.encoder.Encode(resource)
	}
}

func (p *Payload) add(piece string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, piece)
	}
}

// pieces receives the output of the encoder. Each write contains one resource and a line break.
type pieces struct{ *Payload }

func (p pieces) Write(piece []byte) (int, error) {
	_, err := p.out.Write(piece[:len(piece)-p.cut])
	return len(piece), err
}
