package bank

import (
	"context"
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"

	"passerelle/testbank/ledger"
)

// Step is the data that a third party sends to an authorisation.
type Step struct {
	// PSU is the header PSU-ID.
	PSU          string
	Password     string
	Second       string
	Method       string
	Code         string
	Confirmation string
}

// Method is a way in which a customer receives or generates a code.
type Method struct {
	ID, Type, Name, Explanation string
}

// Methods lists the methods. All customers have the same methods.
func Methods() []Method {
	return []Method{
		{"sms", "SMS_OTP", "Text message to +49 151 ••• 28", "A code comes to the telephone."},
		{"photo", "PHOTO_OTP", "Photo code", "An app reads the picture, and shows the code."},
		{"chip", "CHIP_OTP", "Card reader", "The reader makes a code of what is typed in."},
	}
}

// MethodByID finds a method.
func MethodByID(id string) (Method, bool) {
	all := Methods()
	i := slices.IndexFunc(all, func(m Method) bool { return m.ID == id })
	if i < 0 {
		return Method{}, false
	}
	return all[i], true
}

// maxWrong is the number of wrong passwords and codes after which an authorisation fails.
const maxWrong = 3

func (b *Bank) readStep(c Caller, body []byte) (Step, error) {
	var read struct {
		PSU struct {
			Password        string `json:"password"`
			Encrypted       string `json:"encryptedPassword"`
			Second          string `json:"additionalPassword"`
			SecondEncrypted string `json:"additionalEncryptedPassword"`
		} `json:"psuData"`
		Method       string `json:"authenticationMethodId"`
		Code         string `json:"scaAuthenticationData"`
		Confirmation string `json:"confirmationCode"`
	}
	if len(body) > 0 {
		if err := DecodeBody(body, &read); err != nil {
			return Step{}, err
		}
	}
	first, err := b.password("psuData.password", read.PSU.Password, read.PSU.Encrypted)
	if err != nil {
		return Step{}, err
	}
	second, err := b.password("psuData.additionalPassword", read.PSU.Second, read.PSU.SecondEncrypted)
	return Step{PSU: c.PSU, Password: first, Second: second, Method: read.Method, Code: read.Code, Confirmation: read.Confirmation}, err
}

// password returns a password as plain text. The password is in the plain or in the encrypted
// member. Each bank accepts only one of these members.
func (b *Bank) password(path, plain, encrypted string) (string, error) {
	switch {
	case plain == "" && encrypted == "":
		return "", nil
	case b.Profile.EncryptsPasswords && plain != "":
		return "", wrongFormat(path, "the bank takes encrypted passwords only")
	case !b.Profile.EncryptsPasswords && encrypted != "":
		return "", wrongFormat(path, "the bank accepts no encrypted passwords")
	case encrypted == "":
		return plain, nil
	}
	sealed, err := jose.ParseEncryptedCompact(encrypted, []jose.KeyAlgorithm{jose.RSA_OAEP_256}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return "", wrongFormat(path, "the encrypted password is no JWE with RSA-OAEP-256 and A256GCM")
	}
	opened, err := sealed.Decrypt(b.passwords)
	if err != nil {
		return "", wrongFormat(path, "the password is encrypted for another key")
	}
	return string(opened), nil
}

// Update applies a step to an authorisation. The bank refuses a wrong step. A refused step may end
// the authorisation.
func (b *Bank) Update(ctx context.Context, c Caller, s Subject, id string, body []byte) (*Authorisation, error) {
	step, err := b.readStep(c, body)
	if err != nil {
		return nil, err
	}
	var a *Authorisation
	var refusal error
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if a, err = b.authorisation(tx, c.Party, s, id); err != nil {
			return err
		}
		refusal, err = b.step(tx, a, step)
		return err
	})
	return a, errors.Join(err, refusal)
}

// steps lists the steps of an authorisation. Each step is allowed only in some states. The bank
// executes the first step that matches the sent data.
var steps = []struct {
	brought func(Step) bool
	from    []string
	take    func(*Bank, *ledger.Tx, *Authorisation, Step) (refusal, err error)
}{
	{func(s Step) bool { return s.Confirmation != "" }, []string{"unconfirmed"}, (*Bank).confirm},
	{func(s Step) bool { return s.Code != "" }, []string{"scaMethodSelected", "started"}, (*Bank).enterCode},
	{func(s Step) bool { return s.Method != "" }, []string{"psuAuthenticated"}, (*Bank).chooseMethod},
	{func(s Step) bool { return s.Second != "" }, []string{"psuIdentified"}, (*Bank).signInAgain},
	{func(s Step) bool { return s.Password != "" }, []string{"received", "psuIdentified"}, (*Bank).signIn},
	{func(s Step) bool { return s.PSU != "" }, []string{"received"}, (*Bank).identify},
	{func(s Step) bool { return s == Step{} }, []string{"unconfirmed"}, (*Bank).confirm},
}

// step executes a step. The bank also stores the effects of a refused step, because wrong codes
// count.
func (b *Bank) step(tx *ledger.Tx, a *Authorisation, s Step) (error, error) {
	var (
		refusal error
		err     error
	)
	for _, possible := range steps {
		if !possible.brought(s) {
			continue
		}
		if !slices.Contains(possible.from, a.Status) {
			return Refuse("STATUS_INVALID", "", "the authorisation is "+a.Status+", where this step is not taken"), nil
		}
		if refusal, err = possible.take(b, tx, a, s); err != nil {
			return nil, err
		}
		return refusal, tx.Put(a)
	}
	return wrongFormat("", "the body has to bring psuData, authenticationMethodId, scaAuthenticationData or confirmationCode"), nil
}

func (b *Bank) identify(_ *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if _, known := CustomerByID(s.PSU); !known {
		return Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "The bank does not know this user name."), nil
	}
	a.PSU, a.Status = s.PSU, "psuIdentified"
	if a.Approach == Decoupled {
		a.Status = "started"
	}
	return nil, nil
}

func (b *Bank) signIn(tx *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if a.Approach != Embedded {
		return Refuse("SERVICE_INVALID", "psuData", "the bank takes passwords on its own pages only"), nil
	}
	if a.PSU == "" {
		a.PSU = s.PSU
	}
	if _, known := CustomerByID(a.PSU); !known || s.PSU != "" && s.PSU != a.PSU || s.Password != Password {
		return b.wrong(tx, a, "psuData.password", "the customer or the password is wrong")
	}
	a.Status = "psuAuthenticated"
	if b.Profile.TwoPasswords {
		a.Status, a.SecondDue = "psuIdentified", true
	}
	return nil, nil
}

func (b *Bank) signInAgain(tx *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if !a.SecondDue {
		return Refuse("STATUS_INVALID", "psuData.additionalPassword", "the first password comes first"), nil
	}
	if s.Second != SecondPassword {
		return b.wrong(tx, a, "psuData.additionalPassword", "the second password is wrong")
	}
	a.Status = "psuAuthenticated"
	return nil, nil
}

func (b *Bank) chooseMethod(_ *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if _, known := MethodByID(s.Method); !known {
		return Refuse("SCA_METHOD_UNKNOWN", "authenticationMethodId", "the customer has no such method"), nil
	}
	a.Method, a.Status = s.Method, "scaMethodSelected"
	return nil, nil
}

func (b *Bank) enterCode(tx *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if s.Code != Code {
		return b.wrong(tx, a, "scaAuthenticationData", "the code is wrong")
	}
	a.CodesEntered++
	if a.CodesEntered < b.Profile.Codes {
		// The second code is a photo code, and the third comes from the card reader.
		a.Status, a.Method = "started", Methods()[a.CodesEntered%len(Methods())].ID
		return nil, nil
	}
	return nil, b.approve(tx, a)
}

// confirm ends an authorisation that waits for the third party's confirmation: with the code that
// the customer brought back or, after OAuth, with the token. Package xs2a checks the token.
func (b *Bank) confirm(tx *ledger.Tx, a *Authorisation, s Step) (error, error) {
	if a.Application != nil && a.Application.Code != "" {
		return Refuse("STATUS_INVALID", "Authorization", "the confirmation needs a token"), nil
	}
	if s.Confirmation != a.Confirmation {
		if err := b.fail(tx, a, ""); err != nil {
			return nil, err
		}
		return Refuse("SCA_INVALID", "confirmationCode", "the code is not that of the authorisation"), nil
	}
	return nil, b.finalise(tx, a)
}

// wrong counts a wrong password or code. It ends the authorisation when the limit is reached.
func (b *Bank) wrong(tx *ledger.Tx, a *Authorisation, path, text string) (error, error) {
	a.Wrong++
	if a.Wrong >= maxWrong {
		text += "; it was the last attempt"
		if err := b.fail(tx, a, ""); err != nil {
			return nil, err
		}
	}
	return Refuse("PSU_CREDENTIALS_INVALID", path, text), nil
}
