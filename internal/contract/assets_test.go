package contract_test

const assetShapes = `
Balances        balances [Period]+, first_date date?, last_date date?, result_min_date date, result_max_date date, total int
Period          min_date date, max_date date, currencies [Sums], n_overdraft int, balance num?, expenses num?, incomes num?, remains num?, daily_balances [Day]+
Sums            id text, symbol text, balance num?, expenses num, incomes num, remains num
Day             date date, balance num?, expenses num?, incomes num?, remains num?
Investments     investments [Investment]+, valuation num?, diff num?, diff_percent num?, prev_diff num?, prev_diff_percent num?, calculated [str]
Investment      id int, id_account int, label text, code str?, code_type str?, source str?, description str?, stock_symbol str?, stock_market str?, quantity num?, unitprice num?, unitvalue num?
                valuation num?, diff num?, diff_percent num?, prev_diff num?, prev_diff_percent num?, prev_vdate date?, vdate date?, portfolio_share num?, calculated [str], deleted time?, last_update time?
                original_currency Currency?, original_diff num?, original_unitprice num?, original_unitvalue num?, original_valuation num?
Detailed.List   investments [Detailed]+
Detailed        details obj
InvestmentValues investmentvalues [any], total int
MarketOrders    marketorders [MarketOrder]+, total int
MarketOrder     id int, id_account int, number str?, label text, code str?, webid str, order_direction Direction?, order_type OrderType, state str?, payment_method (CASH|DEFERRED|UNKNOWN), stock_market str?, stock_symbol str?
                quantity num?, amount num?, ordervalue num?, unitprice num?, unitvalue num?, date time?, validity_date time?, execution_date time?, created time, deleted time?, last_update time
Direction       id int, name (BUY|SALE)
OrderType       id int, name (MARKET|LIMIT|TRIGGER|UNKNOWN)
Pockets         pockets [Pocket]+, total int
Pocket          id int, id_investment int, id_account int, label text, quantity num?, value num, condition (available|date|retirement|unknown), availability_date date?, deleted time?, last_update time
Amortizations   loanamortizations [Amortization]+, total int
Amortization    id int, id_account int, payment_date date?, period int?, amortization_amount Sum?, interest_amount Sum?, insurance_amount Sum?, total_payment_amount Sum?, remaining_capital Sum?, calculated [str], deleted time?, last_update time
Sum             currency text, value num
Indicators      id_user int, indicators any`

// balanceFacts are requests for balances (section 5.4 of the fact list).
var balanceFacts = ofSection("5.4",
	row{fact: "GET /users/{u}/balances", by: "PYP", call: "GET /2.0/users/me/balances", as: "user", status: 200, shapes: "Balances"},
	row{fact: "GET /users/{u}/balances with dates and period", by: "SW", call: "GET /2.0/users/me/balances?min_date=2026-09-01&max_date=2026-11-20&period=1month", as: "user", status: 200, shapes: "Balances"},
	row{fact: "GET /users/{u}/accounts/{a}/balances", by: "D", call: "GET /2.0/users/me/accounts/{account}/balances", as: "user", status: 200, shapes: "Balances"},
	row{fact: "GET /users/{u}/connections/{c}/balances", by: "D", call: "GET /2.0/users/me/connections/{connection}/balances?period=15days", as: "user", status: 200, shapes: "Balances"},
)

// assetFacts are requests for assets, such as investments (section 5.6 of the fact list).
var assetFacts = ofSection("5.6",
	row{fact: "GET /users/{u}/investments", by: "PYP", call: "GET /2.0/users/me/investments", as: "Bearer {wealth token}", status: 200, shapes: "Investments"},
	row{fact: "GET /users/{u}/investments?expand=details", by: "D", call: "GET /2.0/users/me/investments?expand=details", as: "Bearer {wealth token}", status: 200, shapes: "Investments Detailed.List"},
	row{fact: "GET /users/{u}/accounts/{a}/investments", by: "RB", call: "GET /2.0/users/me/accounts/{wealth account}/investments", as: "Bearer {wealth token}", status: 200, shapes: "Investments"},
	row{fact: "GET /users/{u}/connections/{c}/investments", by: "D", call: "GET /2.0/users/me/connections/{wealth connection}/investments", as: "Bearer {wealth token}", status: 200, shapes: "Investments"},
	row{fact: "GET /users/{u}/investments/{i}", by: "D", call: "GET /2.0/users/me/investments/{investment}", as: "Bearer {wealth token}", status: 200, shapes: "Investment"},
	row{fact: "GET /users/{u}/investments/{i}/history", by: "D", call: "GET /2.0/users/me/investments/{investment}/history", as: "Bearer {wealth token}", status: 200, shapes: "InvestmentValues"},
	row{fact: "GET /users/{u}/marketorders", by: "D", call: "GET /2.0/users/me/marketorders", as: "Bearer {wealth token}", status: 200, shapes: "MarketOrders"},
	row{fact: "GET /users/{u}/accounts/{a}/marketorders", by: "D", call: "GET /2.0/users/me/accounts/{wealth account}/marketorders", as: "Bearer {wealth token}", status: 200, shapes: "MarketOrders"},
	row{fact: "GET /users/{u}/market_orders", by: "RB", call: "GET /2.0/users/me/market_orders", as: "Bearer {wealth token}", status: 200, shapes: "MarketOrders"},
	row{fact: "GET /users/{u}/connections/{c}/marketorders", by: "D", call: "GET /2.0/users/me/connections/{wealth connection}/marketorders", as: "Bearer {wealth token}", status: 200, shapes: "MarketOrders"},
	row{fact: "GET /users/{u}/connections/{c}/pockets", by: "D", call: "GET /2.0/users/me/connections/{wealth connection}/pockets", as: "Bearer {wealth token}", status: 200, shapes: "Pockets"},
	row{fact: "GET /users/{u}/connections/{c}/amortizations", by: "D", call: "GET /2.0/users/me/connections/{wealth connection}/amortizations", as: "Bearer {wealth token}", status: 200, shapes: "Amortizations"},
	row{fact: "GET /users/{u}/pockets", by: "D", call: "GET /2.0/users/me/pockets", as: "Bearer {wealth token}", status: 200, shapes: "Pockets"},
	row{fact: "GET /users/{u}/amortizations", by: "D", call: "GET /2.0/users/me/amortizations?limit=10", as: "Bearer {wealth token}", status: 200, shapes: "Amortizations"},
	row{fact: "GET /users/{u}/indicators", by: "PYP", call: "GET /2.0/users/me/indicators", as: "user", status: 200, shapes: "Indicators"},
)
