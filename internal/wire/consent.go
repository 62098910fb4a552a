package wire

// Consent describes what a user agreed to share, and until when.
type Consent struct {
	ID             int64   `json:"id"`
	IDUser         int64   `json:"id_user"`
	IDConnection   int64   `json:"id_connection" doc:"the connection, which may have been deleted since"`
	IDAccount      *int64  `json:"id_account" doc:"the account that was shared"`
	IDSubscription *int64  `json:"id_subscription" doc:"the subscription that was shared"`
	TextVersion    string  `json:"text_version" doc:"version of the text that was agreed to"`
	Origin         string  `json:"origin" doc:"where the consent was given: api or webview"`
	Granted        string  `json:"given"`
	Withdrawn      *string `json:"withdrawn" doc:"when the consent ended; null while it is in force"`
}
