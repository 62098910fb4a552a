package banking

import "passerelle"

// everywhere returns the patterns of a resource below a user, a connection and an account, in long
// and short form.
func everywhere(rest string) (string, []string) {
	var aliases []string
	places := []string{"", "/accounts/{accountId}", "/connections/{connectionId}", "/connections/{connectionId}/accounts/{accountId}"}
	for _, place := range places[1:] {
		aliases = append(aliases, "/users/{userId}"+place+rest, place+rest)
	}
	return "/users/{userId}" + rest, append(aliases, rest)
}

// anyPlace identifies the user in a path, and the connection and account if the path names them.
type anyPlace struct {
	oneUserInput
	Connection passerelle.ConnectionID `path:"connectionId,optional"`
	Account    passerelle.AccountID    `path:"accountId,optional"`
}

func (in anyPlace) place() transactionPlace {
	return transactionPlace{user: in.ID, connection: in.Connection, account: in.Account}
}
