package banking

import "passerelle"

// everywhere are the patterns of a resource that a user has, and each of their
// connections and accounts, written at length and in short.
func everywhere(rest string) (string, []string) {
	var aliases []string
	places := []string{"", "/accounts/{accountId}", "/connections/{connectionId}", "/connections/{connectionId}/accounts/{accountId}"}
	for _, place := range places[1:] {
		aliases = append(aliases, "/users/{userId}"+place+rest, place+rest)
	}
	return "/users/{userId}" + rest, append(aliases, rest)
}

// anyPlace is where a user's objects are: all of them, of a connection or of an account.
type anyPlace struct {
	oneUserInput
	Connection passerelle.ConnectionID `path:"connectionId,optional"`
	Account    passerelle.AccountID    `path:"accountId,optional"`
}

func (in anyPlace) place() transactionPlace {
	return transactionPlace{user: in.ID, connection: in.Connection, account: in.Account}
}
