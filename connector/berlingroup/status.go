package berlingroup

// settled is the first status by which the money has left the payer's account.
const settled = "ACSC"

// ranks order the statuses of an order that goes well: each tells at least as much as
// those before it.
var ranks = map[string]int{
	"RCVD": 1, "PDNG": 2, "PATC": 3, "ACTC": 4, "ACCP": 5, "ACFC": 6, "ACSP": 7, "ACWC": 8, "ACWP": 8, settled: 9, "ACCC": 10,
}

// rank is how much a status tells; zero for one that is unknown or a refusal.
func rank(status string) int { return ranks[status] }
