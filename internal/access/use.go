package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// These limits apply to records of use: the precision of a last use, the uses in memory, and the
// uses that one transaction writes.
const (
	useSpan  = time.Hour
	maxUses  = 10_000
	useBatch = 500
)

// uses holds the credentials that were used since the last call of KeepUses. It omits a credential
// if the stored last use is less than an hour old. A use is lost when maxUses other credentials are
// in memory, or when the process ends before KeepUses. The credential's next use is then recorded
// instead.
type uses struct {
	mu sync.Mutex
	at map[credential]time.Time
}

// credential is a token, or the secret of a client.
type credential struct {
	domain passerelle.DomainID
	client passerelle.ClientID
	token  int64
}

// note records a use, unless a recent use is already stored.
func (u *uses) note(c credential, known *time.Time, now time.Time) {
	if known != nil && now.Sub(*known) < useSpan {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[credential]time.Time{}
	}
	if _, noted := u.at[c]; noted || len(u.at) < maxUses {
		u.at[c] = now
	}
}

func (u *uses) take() map[credential]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.at
	u.at = nil
	return taken
}

// KeepUses records the credentials that were used since its last call. It writes each credential at
// most once an hour, even when many processes use the credential.
func (a *Access) KeepUses(ctx context.Context) error {
	used := a.uses.take()
	var failed error
	for batch := range slices.Chunk(slices.SortedFunc(maps.Keys(used), credential.compare), useBatch) {
		failed = errors.Join(failed, a.DB.Write(ctx, func(tx *store.Tx) error {
			for _, c := range batch {
				c.keep(tx, used[c])
			}
			return nil
		}))
	}
	if failed != nil {
		return fmt.Errorf("note the use of credentials: %w", failed)
	}
	return nil
}

// compare orders credentials. All processes write credentials in this order, so they cannot
// deadlock.
func (c credential) compare(o credential) int {
	return cmp.Or(cmp.Compare(c.domain, o.domain), cmp.Compare(c.client, o.client), cmp.Compare(c.token, o.token))
}

func (c credential) keep(tx *store.Tx, at time.Time) {
	if c.token != 0 {
		tx.NoteTokenUse(c.domain, c.token, at, at.Add(-useSpan))
		return
	}
	tx.NoteClientUse(c.domain, c.client, at, at.Add(-useSpan))
}
