package console

import (
	"encoding/csv"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/exports"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// filePage is the number of payments of a file that are in memory at the same time.
const filePage = 100

// The audit log has these names for acts that export payments.
const (
	actExport      = "export payments"
	actExportWhole = "export personal data"
)

// sendPayments sends a list as a file with one line for each instruction. If whole is true, the
// file contains the names and account numbers that pages mask.
func (c *Console) sendPayments(pc *page.Context, list listing, whole bool) error {
	act := actExport
	if whole {
		if !pc.MayReveal() {
			return page.ErrForbidden
		}
		act = actExportWhole
	}
	rows, err := exports.Begin(pc, c.filePart(pc, list, nil))
	if err == nil {
		err = pc.RecordNow(act, "", 0)
	}
	if err != nil {
		return err
	}
	web.Download(pc.Writer, "text/csv; charset=utf-8", fmt.Sprintf("payments-%s.csv", pc.Now().In(pc.Zone).Format("2006-01-02-150405")))
	if err := c.writePayments(pc, list, rows, whole); err != nil {
		if pc.Err() == nil {
			c.Log.LogAttrs(pc, slog.LevelError, "a file of payments broke off", slog.String("request_id", c.RequestID(pc)), slog.Any("error", err))
		}
		panic(http.ErrAbortHandler) // otherwise an operator could mistake a part for the whole file
	}
	return nil
}

// filePart returns the query for the payments of a file after a place, which is nil at first.
func (c *Console) filePart(pc *page.Context, list listing, after []any) func() ([]store.Listed, error) {
	window := store.Window{Order: list.order, Descending: !list.byLabel(), From: after, Limit: filePage}
	return func() ([]store.Listed, error) { return c.DB.Payments(pc, list.PaymentFilter, window, false) }
}

var fileHeader = []string{
	"payment", "registered", "validated", "state", "error code", "connector", "application", "bank's reference", "execution", "payer's account",
	"line", "end-to-end id", "amount", "currency", "label", "beneficiary", "beneficiary's account", "line state", "line error",
}

// writePayments writes a file. The argument rows is the first part of the list.
func (c *Console) writePayments(pc *page.Context, list listing, rows []store.Listed, whole bool) error {
	file, flush := csv.NewWriter(pc.Writer), http.NewResponseController(pc.Writer)
	if err := file.Write(fileHeader); err != nil {
		return err
	}
	for {
		for _, row := range rows {
			if err := c.writeLines(pc, file, row.Payment, whole); err != nil {
				return err
			}
		}
		file.Flush()
		err := file.Error()
		if err != nil || len(rows) < filePage {
			return err
		}
		_ = flush.Flush() // when flushing fails, the browser only shows the progress later
		if rows, err = exports.InTurn(pc, c.filePart(pc, list, rows[len(rows)-1].Place)); err != nil {
			return err
		}
	}
}

func (c *Console) writeLines(pc *page.Context, file *csv.Writer, p *payment.Payment, whole bool) error {
	validated, payer := "", ""
	if p.Validated != nil {
		validated = passerelle.FormatDateTime(*p.Validated, pc.Zone)
	}
	if p.Payer != nil {
		payer = accountText(*p.Payer, whole)
	}
	shared := []string{
		strconv.FormatInt(int64(p.ID), 10), passerelle.FormatDateTime(p.Created, pc.Zone), validated, string(p.State), string(p.ErrorCode),
		c.connectorName(p.Connector), strconv.FormatInt(int64(p.Client), 10), p.BankPaymentID, string(p.DateType()), payer,
	}
	for i := range p.Instructions {
		in := &p.Instructions[i]
		line := append(shared[:len(shared):len(shared)], strconv.Itoa(i+1), in.ReferenceID, in.Amount.Decimal(), string(in.Amount.Currency),
			nameText(pc, in.Label, whole), nameText(pc, in.Beneficiary.Label, whole), accountText(in.Beneficiary, whole), string(in.State), string(in.ErrorCode))
		for n := range line {
			line[n] = passerelle.InertCell(line[n])
		}
		if err := file.Write(line); err != nil {
			return err
		}
	}
	return nil
}
