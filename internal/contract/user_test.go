package contract_test

const userShapes = `
User      id int, signin time, platform (web|iPad|iPhone|Android|CAstore|requestAccess|sharedAccess|transfer|refresh_token)
Users     users [User]+, total int
Config    name? str`

// userFacts are requests for users (section 2 of the fact list).
var userFacts = ofSection("2",
	row{fact: "GET /users", by: "D", call: "GET /2.0/users", as: "users", status: 200, shapes: "Users"},
	row{fact: "GET /users by pages", by: "PYP", call: "GET /2.0/users?limit=100&offset=0", as: "users", status: 200, shapes: "Users"},
	row{fact: "GET /users/me", by: "D", call: "GET /2.0/users/me", as: "user", status: 200, shapes: "User", says: []string{`"id":{user},`}},
	row{fact: "GET /users/{id}", by: "D", call: "GET /2.0/users/{user}", as: "user", status: 200, shapes: "User"},
	row{fact: "GET /users/{id} with a users token", by: "D", call: "GET /2.0/users/{user}", as: "users", status: 200, shapes: "User"},
	row{fact: "GET /users/{id} of another", by: "D", call: "GET /2.0/users/{new user}", as: "user", status: 404, shapes: "Error", says: []string{`"notFound"`}},
	row{fact: "DELETE /users/me", by: "D", call: "DELETE /2.0/users/me", as: "Bearer {new user token}", status: 204},
	row{fact: "DELETE /users/{id}", by: "FORM", call: "DELETE /2.0/users/{new user}", as: "users", status: 204},
	row{fact: "POST /users/{u}/config", by: "SW", call: "POST /2.0/users/me/config", as: "user", kind: asForm, body: `name=Anna&city=Paris`, status: 200, shapes: "Config", says: []string{`"name":"Anna"`}},
	row{fact: "GET /users/{u}/config", by: "SW", call: "GET /2.0/users/me/config", as: "user", status: 200, shapes: "Config", says: []string{`"city":"Paris"`}},
	row{fact: "GET /users/{u}/export", by: "ours", call: "GET /2.0/users/me/export", as: "user", status: 200, gives: "application/zip"},
	row{fact: "DELETE /users/{u}/config", by: "SW", call: "DELETE /2.0/users/me/config?keys=city", as: "user", status: 204},
)
