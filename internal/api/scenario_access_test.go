package api_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/access"
	"passerelle/internal/api"
	"passerelle/internal/httpapi"
	"passerelle/internal/servicetest"
)

// grants lists the status of each call that needs a token, with each token. The table repeats the
// rules of the routes, so that a test notices a mistake in the routes. The columns after the call
// are:
//
//	service     a service token with one of the scopes admin, read-only,
//	            allow-sensitive, validate, cancel
//	own         a token for the payment of the call, with one of the scopes
//	            read-only, allow-sensitive, validate, cancel
//	another's   a token for another payment, with one of the same four scopes
//	config, users, user, code    tokens of the other kinds
//	deployment                   a config token with access to the data that all domains share
const grants = `
GET    /auth/token/code                  403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /auth/token/code                  403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /auth/token                       204 204 204 204 204 | 204 204 204 204 | 204 204 204 204 | 204 204 204 204 204
GET    /users                            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 403 403 403
GET    /users/{userId}                   403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
DELETE /users/{userId}                   403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 204 204 403 403
GET    /users/{userId}/config            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
POST   /users/{userId}/config            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
PUT    /users/{userId}/config            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
DELETE /users/{userId}/config            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 204 204 403 403
GET    /users/{userId}/export 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
GET    /users/{userId}/consents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 200 200 403 403
POST   /users/{userId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/subscriptions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/subscriptions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/account_types/{typeId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/terms 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId}/sources 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId}/logs 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId}/categories 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/balances 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/investments 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/investments/{assetId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/investments/{assetId}/history 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/marketorders 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/marketorders/{assetId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/pockets 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/pockets/{assetId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/amortizations 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/indicators 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/categories 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/categories 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/categories/{categoryId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/categories/{categoryId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/categories/{categoryId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/categories/{categoryId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
POST   /categorize 200 200 200 200 200 | 200 200 200 200 | 200 200 200 200 | 200 200 200 200 200
GET    /users/{userId}/transactions/{transactionId}/informations 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/transactions/{transactionId}/informations 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/transactions/{transactionId}/informations 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/accounts/{accountId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/accounts/{accountId}/transactions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
POST   /users/{userId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/logs 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/transactions/{transactionId}/informations 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/transactions/{transactionId}/informations/{informationId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/transactions/{transactionId}/informations/{informationId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/connections/{connectionId}/owner_identity 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactionsclusters 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/transactionsclusters 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactionsclusters/{clusterId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/transactionsclusters/{clusterId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/transactionsclusters/{clusterId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/transactionsclusters/{clusterId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/subscriptions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/subscriptions 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/subscriptions/{subscriptionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/subscriptions/{subscriptionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/subscriptions/{subscriptionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/subscriptions/{subscriptionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/documents/{documentId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/documents/{documentId}/file 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/documents/{documentId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/documents/{documentId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactions/{transactionId}/attachments 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/transactions/{transactionId}/attachments/{attachmentId}/file 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 404 403 403
GET    /users/{userId}/transactions/{transactionId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/transactions/{transactionId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/transactions/{transactionId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/transactions/{transactionId}/documents 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/transactions/{transactionId}/documents/{documentId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/transactions/{transactionId}/documents/{documentId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/documents/{documentId}/thumbnail 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /documenttypes/{typeId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /documenttypes/{typeId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /users/{userId}/accounts/{accountId}/statement 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 409 403 403
GET    /users/{userId}/connections/{connectionId}/account_ownership_certificate 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/connections 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/connections/{connectionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/connections/{connectionId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/connections/{connectionId}/sources 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/sources/{sourceId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId}/files 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 409 403 403
POST   /users/{userId}/connections/{connectionId}/sources/{sourceId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId}/sources/{sourceId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/logs 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PATCH  /connectors 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /connectors/{connectorId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /connectors/{connectorId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /connectors/{connectorId}/sources/{sourceId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /connectors/{connectorId}/sources/{sourceId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /webauth-url 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/account_types 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /users/{userId}/connections/{connectionId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
POST   /users/{userId}/connections/{connectionId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
PUT    /users/{userId}/connections/{connectionId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
DELETE /users/{userId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
DELETE /users/{userId}/connections/{connectionId}/accounts 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
DELETE /users/{userId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
DELETE /users/{userId}/connections/{connectionId}/accounts/{accountId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 204 403 403
GET    /users/{userId}/account_ownerships 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /clients                          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /clients                          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /clients/{clientId}               403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 200 403 200
POST   /clients/{clientId}               403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /clients/{clientId}               403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /clients/{clientId}               403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
POST   /clients/{clientId}/logo          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /clients/{clientId}/logo          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
GET    /payments                         200 200 200 200 200 | 200 200 200 200 | 200 200 200 200 | 403 403 403 403 403
POST   /payments                         200 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 403
GET    /payments/{paymentId}             200 200 200 200 200 | 200 200 200 200 | 404 404 404 404 | 403 403 403 403 403
POST   /payments/{paymentId}             200 403 403 200 403 | 403 403 200 403 | 403 403 404 403 | 403 403 403 403 403
PUT    /payments/{paymentId}             200 403 403 200 403 | 403 403 200 403 | 403 403 404 403 | 403 403 403 403 403
GET    /payments/{paymentId}/incompatibilities 200 200 200 200 200 | 200 200 200 200 | 404 404 404 404 | 403 403 403 403 403
GET    /payments/{paymentId}/terms       200 200 200 200 200 | 200 200 200 200 | 404 404 404 404 | 403 403 403 403 403
POST   /payments/{paymentId}/terms       200 403 403 200 403 | 403 403 200 403 | 403 403 404 403 | 403 403 403 403 403
POST   /payments/{paymentId}/scopedtoken 200 403 403 200 403 | 403 403 200 403 | 403 403 404 403 | 403 403 403 403 403
GET    /webhooks/auth                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/auth                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks/auth                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
GET    /webhooks/auth/{authId}           403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/auth/{authId}           403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /webhooks/auth/{authId}           403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks/auth/{authId}           403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
POST   /webhooks/auth/{authId}/rotate    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /config                          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /config                          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /config                          403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /config/logs                     403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /webhooks_events                  200 200 200 200 200 | 200 200 200 200 | 200 200 200 200 | 200 200 200 200 200
GET    /webhooks                         403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks                         403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks                        403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
GET    /webhooks/{webhookId}            403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /webhooks/{webhookId}/data       403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /webhooks/{webhookId}/logs       403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /webhooks/{webhookId}/add_to_data 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/{webhookId}/add_to_data 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks/{webhookId}/add_to_data 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
GET    /webhooks/{webhookId}/add_to_data/{key} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 404 403 403 403 404
POST   /webhooks/{webhookId}/add_to_data/{key} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /webhooks/{webhookId}/add_to_data/{key} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks/{webhookId}/add_to_data/{key} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 404 403 403 403 404
POST   /test/sync 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /test/webhooks 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/{webhookId}/data/{dataId}/resend 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/{webhookId}/recover    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/{webhookId}/test       403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /webhooks/{webhookId}             403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
PUT    /webhooks/{webhookId}             403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /webhooks/{webhookId}             403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
POST   /users/{userId}/token 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /admin/jwt 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /certificate/{type} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /connectors/{connectorId}/connections 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /users/{userId}/accounts/{accountId}/delta 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 200 403 403
GET    /sandbox/clock                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /sandbox/clock                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /sandbox/events                   403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /sandbox/run                      403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /sandbox/receiver                 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
DELETE /sandbox/receiver                 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 204 403 403 403 204
GET    /sandbox/mails                    403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /sandbox/scenarios                403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
POST   /sandbox/payments/{paymentId}/simulate 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 200 403 403 403 200
GET    /connector_programs 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 200
POST   /connector_programs 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 200
GET    /connector_programs/{programId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 200
POST   /connector_programs/{programId}/check 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 200
DELETE /connector_programs/{programId} 403 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 204
`

// open lists the calls that need no token. The status is the same with every token.
const open = `
POST   /auth/init    200
POST   /auth/token/access 200
POST   /auth/renew   200
POST   /auth/jwt     200
POST   /auth/token   200
GET    /openapi.json 200
GET    /connectors 200
GET    /connectors/{connectorId} 200
GET    /connectors/{connectorId}/fields 200
GET    /banks 200
GET    /banks/{connectorId} 200
GET    /banks/categories 200
GET    /providers 200
GET    /providers/{connectorId} 200
GET    /connectors/{connectorId}/sources 200
GET    /connectors/{connectorId}/sources/{sourceId} 200
GET    /publickey    200
GET    /sign-keys    200
GET    /sign-keys/{keyId} 200
GET    /documenttypes 200
GET    /documenttypes/{typeId} 200
GET    /connectors/{connectorId}/logos 200
GET    /connectors/{connectorId}/logos/main 200
GET    /connectors/{connectorId}/logos/thumbnail 200
GET    /files/{fileId} 200
GET    /account_types 200
GET    /account_types/{typeId} 200
GET    /currencies   200
GET    /categories   200
GET    /categories/{categoryId} 404
GET    /terms        200
`

var columns = strings.Fields(`admin read-only allow-sensitive validate cancel
	own:read-only own:allow-sensitive own:validate own:cancel
	another's:read-only another's:allow-sensitive another's:validate another's:cancel
	config users user code deployment`)

// worthless lists tokens that have the same effect as no token.
var worthless = []string{"", "malformed", "unknown", "revoked", "foreign", "expired"}

var rightBody = map[string]string{
	"PATCH /connectors":             `{"` + lowLimit + `":{"hidden":false}}`,
	"POST /documenttypes/{typeId}":  `{"attacheable":true}`,
	"PUT /documenttypes/{typeId}":   `{"name":"n"}`,
	"POST /auth/init":               `{"client_id":{client},"client_secret":"{secret}"}`,
	"POST /auth/token/access":       `{"client_id":{client},"client_secret":"{secret}","code":"{code}"}`,
	"POST /auth/renew":              `{"client_id":{client},"client_secret":"{secret}"}`,
	"POST /users/{userId}/token":    `{"application":"{client}"}`,
	"POST /admin/jwt":               `{{signer},"application":"signer","duration":5}`,
	"POST /auth/jwt":                `{{signer},"expire":true}`,
	"POST /auth/token/code":         `{}`,
	"POST /users/{userId}/config":   `{"language":"fr"}`,
	"PUT /users/{userId}/config":    `{"language":"fr"}`,
	"POST /categorize":              `[{"wording":"CAFE","value":-1.50,"type":"card"}]`,
	"PUT /users/{userId}/accounts":  `{"display":true}`,
	"POST /users/{userId}/accounts": `{"display":true}`,

	"POST /users/{userId}/connections/{connectionId}/accounts": `{"display":true}`,
	"POST /users/{userId}/subscriptions":                       `{"disabled":false}`,
	"PUT /users/{userId}/subscriptions":                        `{"disabled":false}`,
	"POST /clients":                                            `{"name":"new"}`,
	"POST /clients/{clientId}":                                 `{"description":"new"}`,
	"PUT /clients/{clientId}":                                  `{"description":"new"}`,
	"POST /auth/token":                                         `{"client_id":"{client}","client_secret":"{secret}","scope":"payments:read-only"}`,
	"POST /payments":                                           minimalDraft,
	"POST /payments/{paymentId}":                               `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay"}`,
	"PUT /payments/{paymentId}":                                `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`,
	"POST /webhooks/auth":                                      `{"type":"hmac_signature","name":"%d"}`,
	"POST /webhooks/auth/{authId}":                             `{"name":"%d"}`,
	"PUT /webhooks/auth/{authId}":                              `{"name":"%d"}`,
	"POST /connector_programs":                                 `{"address":"{outside}","secret":"` + servicetest.ConnectorSecret + `"}`,
	"POST /webhooks":                                           `{"event":"USER_SYNCED","url":"https://client.example/"}`,
	"POST /config":                                             `{"payment.max_amount":"0"}`,
	"PUT /config":                                              `{"payment.max_amount":"0"}`,
	"POST /webhooks/{webhookId}/add_to_data":                   `{"key":"crm"}`,
	"POST /test/sync":                                          `{}`,
	"POST /test/webhooks":                                      `{}`,
	"POST /webhooks/{webhookId}":                               `{"event":"ACCOUNT_FOUND"}`,
	"PUT /webhooks/{webhookId}":                                `{"event":"ACCOUNT_FOUND"}`,
	"POST /sandbox/clock":                                      `{"freeze":false}`,
	"POST /sandbox/events":                                     `{"event":"ACCOUNT_FOUND"}`,

	"POST /users/{userId}/transactionsclusters":                   `{"id_account":{holding},"mean_amount":1,"wording":"w","enabled":false}`,
	"POST /users/{userId}/transactionsclusters/{clusterId}":       `{"wording":"w"}`,
	"PUT /users/{userId}/transactionsclusters/{clusterId}":        `{"wording":"w"}`,
	"PUT /users/{userId}/transactions/{transactionId}/documents":  `{"id_document":{document}}`,
	"POST /users/{userId}/transactions/{transactionId}/documents": `{"id_document":{document}}`,
	"POST /users/{userId}/transactions/{transactionId}":           `{"comment":"n"}`,
	"POST /users/{userId}/accounts/{accountId}/transactions":      `[{"wording":"w","date":"2026-11-01","value":1}]`,
	"POST /users/{userId}/documents":                              `{"id_subscription":{subscription},"name":"n"}`,
	"POST /users/{userId}/documents/{documentId}":                 `{"name":"n"}`,
	"PUT /users/{userId}/documents/{documentId}":                  `{"name":"n"}`,
	"PUT /users/{userId}/transactions/{transactionId}":            `{"comment":"n"}`,
	"POST /users/{userId}/categories":                             `{"name":"n"}`,
	"POST /users/{userId}/categories/{categoryId}":                `{"name":"n"}`,
	"PUT /users/{userId}/categories/{categoryId}":                 `{"name":"n"}`,
	"POST /users/{userId}/subscriptions/{subscriptionId}":         `{"disabled":false}`,
	"PUT /users/{userId}/subscriptions/{subscriptionId}":          `{}`,
	"POST /users/{userId}/accounts/{accountId}":                   `{"name":"n"}`,
	"PUT /users/{userId}/accounts/{accountId}":                    `{"name":"n"}`,
	"PUT /users/{userId}/connections/{connectionId}/accounts":     `{"display":true}`,
	"POST /users/{userId}/connections":                            strings.Replace(connecting, "one", "none", 1),
	"POST /users/{userId}/connections/{connectionId}":             `{}`,
	"POST /clients/{clientId}/logo":                               `{"logo":"` + tinyPNG + `"}`,
	"POST /payments/{paymentId}/scopedtoken":                      `{"scope":"payments:validate"}`,
	"POST /payments/{paymentId}/terms":                            `{"id_terms":1}`,
	"POST /sandbox/payments/{paymentId}/simulate":                 `{"state":"expired"}`,
	"POST /webhooks/auth/{authId}/rotate":                         `{"overlap":"1h"}`,
	"POST /webhooks/{webhookId}/recover":                          `{"since":"2026-11-20 00:00:00"}`,
	"POST /webhooks/{webhookId}/test":                             `{"data":{"a":1.50}}`,

	"POST /users/{userId}/connections/{connectionId}/files":                                             `{"file":"eA=="}`,
	"POST /users/{userId}/connections/{connectionId}/sources/{sourceId}":                                `{"disabled":false}`,
	"PUT /users/{userId}/connections/{connectionId}/sources/{sourceId}":                                 `{}`,
	"POST /users/{userId}/accounts/{accountId}/transactions/{transactionId}":                            `{"comment":"n"}`,
	"PUT /users/{userId}/accounts/{accountId}/transactions/{transactionId}":                             `{"comment":"n"}`,
	"POST /users/{userId}/connections/{connectionId}/transactions/{transactionId}":                      `{"comment":"n"}`,
	"PUT /users/{userId}/connections/{connectionId}/transactions/{transactionId}":                       `{"comment":"n"}`,
	"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}": `{"comment":"n"}`,
	"PUT /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}":  `{"comment":"n"}`,
	"POST /users/{userId}/transactions/{transactionId}/informations":                                    `{"note":"n"}`,
	"PUT /users/{userId}/transactions/{transactionId}/informations":                                     `{"note":"n"}`,
	"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}":                              `{"name":"n"}`,
	"PUT /users/{userId}/connections/{connectionId}/accounts/{accountId}":                               `{"name":"n"}`,
}

func expectations(t *testing.T) map[string]map[string]int {
	t.Helper()
	expected := map[string]map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(grants), "\n") {
		words := strings.Fields(strings.ReplaceAll(line, "|", ""))
		if len(words) != 2+len(columns) {
			t.Fatalf("%d columns in %q", len(words), line)
		}
		call := map[string]int{}
		for i, token := range columns {
			call[token] = number(t, words[2+i])
		}
		for _, token := range worthless {
			call[token] = 401
		}
		expected[words[0]+" "+words[1]] = call
	}
	for _, line := range strings.Split(strings.TrimSpace(open), "\n") {
		words := strings.Fields(line)
		call := map[string]int{}
		for _, token := range append(columns, worthless...) {
			call[token] = number(t, words[2])
		}
		expected[words[0]+" "+words[1]] = call
	}
	return expected
}

func number(t *testing.T, word string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(word, &n); err != nil {
		t.Fatalf("%q is no status: %v", word, err)
	}
	return n
}

// calls maps the method and pattern of each call, except web pages, to one of its paths.
func calls() map[string]string {
	wire := map[string][]string{httpapi.Update: {"POST", "PUT"}}
	all := map[string]string{"GET /openapi.json": "/openapi.json"}
	for _, route := range (&api.Service{}).Routes() {
		if route.Redirects {
			continue // a web page
		}
		methods := wire[route.Method]
		if methods == nil {
			methods = []string{route.Method}
		}
		for _, method := range methods {
			for _, path := range append([]string{route.Pattern}, route.Aliases...) {
				all[method+" "+route.Pattern] = path
			}
		}
	}
	return all
}

func TestEveryCallWithEveryToken(t *testing.T) {
	expected := expectations(t)
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "expired", 0) // this comes first, because it advances the clock, and other tokens would expire
		paths := calls()
		for call := range expected {
			if paths[call] == "" {
				t.Errorf("%s is in the table and is no route", call)
			}
		}
		for _, call := range inTurn() {
			if expected[call] == nil {
				t.Errorf("%s is a route and is not in the table: say who may call it", call)
			}
			s.refusals(t, call, paths[call], expected[call])
			for token, status := range expected[call] {
				if status < 400 {
					s.attempt(t, call, paths[call], token, status)
				}
			}
		}
	})
}

// refusals makes one call with every token that the service must refuse. All these calls name the
// same objects, and the rows are counted only before the first and after the last call: creating
// objects and counting rows take longer than a call.
func (s *fixture) refusals(t *testing.T, call, path string, statuses map[string]int) {
	t.Helper()
	s.withoutEffect(t, call, func() func() {
		refused := s.refusedAsks(t, call, path, statuses)
		return func() {
			for token, a := range refused {
				s.do(t, a).isRefusal(t, fmt.Sprintf("%s with token %q", call, token), statuses[token])
			}
		}
	})
}

// withoutEffect makes refused calls, and fails when they change the number of rows of a table, or
// the content of a table in `configuration`. The function ready creates the objects that the calls
// name, and returns the calls. When only tables in `background` have changed, withoutEffect tries
// again, because work in the background ends soon. A refused call with an effect on these tables
// changes rows each time, because each time its objects are new. Changes within a row of other
// tables than those in `configuration` are not noticed.
func (s *fixture) withoutEffect(t *testing.T, what string, ready func() (calls func())) {
	t.Helper()
	diff := ""
	for range 6 {
		calls := ready()
		before, settled := s.counts(), s.eyes.Lines(configuration)
		calls()
		rows, content := s.changed(before), cmp.Diff(settled, s.eyes.Lines(configuration))
		diff = rows + content
		if content != "" || rows == "" || !s.onlyBackground(before) {
			break
		}
	}
	if diff != "" {
		t.Errorf("%s changes rows although it is refused (-before +after):\n%s", what, diff)
	}
}

// configuration selects the content of tables that calls without an object of their own change. Such
// a call may leave the number of rows as it is.
var configuration = map[string]string{
	"setting": `SELECT * FROM setting`, "user_setting": `SELECT * FROM user_setting`, "document_type": `SELECT * FROM document_type`, "domain": `SELECT * FROM domain`,
}

// background lists the tables that deliveries and the erasure of withdrawn data change.
var background = []string{
	"attachment", "bank_account", "bank_transaction", "connection", "connection_log", "connection_source", "consent", "delivery", "delivery_attempt", "document",
	"end_user", "erasure", "event", "event_part", "investment_value", "provider", "stored_file", "subscription", "token", "transaction_cluster", "transaction_document",
	"transaction_information", "unit_mark", "user_token", "webhook_health", "withdrawal",
}

func (s *fixture) onlyBackground(before record) bool {
	rows, _ := before.since(s.counts())
	for _, table := range background {
		delete(rows, table)
	}
	return len(rows) == 0
}

func (s *fixture) refusedAsks(t *testing.T, call, path string, statuses map[string]int) map[string]ask {
	t.Helper()
	own, another := s.created(t, ""), s.created(t, "")
	shared := s.rightly(t, call, s.placed(call, path), "admin")
	shared.path = strings.ReplaceAll(shared.path, "{payment}", fmt.Sprint(own))
	shared.body = strings.ReplaceAll(shared.body, "{payment}", fmt.Sprint(own))
	shared = s.fill(t, shared)
	asks := map[string]ask{}
	for token, status := range statuses {
		if status < 400 {
			continue
		}
		a, payment, name := shared, own, token
		if scope, bound := strings.CutPrefix(token, "another's:"); bound {
			payment, name = another, "own:"+scope
		}
		a.token, a.credential = "", s.token(t, "", name, payment)
		asks[token] = a
	}
	return asks
}

// inTurn returns all calls. One call comes first, because it fails with a conflict after the other
// calls have created many connections.
func inTurn() []string {
	const early = "PUT /users/{userId}/connections"
	later := maps.Clone(calls())
	delete(later, early)
	return append([]string{early}, slices.Collect(maps.Keys(later))...)
}

var attempts int

func (s *fixture) attempt(t *testing.T, call, path, token string, status int) {
	t.Helper()
	path = s.placed(call, path)
	if strings.HasPrefix(token, "own:") && !strings.Contains(path, "{payment}") {
		path += "?for={payment}"
	}
	if r := s.do(t, s.fill(t, s.rightly(t, call, path, token))); r.status != status {
		t.Errorf("%s with token %q: %d, want %d: %s", call, token, r.status, status, r.body)
	}
	s.outlive(t, call, token)
}

func (s *fixture) rightly(t *testing.T, call, path, token string) ask {
	t.Helper()
	method, _, _ := strings.Cut(call, " ")
	attempts++
	if strings.Contains(call, "/transactions") {
		s.holdings(t, "") // without an account, the lists are empty
	}
	return ask{method: method, path: path, token: token, body: strings.Replace(rightBody[call], "%d", fmt.Sprint("n", attempts), 1)}
}

// isRefusal checks that a response is a refusal with a status and the code of this status.
func (r reply) isRefusal(t *testing.T, what string, status int) {
	t.Helper()
	if r.status != status {
		t.Errorf("%s: %d, want %d: %s", what, r.status, status, r.body)
		return
	}
	if code, _ := r.message(t); code != map[int]string{401: "invalidToken", 403: "forbidden", 404: "notFound", 409: "conflict"}[status] {
		t.Errorf("%s: code %s", what, code)
	}
	if challenge := r.header.Get("WWW-Authenticate"); (challenge != "") != (status == 401) {
		t.Errorf("%s: WWW-Authenticate %q", what, challenge)
	}
}

func (s *fixture) placed(call, path string) string {
	path = strings.NewReplacer("{webhookId}/data/{dataId}", "{sent}", "{webhookId}/test", "{listening}/test", "{connectionId}/sources/{sourceId}", "{channel}").Replace(path)
	path = strings.NewReplacer("{paymentId}", "{payment}", "{webhookId}", "{webhook}", "{authId}", "{provider}", "{connectorId}", testConnector, "{sourceId}", "401", "{keyId}", "{key}", "{type}", "signature?of={key}", "{attachmentId}", noID, "{fileId}", testLogo, "{programId}", "{program}").Replace(path)
	return s.people(call, path)
}

// people replaces the placeholders of a pattern with placeholders for objects that belong to the
// token's user.
func (s *fixture) people(call, path string) string {
	application := "{application}"
	if strings.HasPrefix(call, "GET") {
		application = "{client}"
	}
	path = strings.NewReplacer("{userId}", "{user}", "{clientId}", application).Replace(path)
	if strings.HasSuffix(call, "_certificate") {
		path = strings.ReplaceAll(path, "{connectionId}", "{holder}")
	}
	if call == "GET /categories/{categoryId}" {
		path = strings.ReplaceAll(path, "{categoryId}", noID) // each {category} would be a new category, and a user can have only 100
	}
	if strings.Contains(call, "/transactions") || strings.HasSuffix(call, "/delta") {
		path = strings.NewReplacer("{connectionId}", "{holder}", "{accountId}", "{holding}", "{transactionId}", "{transaction}", "{documentId}", "{annexed}").Replace(path)
	}
	for kind, hole := range map[string]string{"/investments/": "{position}", "/marketorders/": "{order}", "/pockets/": "{pocket}"} {
		path = strings.ReplaceAll(path, kind+"{assetId}", kind+hole)
	}
	if strings.Contains(call, "/subscriptions") || strings.Contains(call, "/documents") {
		path = strings.NewReplacer("{connectionId}", "{subscribing}", "{subscriptionId}", "{subscription}", "{documentId}", "{document}").Replace(path)
	}
	path = strings.NewReplacer("{categoryId}", "{category}", "{informationId}", "{information}", "{clusterId}", "{series}").Replace(path)
	if path = strings.ReplaceAll(path, "{typeId}", "1"); strings.Contains(path, "{accountId}") {
		path = strings.NewReplacer("{connectionId}", "{owner}", "{accountId}", "{owned}").Replace(path) + "?all"
	}
	path = strings.ReplaceAll(path, "{connectionId}", "{empty}")
	if call == "GET /users/{userId}/transactions" {
		path += "?of={holding}" // without an account, the call fails with a conflict
	}
	path = strings.ReplaceAll(path, "add_to_data/{key}", "add_to_data/other")
	if call == "POST /test/sync" {
		path += "?of={subscribing}" // without a connection, there is nothing to read
	}
	if call == "GET /webauth-url" {
		path += "?client_id={client}&redirect_uri=https://shop.example/back&id_connector=40"
	}
	if call == "DELETE /users/{userId}/config" {
		path += "?keys=language"
	}
	return path
}

// outlive lets later calls get another token, user or connection after a call has removed one.
func (s *fixture) outlive(t *testing.T, call, token string) {
	t.Helper()
	main := s.domainOf("")
	switch call {
	case "DELETE /auth/token":
		delete(main.tokens, token)
		if kind := access.TokenKind(token); main.operator[kind] != "" {
			main.operator[kind] = s.operator(t, main, kind)
		}
	case "DELETE /users/{userId}/connections/{connectionId}":
		s.eraseWithdrawn(t)
	case "DELETE /users/{userId}/connections", "DELETE /users/{userId}/accounts":
		delete(main.tokens, "user") // later calls then get a new user with new objects
		s.eraseWithdrawn(t)
	case "DELETE /users/{userId}":
		delete(main.tokens, "user")
		if err := errors.Join(s.Aggregation.EraseUsers(t.Context(), main.domain), s.Aggregation.EraseWithdrawn(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *fixture) operator(t *testing.T, who *testDomain, kind access.TokenKind) string {
	t.Helper()
	grant, err := s.Access.IssueOperator(t.Context(), who.domain.ID, kind)
	if err != nil {
		t.Fatal(err)
	}
	return grant.Text
}

// TestLifeOfAPaymentToken checks that the response states the whole life of a token, although the
// clock advances during the call.
func TestLifeOfAPaymentToken(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		id := s.created(t, "")
		s.token(t, "", "admin", 0)
		s.tick.Store(1)
		var out struct {
			Expires int64 `json:"expires_in"`
		}
		s.do(t, ask{method: "POST", path: fmt.Sprintf("/payments/%d/scopedtoken", id), token: "admin", body: `{"scope":"payments:validate"}`}).says(t, 200, "", "").decode(t, &out)
		if out.Expires != 7*24*60*60 {
			t.Errorf("the token expires in %d seconds", out.Expires)
		}
	})
}

// For an object that the token cannot access, the error is the same whether or not the object
// exists.
func TestErrorsDoNotRevealInaccessibleObjects(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		unlike := func(a, b ask) {
			first, second := s.do(t, s.fill(t, a)), s.do(t, s.fill(t, b))
			if string(blank(first)) != string(blank(second)) || first.status != second.status {
				t.Errorf("%s %s tells more than that there is nothing:\n%s\n%s", a.method, a.path, first.body, second.body)
			}
		}
		for _, method := range []string{"GET", "POST"} {
			body := map[string]string{"POST": rightBody["POST /payments/{paymentId}"]}[method]
			none := ask{method: method, path: "/payments/" + noID, token: "admin", body: body}
			unlike(ask{method: method, path: "/payments/{other:payment}", token: "admin", body: body}, none)
			unlike(ask{method: method, path: "/payments/{live:payment}", token: "admin", body: body}, none)
			unlike(ask{method: method, path: "/payments/{payment}", token: "another's:validate", body: body}, none)
		}
		none := ask{method: "DELETE", path: "/webhooks/" + noID, token: "config"}
		unlike(ask{method: "DELETE", path: "/webhooks/{other:webhook}", token: "config"}, none)
		for _, call := range []string{"GET ", "PUT ", "GET /data", "GET /logs", "POST /test", "POST /recover", "POST /data/1/resend"} {
			method, path, _ := strings.Cut(call, " ")
			body := map[string]string{"POST": `{"since":"2026"}`, "PUT": `{"disabled":false}`}[method]
			unlike(ask{method: method, path: "/webhooks/{other:webhook}" + path, token: "config", body: body},
				ask{method: method, path: "/webhooks/" + noID + path, token: "config", body: body})
		}
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			none := ask{method: method, path: "/webhooks/auth/" + noID, token: "config"}
			unlike(ask{method: method, path: "/webhooks/auth/{other:provider}", token: "config"}, none)
		}
	})
}

func blank(r reply) []byte {
	return []byte(strings.ReplaceAll(string(r.body), r.header.Get("X-Request-Id"), ""))
}

func TestDomainsListOnlyTheirObjects(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for i, domainName := range []string{"home", "other", "other"} {
			s.created(t, domainName)
			s.thing(t, domainName, "webhook")
			s.thing(t, domainName, "provider")
			for path, want := range map[string]int{"/payments": max(1, i), "/webhooks": max(1, i), "/webhooks/auth": max(1, i)} {
				token := "config"
				if path == "/payments" {
					token = "read-only"
				}
				var out struct{ Total int }
				s.do(t, ask{domain: domainName, method: "GET", path: path, token: token}).decode(t, &out)
				if out.Total != want {
					t.Errorf("%s of %s: %d, want %d", path, domainName, out.Total, want)
				}
			}
		}
		s.domains["nobody"] = &testDomain{host: "nobody.example", tokens: map[string]string{}}
		r := s.do(t, ask{domain: "nobody", method: "GET", path: "/payments", credential: s.token(t, "home", "admin", 0)})
		if r.status != 404 {
			t.Errorf("an unknown host: %d %s", r.status, r.body)
		}
	})
}
