package contract_test

const aroundShapes = `
Categories      categories [OneCategory]+, total int
OneCategory     id int, id_parent_category int?, name text, income bool, color str?, id_parent_category_in_menu int?, name_displayed text, refundable bool, id_user int?, id_logo int?
Categorized     transactions [any], failed any, total int
Informations    transactioninformations [Information]+, total int
Information     id int, id_transaction int, key text, value str
Attachments     attachments [Attachment]+, total int
Attachment      id int, name text, description str?, mime_type text, size int?, created_date date, created_datetime time, last_update time, url url
Attached        attachments [Attachment]+
Clusters        transactionsclusters [Cluster]+, total int
Cluster         id int, id_account int, mean_amount num, median_increment int?, enabled bool, next_date date?, wording text, id_category int, created_by (clustering|user)`

// aroundFacts are requests for data around transactions, such as categories (section 6.4 of the
// fact list).
var aroundFacts = ofSection("6.4",
	row{fact: "POST /users/{u}/categories", by: "SW", call: "POST /2.0/users/me/categories", as: "user", kind: asForm, body: `name=Boats&color=0088ff`, status: 200, shapes: "OneCategory"},
	row{fact: "PUT /users/{u}/categories/{id}", by: "SW", call: "PUT /2.0/users/me/categories/{group}", as: "user", kind: asForm, body: `name=Rowing`, status: 200, shapes: "OneCategory"},
	row{fact: "DELETE /users/{u}/categories/{id}", by: "SW", call: "DELETE /2.0/users/me/categories/{new group}", as: "user", status: 204},
	row{fact: "GET /categories", by: "RB", call: "GET /2.0/categories", status: 200, shapes: "Categories"},
	row{fact: "GET /users/{u}/categories", by: "SW", call: "GET /2.0/users/me/categories", as: "user", status: 200, shapes: "Categories"},
	row{fact: "POST /categorize", by: "SW", call: "POST /2.0/categorize", as: "user", kind: asJSON, body: `[{"wording":"CARTE TRAIN SNCF","value":-45.13,"type":"card"}]`, status: 200, shapes: "Categorized"},
	row{fact: "POST /users/{u}/transactions/{t}/informations", by: "SW", call: "POST /2.0/users/me/transactions/{transaction}/informations", as: "user", kind: asForm, body: `project=kitchen`, status: 200, shapes: "Informations"},
	row{fact: "GET /users/{u}/transactions/{t}/informations", by: "SW", call: "GET /2.0/users/me/transactions/{transaction}/informations", as: "user", status: 200, shapes: "Informations"},
	row{fact: "GET /users/{u}/transactions/{t}/attachments", by: "PYP", call: "GET /2.0/users/me/transactions/{receipted}/attachments", as: "Bearer {receipt token}", status: 200, shapes: "Attachments"},
	row{fact: "GET /users/{u}/transactions/{t}?expand=attachments", by: "D", call: "GET /2.0/users/me/transactions/{receipted}?expand=attachments", as: "Bearer {receipt token}", status: 200, shapes: "Transaction Attached"},
	row{fact: "the file of an attachment", by: "D", call: "GET /2.0/users/me/transactions/{receipted}/attachments/{receipt}/file", as: "Bearer {receipt token}", status: 200, gives: "application/pdf"},
	row{fact: "GET /users/{u}/transactionsclusters", by: "SW", call: "GET /2.0/users/me/transactionsclusters", as: "user", status: 200, shapes: "Clusters"},
	row{fact: "GET /users/{u}/transactionsclusters/{c}", by: "CYP", call: "GET /2.0/users/me/transactionsclusters/{cluster}", as: "user", status: 200, shapes: "Cluster"},
	row{fact: "POST /users/{u}/transactionsclusters", by: "SW", call: "POST /2.0/users/me/transactionsclusters", as: "user", kind: asForm, body: `id_account={account}&mean_amount=-12.5&median_increment=30&next_date=2026-12-01&wording=Gym&id_category=9998&enabled=1`, status: 200, shapes: "Cluster", says: []string{`"created_by":"user"`}},
	row{fact: "PUT /users/{u}/transactionsclusters/{c}", by: "SW", call: "PUT /2.0/users/me/transactionsclusters/{cluster}", as: "user", kind: asJSON, body: `{"enabled":true}`, status: 200, shapes: "Cluster", says: []string{`"enabled":true`}},
	row{fact: "DELETE /users/{u}/transactionsclusters/{c}", by: "SW", call: "DELETE /2.0/users/me/transactionsclusters/{cluster}", as: "user", status: 204},
	row{fact: "DELETE /users/{u}/transactions/{t}/informations", by: "SW", call: "DELETE /2.0/users/me/transactions/{transaction}/informations", as: "user", status: 204},
)
