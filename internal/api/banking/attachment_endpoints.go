package banking

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) attachmentRoutes() []httpapi.Route {
	list, lists := everywhere("/transactions/{transactionId}/attachments")
	file, files := everywhere("/transactions/{transactionId}/attachments/{attachmentId}/file")
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: list, Aliases: lists, Needs: ofUser, Endpoint: httpapi.Handle(s.listAttachments),
			Summary: "List the attachments of a transaction", Doc: "Lists the attachments that the institution provides, oldest first, without paging.",
		},
		{
			Method: http.MethodGet, Pattern: file, Aliases: files, Needs: ofUser, Endpoint: httpapi.Handle(s.attachmentFile), Errors: []string{"rangeNotSatisfiable"},
			Summary: "Download an attachment", Doc: "Returns the file, whole or in ranges. If the service does not have the file yet, the call fetches it from the institution. Fails with 503 and Retry-After when the institution does not deliver it.",
		},
	}
}

type attachmentsInput struct {
	anyPlace
	whichTransaction
}

type listAttachmentsOutput struct {
	Attachments []wire.Attachment `json:"attachments"`
	Total       int               `json:"total"`
}

func (s *Service) listAttachments(ctx context.Context, c *httpapi.Caller, in attachmentsInput) (listAttachmentsOutput, error) {
	found, err := s.attachments(ctx, c, in)
	out := listAttachmentsOutput{Attachments: make([]wire.Attachment, len(found)), Total: len(found)}
	for i, a := range found {
		out.Attachments[i] = wire.NewAttachment(a, c.Base, c.Location)
	}
	return out, err
}

// attachments returns the attachments of the transaction in the path.
func (s *Service) attachments(ctx context.Context, c *httpapi.Caller, in attachmentsInput) ([]passerelle.Attachment, error) {
	if _, err := s.readTransaction(ctx, c, in, nil); err != nil {
		return nil, err
	}
	found, err := bankstore.From(s.DB).Attachments(ctx, c.Domain.ID, in.ID, []passerelle.TransactionID{in.Transaction})
	if err != nil {
		return nil, fmt.Errorf("list the attachments of transaction %d: %w", in.Transaction, err)
	}
	return found, nil
}

type attachmentFileInput struct {
	attachmentsInput
	Attachment passerelle.AttachmentID `path:"attachmentId"`
}

func (s *Service) attachmentFile(ctx context.Context, c *httpapi.Caller, in attachmentFileInput) (httpapi.Content, error) {
	found, err := s.attachments(ctx, c, in.attachmentsInput)
	if err != nil {
		return httpapi.Content{}, err
	}
	i := slices.IndexFunc(found, func(a passerelle.Attachment) bool { return a.ID == in.Attachment })
	if i < 0 {
		return httpapi.Content{}, passerelle.Missing()
	}
	return s.download(ctx, c, in.ID, found[i].File, found[i].Name)
}

// withAttachments embeds the attachments of each transaction, with one query.
func (s *Service) withAttachments(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, shown []wire.Transaction) error {
	place, ids := map[passerelle.TransactionID]*[]wire.Attachment{}, make([]passerelle.TransactionID, len(shown))
	for i := range shown {
		ids[i], shown[i].Attachments = passerelle.TransactionID(shown[i].ID), &[]wire.Attachment{}
		place[ids[i]] = shown[i].Attachments
	}
	found, err := bankstore.From(s.DB).Attachments(ctx, c.Domain.ID, user, ids)
	if err != nil {
		return fmt.Errorf("list the attachments of %d transactions: %w", len(ids), err)
	}
	for _, a := range found {
		of := place[a.Transaction]
		*of = append(*of, wire.NewAttachment(a, c.Base, c.Location))
	}
	return nil
}
