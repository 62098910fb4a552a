package statementfile

import (
	"cmp"
	"regexp"
	"strings"
)

// Field 86 has no standard format. German and Polish banks write a code of three digits and
// numbered parts, Dutch banks write keywords between slashes, and others write free text.

var (
	numbered = regexp.MustCompile(`^[0-9]{3}([^0-9A-Za-z\s])[0-9]{2}`)
	slashed  = regexp.MustCompile(`/(TRTP|REMI|NAME|IBAN|BIC|EREF|CNTP|ORDP|BENM|MARF|CSID|RTRN|PREF|PURP|ULTD|ULTB|ULTC|ISDT|SVCL|CREF|KREF|OCMT|CHGS|USTD|ADDR|ACCW|ABCR|EXCH|IREF)/`)
)

// describe adds the lines of field 86 to an entry.
func describe(e *StatementEntry, text []string) {
	whole := strings.Join(text, "")
	if found := numbered.FindStringSubmatch(whole); found != nil {
		describeNumbered(e, whole[3:], found[1])
		return
	}
	if strings.HasPrefix(whole, "/") && slashed.MatchString(whole) {
		describeSlashed(e, whole)
		return
	}
	e.Wording = tidy(strings.Join(text, " "))
}

// fullPart is the width of a full part of a German text. A part of this width may end within a
// word. A shorter part never does.
const fullPart = 27

// describeNumbered reads numbered parts. ?00 is the posting text. ?20 to ?29 and ?60 to ?63 are the
// purpose. ?31 or ?38 is the counterparty's account number, and ?32 and ?33 are the counterparty's
// name.
func describeNumbered(e *StatementEntry, text, separator string) {
	var posting, purpose, name strings.Builder
	for part := range strings.SplitSeq(text, separator) {
		if len(part) < 2 {
			continue
		}
		value := part[2:]
		switch code := part[:2]; {
		case code == "00":
			posting.WriteString(value)
		case code >= "20" && code <= "29", code >= "60" && code <= "63":
			purpose.WriteString(value)
			if len([]rune(value)) < fullPart {
				purpose.WriteString(" ")
			}
		case code == "31", code == "38":
			e.Number = number(value)
		case code == "32", code == "33":
			name.WriteString(value)
		}
	}
	e.Name = tidy(name.String())
	e.Wording = sepaPurpose(e, tidy(purpose.String()))
	if e.Wording == "" {
		e.Wording = tidy(posting.String())
	}
}

// sepaTags matches the tags that begin the parts of a SEPA purpose at German banks.
var sepaTags = regexp.MustCompile(`\b(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|IBAN|BIC)[+:] ?`)

// sepaPurpose stores the reference and the account number of a purpose in the entry. It returns the
// text before the first tag and the text after the tag SVWZ. If both are empty, it returns the
// whole purpose.
func sepaPurpose(e *StatementEntry, purpose string) string {
	places := sepaTags.FindAllStringSubmatchIndex(purpose, -1)
	if len(places) == 0 {
		return purpose
	}
	wording := strings.TrimSpace(purpose[:places[0][0]])
	for i, p := range places {
		end := len(purpose)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		value := strings.TrimSpace(purpose[p[1]:end])
		switch purpose[p[2]:p[3]] {
		case "EREF":
			if ref := reference(value); ref != "" {
				e.EndToEnd = ref
			}
		case "SVWZ":
			wording = strings.TrimSpace(wording + " " + value)
		case "IBAN":
			if e.Number == "" {
				e.Number = number(value)
			}
		}
	}
	if wording == "" {
		return purpose
	}
	return wording
}

// slashedTexts holds the parts between slashes that belong to the wording.
type slashedTexts struct{ kind, remittance string }

// describeSlashed reads keywords between slashes, such as /NAME/ and /REMI/.
func describeSlashed(e *StatementEntry, text string) {
	places := slashed.FindAllStringSubmatchIndex(text, -1)
	var texts slashedTexts
	for i, p := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		value := tidy(strings.Trim(text[p[1]:max(p[1], end)], "/"))
		if take := slashedWords[text[p[2]:p[3]]]; take != nil {
			take(e, &texts, value)
		}
	}
	e.Wording = cmp.Or(texts.remittance, e.Name, texts.kind, tidy(text))
}

var slashedWords = map[string]func(e *StatementEntry, texts *slashedTexts, value string){
	"TRTP": func(_ *StatementEntry, texts *slashedTexts, value string) { texts.kind = value },
	"NAME": func(e *StatementEntry, _ *slashedTexts, value string) { e.Name = cmp.Or(e.Name, value) }, // ultimate parties follow
	"IBAN": func(e *StatementEntry, _ *slashedTexts, value string) { e.Number = number(value) },
	"EREF": func(e *StatementEntry, _ *slashedTexts, value string) {
		e.EndToEnd = cmp.Or(reference(value), e.EndToEnd)
	},
	"REMI": addSlashed, "USTD": addSlashed,
	"CNTP": func(e *StatementEntry, _ *slashedTexts, value string) {
		parts := strings.Split(value, "/")
		e.Number = number(parts[0])
		if len(parts) > 2 {
			e.Name = parts[2]
		}
	},
}

func addSlashed(_ *StatementEntry, texts *slashedTexts, value string) {
	texts.remittance = tidy(texts.remittance + " " + strings.TrimPrefix(value, "USTD//"))
}
