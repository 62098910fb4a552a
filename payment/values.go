package payment

// The Values methods list the possible values of this package's types, in the order in which
// messages and the API document show them.

// Values lists the states of a payment.
func (State) Values() []string { return words(States()) }

// Values lists the state details.
func (Detail) Values() []string { return words([]Detail{Cancelling}) }

// Values lists the actions.
func (Action) Values() []string {
	return words([]Action{Redirect, Decoupled, FillFields, Confirm, PSUValidation})
}

// Values lists the error codes.
func (ErrorCode) Values() []string { return words(ErrorCodes()) }

// Values lists the execution date types.
func (DateType) Values() []string { return words(DateTypes()) }

// Values lists the frequencies.
func (Frequency) Values() []string { return words(Frequencies()) }

// Values lists the states of an instruction.
func (InstructionState) Values() []string {
	return words([]InstructionState{InstructionPending, InstructionRejected, InstructionDone, InstructionAccepted})
}

// Values lists the statuses of an order.
func (Status) Values() []string { return words([]Status{Awaiting, Processing, Settled, Declined}) }

// Values lists the statuses of a cancellation.
func (Cancellation) Values() []string {
	return words([]Cancellation{CancellationAwaiting, CancellationGranted, CancellationRefused})
}

// Values lists the ways in which a connector treats the payer's account.
func (PayerAccount) Values() []string {
	return words([]PayerAccount{PayerNotUsed, PayerOptional, PayerMandatory})
}

// FieldTypes lists the types of a field.
func FieldTypes() []string { return []string{"text", "list"} }

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return out
}
