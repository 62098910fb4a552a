package berlingroup

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"passerelle/payment"
)

// stepActions maps steps to the payer's action. The connector does all other steps itself.
var stepActions = map[step]payment.Action{
	atPage: payment.Redirect, atServer: payment.Redirect, inApp: payment.Decoupled,
	atIdentification: payment.FillFields, atPassword: payment.FillFields, atAdditional: payment.FillFields, atMethod: payment.FillFields, atCode: payment.FillFields,
}

// action returns the action of the payer or the client, or "" when the connector acts.
func (v *ordering) action(a *authorisation) payment.Action {
	action := stepActions[a.Step]
	switch {
	case action == payment.Redirect && v.toConfirm(a):
		return payment.Confirm
	case action == payment.Redirect && a.Page == "":
		return ""
	}
	return action
}

// show adds the payer's action to a report.
func (v *ordering) show(report *payment.Report, a *authorisation) {
	report.Action = v.action(a)
	report.Description = cmp.Or(report.Description, a.Message)
	switch {
	case report.Action == payment.Redirect:
		report.ValidateURI = a.Page
	case report.Action == payment.FillFields:
		report.Fields = a.fields(v.profile.Name, v.Fields[psuIDField])
	case report.Action == "" && a.Step != failed && !v.forsaken():
		report.CheckAfter = shortly
	}
}

// fields returns the fields that the customer has to fill in at the step. The form for the password
// also asks for the user name if the connector does not know the name.
func (a *authorisation) fields(bank, name string) []payment.Field {
	var asked []payment.Field
	if a.Step == atIdentification || a.Step == atPassword && cmp.Or(a.Person, name) == "" {
		asked = append(asked, payment.Field{Name: psuIDField, Type: "text", Label: "User name at " + bank, Required: true, Regex: oneLine})
	}
	switch {
	case a.Step == atPassword:
		asked = append(asked, payment.Field{Name: passwordField, Type: "text", Label: "Password at " + bank, Required: true})
	case a.Step == atAdditional:
		asked = append(asked, payment.Field{Name: additionalField, Type: "text", Label: "Second password at " + bank, Required: true})
	case a.Step == atMethod:
		asked = append(asked, a.methodField())
	case a.Step == atCode:
		asked = append(asked, a.Challenge.field())
	}
	for i := range asked {
		asked[i].Further = a.Further
	}
	return asked
}

// methodField returns the field in which the customer chooses how to receive a code.
func (a *authorisation) methodField() payment.Field {
	field := payment.Field{Name: methodField, Type: "list", Label: "How to get a code", Required: true}
	for _, m := range a.Methods {
		label := cmp.Or(m.Name, m.Type, m.ID)
		if m.Explanation != "" {
			label += " (" + m.Explanation + ")"
		}
		field.Values = append(field.Values, payment.FieldValue{Label: label, Value: m.ID})
	}
	return field
}

// maxCode limits the length of a code when the bank sets no limit or a higher one.
const maxCode = 100

// field returns the field for a code, with all data of the challenge.
func (c *challenge) field() payment.Field {
	if c == nil {
		c = &challenge{}
	}
	characters := "."
	if strings.EqualFold(c.Format, "integer") {
		characters = "[0-9]"
	}
	length := c.MaxLength
	if length <= 0 || length > maxCode {
		length = maxCode
	}
	label := strings.TrimSpace(strings.Join(append([]string{c.Information}, c.Data...), " "))
	return payment.Field{
		Name: codeField, Type: "text", Label: cmp.Or(label, "Code"), Required: true, Regex: fmt.Sprintf("^%s{1,%d}$", characters, length),
		Image: c.picture(),
	}
}

// picture returns the image of the challenge as a data URL, or "" without an image.
func (c *challenge) picture() string {
	if len(c.Image) == 0 {
		return ""
	}
	return "data:" + http.DetectContentType(c.Image) + ";base64," + base64.StdEncoding.EncodeToString(c.Image)
}
