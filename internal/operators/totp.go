package operators

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// The second factor is a time-based one-time password of RFC 6238, with the parameters that all
// apps support. The hash is SHA-1. An HMAC with SHA-1 is still secure.
const (
	totpPeriod = 30 * time.Second
	totpDigits = 6
	totpSize   = 20
	// totpDrift is the number of periods by which a clock may differ, in either direction.
	totpDrift = 1
)

// totpCode returns the code of a period (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

func stepOf(t time.Time) int64 { return t.Unix() / int64(totpPeriod.Seconds()) }

// matchCode returns the period to which the code belongs, and whether the code is right. The period
// must be later than the argument `last`, which is the last period with a used code.
func matchCode(secret []byte, code string, now time.Time, last int64) (int64, bool) {
	code = strings.ReplaceAll(code, " ", "")
	for step := stepOf(now) - totpDrift; step <= stepOf(now)+totpDrift; step++ {
		if step > last && subtle.ConstantTimeCompare([]byte(totpCode(secret, step)), []byte(code)) == 1 {
			return step, true
		}
	}
	return 0, false
}

// checkCode compares a code with the operator's second factor, and returns the period of the
// code.
func (a *Operators) checkCode(ctx context.Context, o store.OperatorID, code string) (int64, error) {
	t, err := operatorstore.From(a.DB).TOTP(ctx, o)
	if err != nil {
		return 0, fmt.Errorf("load a second factor: %w", err)
	}
	step, right := matchCode(t.Secret, code, a.Now(), t.LastStep)
	if !right || len(t.Secret) == 0 {
		return 0, ErrRefused
	}
	return step, nil
}

// TOTPProposal is a second factor that the operator enters into an app.
type TOTPProposal struct {
	// Key is the text for a person to type, in groups of four characters. URI is the text for an
	// app to read.
	Key, URI string
}

func newProposal(name string, secret []byte) TOTPProposal {
	key := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	values := url.Values{"secret": {key}, "issuer": {"Passerelle"}, "digits": {fmt.Sprint(totpDigits)}, "period": {fmt.Sprint(totpPeriod.Seconds())}}
	var fours []string
	for rest := key; rest != ""; rest = rest[min(4, len(rest)):] {
		fours = append(fours, rest[:min(4, len(rest))])
	}
	return TOTPProposal{Key: strings.Join(fours, " "), URI: "otpauth://totp/Passerelle:" + url.PathEscape(name) + "?" + values.Encode()}
}

// proposalLife is the time in which an operator must enter the first code of a second factor.
const proposalLife = 10 * time.Minute

// pendingTOTP is a proposed secret. Only the session that requested the secret can confirm it,
// before the secret expires.
type pendingTOTP struct {
	secret  []byte
	session int64
	until   time.Time
}

// bytes returns the stored form of a proposal: the secret, the number of the session, and the time
// of expiry in seconds.
func (p pendingTOTP) bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(slices.Clone(p.secret), uint64(p.session)), uint64(p.until.Unix()))
}

// pending returns the secret of a stored proposal if the session may confirm it now. It returns nil
// for every other proposal.
func (a *Operators) pending(v SignedIn, stored []byte) []byte {
	if len(stored) != totpSize+16 {
		return nil
	}
	session, until := binary.BigEndian.Uint64(stored[totpSize:]), binary.BigEndian.Uint64(stored[totpSize+8:])
	if session != uint64(v.ID) || a.Now().Unix() >= int64(until) {
		return nil
	}
	return stored[:totpSize]
}

// ProposeTOTP makes a second factor for an operator, who must enter the password again. The new
// factor replaces the current one when the operator enters its first code, in the same session and
// within ten minutes.
func (a *Operators) ProposeTOTP(ctx context.Context, v SignedIn, password, request string) error {
	if err := a.prove(ctx, v, password, request, actTOTP); err != nil {
		return err
	}
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		proposal := pendingTOTP{randomBytes(totpSize), v.ID, a.Now().Add(proposalLife)}
		return operatorstore.In(tx).ProposeTOTP(v.Operator.ID, proposal.bytes())
	})
	if err != nil {
		return fmt.Errorf("propose a second factor: %w", err)
	}
	return nil
}

// WithdrawTOTP drops the second factor that waits for its first code, if any.
func (a *Operators) WithdrawTOTP(ctx context.Context, v SignedIn) error {
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).WithdrawTOTP(v.Operator.ID)
		return nil
	})
	if err != nil {
		return fmt.Errorf("withdraw a second factor: %w", err)
	}
	return nil
}

// ProposedTOTP returns the second factor that waits for its first code in this session, and whether
// one waits.
func (a *Operators) ProposedTOTP(ctx context.Context, v SignedIn) (TOTPProposal, bool, error) {
	t, err := operatorstore.From(a.DB).TOTP(ctx, v.Operator.ID)
	if err != nil {
		return TOTPProposal{}, false, fmt.Errorf("load a second factor: %w", err)
	}
	secret := a.pending(v, t.Proposed)
	return newProposal(v.Operator.Name, secret), secret != nil, nil
}

// ConfirmTOTP makes the proposed second factor valid if the code is right. The operator's session
// then counts as signed in with a second factor, and the operator's other sessions end. A wrong
// code counts as an attempt.
func (a *Operators) ConfirmTOTP(ctx context.Context, v SignedIn, code, request string) error {
	if err := a.take(ctx, proofCounter(v)); err != nil {
		return err
	}
	t, err := operatorstore.From(a.DB).TOTP(ctx, v.Operator.ID)
	if err != nil {
		return fmt.Errorf("load a second factor: %w", err)
	}
	secret := a.pending(v, t.Proposed)
	if secret == nil {
		return passerelle.Conflicting("No second factor is being set up in this session. A setup ends after ten minutes.")
	}
	step, right := matchCode(secret, code, a.Now(), 0)
	if !right {
		return a.refuse(ctx, a.Entry(v, request, actTOTP))
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := operatorstore.In(tx).ConfirmTOTP(v.Operator.ID, secret, step); err != nil {
			return err
		}
		// A concurrent sign-in without the second factor either commits before this transaction or
		// is refused. If it commits first, the statements below revoke its session.
		operatorstore.In(tx).RaiseSession(v.ID)
		operatorstore.In(tx).RevokeSessions(v.Operator.ID, v.ID, a.Now())
		operatorstore.In(tx).ReturnSignIn(proofCounter(v).Subject)
		return tx.Audit(a.Entry(v, request, actTOTP))
	})
	if errors.Is(err, store.ErrConflict) {
		return passerelle.Conflicting("Another second factor was set up in the meantime.")
	}
	if err != nil {
		return fmt.Errorf("confirm a second factor: %w", err)
	}
	return nil
}
