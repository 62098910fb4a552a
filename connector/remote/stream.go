package remote

import (
	"hash"
	"io"

	"passerelle"
)

// stream writes the lines of a response.
type stream struct {
	w   io.Writer
	sum hash.Hash
}

func (s *stream) send(one record) error {
	raw, err := encode(one)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	s.sum.Write(raw)
	_, err = s.w.Write(raw)
	return err
}

// Write sends a piece of a file.
func (s *stream) Write(piece []byte) (int, error) {
	written := 0
	for len(piece) > 0 {
		n := min(len(piece), maxLine/2)
		if err := s.send(record{Data: piece[:n]}); err != nil {
			return written, err
		}
		written, piece = written+n, piece[n:]
	}
	return written, nil
}

// end sends the end and the signature. It ignores errors, because nobody can receive them.
func (s *stream) end(last end) {
	_ = s.send(record{End: &last})
	raw, _ := encode(signature{text(s.sum)})
	_, _ = s.w.Write(append(raw, '\n'))
}

// forwarder is a sink that sends the data that it receives.
type forwarder struct {
	out           *stream
	accounts      map[string]passerelle.Date
	subscriptions map[string]bool
}

func newForwarder(out *stream, call dataCall) *forwarder {
	f := &forwarder{out, map[string]passerelle.Date{}, map[string]bool{}}
	for _, a := range call.Accounts {
		f.accounts[a.Account] = a.From
	}
	for _, s := range call.Subscriptions {
		f.subscriptions[s] = true
	}
	return f
}

func (*forwarder) Accounts([]passerelle.AccountDetails) error           { return nil }
func (*forwarder) Subscriptions([]passerelle.SubscriptionDetails) error { return nil }
func (f *forwarder) SubscriptionWanted(subscription string) bool {
	return f.subscriptions[subscription]
}

func (f *forwarder) Wanted(account string) (passerelle.Date, bool) {
	from, wanted := f.accounts[account]
	return from, wanted
}

// linePage is the maximum number of transactions or documents on a line.
const linePage = 100

func (f *forwarder) Transactions(account string, page []passerelle.TransactionDetails) error {
	for len(page) > 0 {
		n := min(len(page), linePage)
		if err := f.out.send(record{Account: account, Transactions: page[:n]}); err != nil {
			return err
		}
		page = page[n:]
	}
	return nil
}

func (f *forwarder) Assets(account string, page passerelle.Assets) error {
	return f.out.send(record{Account: account, Assets: &page})
}

func (f *forwarder) AccountRead(account string, from passerelle.Date) error {
	return f.out.send(record{Account: account, Read: true, From: from})
}

func (f *forwarder) Documents(subscription string, page []passerelle.DocumentDetails) error {
	for len(page) > 0 {
		n := min(len(page), linePage)
		if err := f.out.send(record{Subscription: subscription, Documents: page[:n]}); err != nil {
			return err
		}
		page = page[n:]
	}
	return nil
}

func (f *forwarder) SubscriptionRead(subscription string) error {
	return f.out.send(record{Subscription: subscription, Read: true})
}
