package testbank

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"passerelle/testbank/bank"
)

// notifyTimeout is how long a third party may take to receive a notification.
const notifyTimeout = 5 * time.Second

// notify sends the notifications that third parties asked for. It sends each notification only
// once.
func (p *Program) notify(ctx context.Context) {
	client := &http.Client{Timeout: notifyTimeout}
	for {
		select {
		case <-ctx.Done():
			return
		case note := <-p.notes:
			p.notifyOne(ctx, client, note)
		}
	}
}

func (p *Program) notifyOne(ctx context.Context, client *http.Client, note bank.Note) {
	if err := send(ctx, client, note); err != nil {
		p.log.Info("a third party did not receive a notification", slog.Any("error", err))
	}
}

func send(ctx context.Context, client *http.Client, note bank.Note) error {
	body := map[string]string{"paymentId": note.PaymentID, "transactionStatus": note.Status}
	if note.ConsentID != "" {
		body = map[string]string{"consentId": note.ConsentID, "consentStatus": note.Status}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, note.To, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
