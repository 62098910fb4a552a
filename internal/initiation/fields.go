package initiation

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/payment"
)

// maxFieldValue is the longest value of a payment field, in characters.
const maxFieldValue = 1000

// given are the field values given now or, without any, those given before.
// Plain text is for sandboxes and for domains that allow it.
func (i *Initiation) given(ctx context.Context, d passerelle.Domain, p *payment.Payment, now map[string]string) (map[string]string, error) {
	if now == nil {
		before, err := i.DB.GivenFields(ctx, d.ID, p.ID)
		if err != nil {
			return nil, fmt.Errorf("load the field values of payment %d: %w", p.ID, err)
		}
		return before, nil
	}
	if d.Kind == passerelle.Sandbox || len(now) == 0 {
		return now, nil
	}
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	if !values.On(settings.PlainFields) {
		return nil, passerelle.InvalidField("fields", "this domain does not take field values in plain text")
	}
	return now, nil
}

// takeFields checks the values of a connector's fields. Others are dropped:
// what the bank has no use for is not kept either.
func takeFields(fields []payment.Field, given map[string]string) (map[string]string, error) {
	taken := map[string]string{}
	for _, field := range fields {
		path, value := "fields."+field.Name, given[field.Name]
		if value == "" && field.Required {
			return nil, passerelle.MissingField(path, field.Label)
		}
		if value == "" {
			continue
		}
		if err := checkField(path, field, value); err != nil {
			return nil, err
		}
		taken[field.Name] = value
	}
	return taken, nil
}

// checkField never repeats the value, which may be a secret.
func checkField(path string, field payment.Field, value string) error {
	if err := passerelle.CheckText(path, value, maxFieldValue); err != nil {
		return err
	}
	known := func(v payment.FieldValue) bool { return v.Value == value }
	switch {
	case field.Type == "list" && !slices.ContainsFunc(field.Values, known):
		return passerelle.InvalidField(path, "must be one of %q", choices(field))
	case !fits(field.Regex, value):
		return passerelle.InvalidField(path, "must match %s", field.Regex)
	}
	return nil
}

// fits compares a value with a pattern. One in words that only Perl's engine
// knows is left to the bank.
func fits(pattern, value string) bool {
	compiled, err := regexp.Compile(pattern)
	return err != nil || compiled.MatchString(value)
}

func choices(field payment.Field) []string {
	var values []string
	for _, v := range field.Values {
		values = append(values, v.Value)
	}
	return values
}
