package initiation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// fallbackLanguage is used for terms that do not exist in the requested language.
const fallbackLanguage = "en"

// LocalizedTerms are the terms of service that payers of a domain accept, in one language.
type LocalizedTerms struct {
	ID       int64
	Version  string
	Created  time.Time
	Deleted  *time.Time
	Language string
	Content  string
}

// builtIn contains the terms of domains that have published no terms.
var builtIn = store.Terms{
	ID: 1, Version: "0", Created: time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
	Content: map[string]string{
		"en": "You ask us to hand this payment over to your bank. Your bank asks for your approval and executes it; we pass on the payment as shown to you, and tell whoever you pay what became of it. We keep the details of the payment for as long as the law requires, and do not see what you type at your bank.",
		"fr": "Vous nous demandez de transmettre ce paiement à votre banque. Votre banque demande votre accord et l'exécute ; nous transmettons le paiement tel qu'il vous est présenté et informons son bénéficiaire de son issue. Nous conservons les données du paiement aussi longtemps que la loi l'exige, et ne voyons pas ce que vous saisissez auprès de votre banque.",
		"de": "Sie bitten uns, diese Zahlung an Ihre Bank weiterzugeben. Ihre Bank bittet Sie um Ihre Freigabe und führt sie aus; wir geben die Zahlung so weiter, wie sie Ihnen gezeigt wird, und teilen dem Empfänger mit, was daraus wurde. Wir bewahren die Angaben zur Zahlung so lange auf, wie es das Gesetz verlangt, und sehen nicht, was Sie bei Ihrer Bank eingeben.",
		"es": "Usted nos pide que transmitamos este pago a su banco. Su banco le pide su aprobación y lo ejecuta; nosotros transmitimos el pago tal como se le muestra e informamos a quien lo recibe de su resultado. Conservamos los datos del pago durante el tiempo que exige la ley y no vemos lo que usted escribe en su banco.",
		"it": "Ci chiedi di trasmettere questo pagamento alla tua banca. La tua banca ti chiede di approvarlo e lo esegue; noi trasmettiamo il pagamento così come ti viene mostrato e informiamo chi lo riceve del suo esito. Conserviamo i dati del pagamento per il tempo richiesto dalla legge e non vediamo ciò che inserisci presso la tua banca.",
		"nl": "U vraagt ons deze betaling aan uw bank door te geven. Uw bank vraagt om uw goedkeuring en voert haar uit; wij geven de betaling door zoals ze u getoond wordt en laten degene die u betaalt weten wat ervan geworden is. Wij bewaren de gegevens van de betaling zolang de wet dat vereist en zien niet wat u bij uw bank invult.",
		"pt": "Pede-nos que transmitamos este pagamento ao seu banco. O seu banco pede a sua aprovação e executa-o; nós transmitimos o pagamento tal como lhe é mostrado e informamos quem o recebe do seu resultado. Conservamos os dados do pagamento durante o tempo exigido por lei e não vemos o que introduz junto do seu banco.",
	},
}

// Terms returns the terms in force. It prefers the requested language, then English, and then any
// language.
func (i *Initiation) Terms(ctx context.Context, d passerelle.Domain, language string) (LocalizedTerms, error) {
	current, err := i.currentTerms(ctx, d)
	if err != nil {
		return LocalizedTerms{}, err
	}
	return Localize(language, current), nil
}

func (i *Initiation) currentTerms(ctx context.Context, d passerelle.Domain) (store.Terms, error) {
	current, err := i.DB.CurrentTerms(ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return builtIn, nil
	}
	if err != nil {
		return current, fmt.Errorf("load the terms of domain %d: %w", d.ID, err)
	}
	return current, nil
}

// Localize returns the terms in the language, or in a fallback language.
func Localize(language string, t store.Terms) LocalizedTerms {
	shown := LocalizedTerms{ID: t.ID, Version: t.Version, Created: t.Created, Deleted: t.Deleted}
	for _, one := range append([]string{language, fallbackLanguage}, languages(t)...) {
		if content, there := t.Content[one]; there {
			shown.Language, shown.Content = one, content
			break
		}
	}
	return shown
}

func languages(t store.Terms) []string { return slices.Sorted(maps.Keys(t.Content)) }

// These are the limits of published terms, in characters.
const (
	maxTermsVersion = 64
	maxTermsText    = 100_000
)

var languageForm = regexp.MustCompile(`^[a-z]{2}$`)

// PublishTerms puts a version of the terms into force for the payers who accept terms from now on.
// Payments that were ordered before keep their version. The content is the text by language, such as
// "en". The act is recorded with the publication. PublishTerms fails with Invalid when the content
// is wrong or the domain already had the version.
func (i *Initiation) PublishTerms(ctx context.Context, d passerelle.Domain, version string, content map[string]string, act store.Audit) (store.Terms, error) {
	t := store.Terms{Domain: d.ID, Version: version, Content: content, Created: i.now(d)}
	if err := checkTerms(t); err != nil {
		return t, err
	}
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.PublishTerms(&t); err != nil {
			return err
		}
		act.SubjectID = t.ID
		return tx.Audit(act)
	})
	if errors.Is(err, store.ErrDuplicate) {
		return t, passerelle.InvalidField("version", "must be new; the domain already had %q", version)
	}
	if err != nil {
		return t, fmt.Errorf("publish terms of domain %d: %w", d.ID, err)
	}
	return t, nil
}

func checkTerms(t store.Terms) error {
	if err := passerelle.CheckLine("version", t.Version, maxTermsVersion); err != nil {
		return err
	}
	if version := strings.TrimSpace(t.Version); version == "" || version != t.Version || version == builtIn.Version {
		return passerelle.InvalidField("version", "must be a name such as 2027-01, without blanks around it and not %q, the version of the built-in terms", builtIn.Version)
	}
	if len(t.Content) == 0 {
		return passerelle.MissingField("text", "give the text in at least one language")
	}
	for _, language := range languages(t) {
		if err := checkTermsText(language, t.Content[language]); err != nil {
			return err
		}
	}
	return nil
}

func checkTermsText(language, text string) error {
	if !languageForm.MatchString(language) {
		return passerelle.InvalidField("text", "must name its language by two small letters (ISO 639-1), such as en")
	}
	if strings.TrimSpace(text) == "" {
		return passerelle.InvalidField("text", "must not be empty in the language %s", language)
	}
	return passerelle.CheckText("text", text, maxTermsText)
}

// AcceptedTerms returns the terms that the payer of a payment accepted. The second result is false
// when the payer accepted no terms.
func (i *Initiation) AcceptedTerms(ctx context.Context, d passerelle.Domain, p *payment.Payment, language string) (LocalizedTerms, bool, error) {
	if p.TermsVersion == "" {
		return LocalizedTerms{}, false, nil
	}
	accepted, err := i.DB.TermsOfVersion(ctx, d.ID, p.TermsVersion)
	if errors.Is(err, store.ErrNotFound) && p.TermsVersion == builtIn.Version {
		accepted, err = builtIn, nil
	}
	if err != nil {
		return LocalizedTerms{}, false, fmt.Errorf("load the terms of payment %d: %w", p.ID, err)
	}
	return Localize(language, accepted), true, nil
}

// AcceptTerms records, for a payment in state created, that the payer accepted the terms in force.
// It fails with Invalid when the argument terms is not the id of the terms in force. It fails with
// Conflict when another act on the payment is under way, or when the payment is in a later state
// and its payer has not accepted the terms.
func (i *Initiation) AcceptTerms(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, terms int64) (*payment.Payment, error) {
	s, err := i.idle(ctx, d, id)
	if err != nil {
		return nil, err
	}
	current, err := i.currentTerms(ctx, d)
	if err != nil {
		return nil, err
	}
	p := s.payment
	switch {
	case terms != current.ID:
		return nil, passerelle.InvalidField("id_terms", "the terms in force are %d", current.ID)
	case p.TermsVersion == current.Version:
		return p, nil
	case p.State != payment.Created:
		return nil, passerelle.Conflicting("The payment is %s; terms are accepted before it is validated.", p.State)
	}
	p.TermsVersion = current.Version
	return p, i.commitChoice(ctx, p, nil, nothingElse)
}
