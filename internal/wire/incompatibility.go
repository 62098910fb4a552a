package wire

import (
	"reflect"

	"passerelle/payment"
)

// Incompatibility lists the rules of a connector that a payment breaks. Reasons is empty when only
// a label is too long.
type Incompatibility struct {
	Type          payment.Severity `json:"type" doc:"incompatible when at least one reason is, or a label is longer than the connector accepts"`
	Reasons       []Reason         `json:"reasons" doc:"all reasons; none when only a label is too long, because no code exists for that"`
	ConnectorUUID string           `json:"connector_uuid"`
	IDConnector   int64            `json:"id_connector" doc:"deprecated, see connector_uuid"`
}

// Reason is one rule of a connector that a payment breaks.
type Reason struct {
	Code           string           `json:"code"`
	Type           payment.Severity `json:"type" doc:"incompatible rules the connector out, warning does not"`
	Description    string           `json:"description"`
	ValueConnector any              `json:"value_connector" doc:"the connector's value in the comparison"`
	ValuePayment   any              `json:"value_payment" doc:"the payment's value in the comparison"`
}

// NewIncompatibility renders the rules of a connector that a payment breaks.
func NewIncompatibility(uuid string, id int64, severity payment.Severity, reasons []payment.Reason) Incompatibility {
	out := Incompatibility{Type: severity, ConnectorUUID: uuid, IDConnector: id, Reasons: make([]Reason, len(reasons))}
	for i, r := range reasons {
		out.Reasons[i] = Reason{
			Code: r.Code, Type: r.Severity, Description: r.Description,
			ValueConnector: shownSide(r.ConnectorValue), ValuePayment: shownSide(r.PaymentValue),
		}
	}
	return out
}

// shownSide returns one side of a comparison. It returns an empty list instead of a nil list.
func shownSide(side any) any {
	if v := reflect.ValueOf(side); v.Kind() == reflect.Slice && v.IsNil() {
		return []string{}
	}
	return side
}
