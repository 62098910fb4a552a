package wire

import (
	"fmt"
	"time"

	"passerelle"
)

// Attachment is a file that an institution stores with a transaction.
type Attachment struct {
	ID              int64   `json:"id"`
	Name            string  `json:"name"`
	Description     *string `json:"description"`
	MimeType        string  `json:"mime_type"`
	Size            *int64  `json:"size" doc:"in bytes; null until the file has been fetched from the institution"`
	CreatedDate     string  `json:"created_date"`
	CreatedDatetime string  `json:"created_datetime"`
	LastUpdate      string  `json:"last_update"`
	URL             string  `json:"url" doc:"address of the file"`
}

// NewAttachment renders an attachment with times in the zone. The address of its file begins with
// base.
func NewAttachment(a passerelle.Attachment, base string, zone *time.Location) Attachment {
	out := Attachment{
		ID: int64(a.ID), Name: a.Name, Description: optional(a.Description), MimeType: a.MediaType, CreatedDate: passerelle.DateOf(a.Created, zone).String(),
		CreatedDatetime: passerelle.FormatDateTime(a.Created, zone), LastUpdate: passerelle.FormatDateTime(a.LastUpdate, zone),
		URL: fmt.Sprintf("%s/users/%d/transactions/%d/attachments/%d/file", base, a.User, a.Transaction, a.ID),
	}
	if a.Stored != nil {
		out.Size = &a.Size
	}
	return out
}

// FoundAttachments is the body of TRANSACTION_ATTACHMENTS_FOUND.
type FoundAttachments struct {
	IDConnection  int64        `json:"id_connection"`
	IDAccount     int64        `json:"id_account"`
	IDTransaction int64        `json:"id_transaction"`
	Attachments   []Attachment `json:"attachments"`
}
