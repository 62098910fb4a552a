package contract_test

const aroundShapes = `
Categories      categories [OneCategory]+, total int
OneCategory     id int, id_parent_category int?, name text, income bool, color str?, id_parent_category_in_menu int?, name_displayed text, refundable bool, id_user int?, id_logo int?
Categorized     transactions [any], failed any, total int
Informations    transactioninformations [Information]+, total int
Information     id int, id_transaction int, key text, value str`

// Section 6.4: what there is around transactions.
var aroundFacts = tell("6.4",
	row{fact: "GET /categories", by: "RB", call: "GET /2.0/categories", status: 200, shapes: "Categories"},
	row{fact: "GET /users/{u}/categories", by: "SW", call: "GET /2.0/users/me/categories", as: "user", status: 200, shapes: "Categories"},
	row{fact: "POST /categorize", by: "SW", call: "POST /2.0/categorize", as: "user", kind: asJSON, body: `[{"wording":"CARTE TRAIN SNCF","value":-45.13,"type":"card"}]`, status: 200, shapes: "Categorized"},
	row{fact: "POST /users/{u}/transactions/{t}/informations", by: "SW", call: "POST /2.0/users/me/transactions/{transaction}/informations", as: "user", kind: asForm, body: `project=kitchen`, status: 200, shapes: "Informations"},
	row{fact: "GET /users/{u}/transactions/{t}/informations", by: "SW", call: "GET /2.0/users/me/transactions/{transaction}/informations", as: "user", status: 200, shapes: "Informations"},
)
