package reference

import (
	"slices"
	"strings"
)

// Task has the chapters for a task that integrators do with the API.
type Task struct {
	Name     string
	Chapters []Chapter
}

// taskNames lists the tasks in the order in which an integrator usually needs them. Each task has
// the names of its chapters. These names are the first words of paths.
var taskNames = []struct{ name, chapters string }{
	{"Get tokens", "auth"},
	{"Take payments", "payments terms"},
	{"Connect users to banks", "connectors banks providers users connections webauth webauth-url files"},
	{"Read accounts and transactions", "accounts transactions transactionsclusters balances categories categorize indicators account_types account_ownerships certificate currencies"},
	{"Read investments", "investments market_orders marketorders pockets amortizations"},
	{"Read bills and documents", "subscriptions documents documenttypes"},
	{"Receive webhooks", "webhooks webhooks_events"},
	{"Try it in a sandbox", "sandbox test"},
	{"Configure a domain", "clients config admin connector_programs publickey sign-keys openapi.json"},
}

// otherTask is the name of the task for the chapters that no other task has.
const otherTask = "Other calls"

// byTask returns the chapters, grouped by task.
func byTask(chapters []Chapter) []Task {
	var tasks []Task
	taken := map[string]bool{}
	for _, t := range taskNames {
		task := Task{Name: t.name}
		for name := range strings.FieldsSeq(t.chapters) {
			if i := slices.IndexFunc(chapters, func(c Chapter) bool { return c.Name == name }); i >= 0 {
				task.Chapters, taken[name] = append(task.Chapters, chapters[i]), true
			}
		}
		tasks = append(tasks, task)
	}
	other := Task{Name: otherTask}
	for _, one := range chapters {
		if !taken[one.Name] {
			other.Chapters = append(other.Chapters, one)
		}
	}
	if len(other.Chapters) > 0 {
		tasks = append(tasks, other)
	}
	return tasks
}

// errorTexts maps an error code to its explanation, which says what to do.
var errorTexts = map[string]string{
	"invalidValue":        "A value is not valid. The message names the field and says what is allowed.",
	"missingParameter":    "A required field is missing. The message names it.",
	"invalidToken":        "The token is missing, wrong, expired or revoked. Get another one.",
	"forbidden":           "The token has the wrong kind, or lacks a scope that the call needs.",
	"notFound":            "The resource does not exist, or the token cannot reach it.",
	"conflict":            "The current state of the resource does not allow the request. With Retry-After, try again later. Otherwise, read the current state first.",
	"connectionLocked":    "The connection is being synchronised. Try again in a moment.",
	"noAccount":           "The user shares no account that fits the request.",
	"wrongpass":           "The institution refused the credentials. Ask the user for the right ones.",
	"notSupported":        "The bank or connector does not support this.",
	"payloadTooLarge":     "The request body is too large.",
	"rangeNotSatisfiable": "The file does not have the bytes that the Range header requests.",
	"rateLimited":         "Too many requests. Wait as long as Retry-After says.",
	"bug":                 "An internal error occurred. Report the request_id.",
	"maintenance":         "The service is in maintenance. Wait as long as Retry-After says.",
	"unavailable":         "The service is at its limit. Wait as long as Retry-After says.",
}
