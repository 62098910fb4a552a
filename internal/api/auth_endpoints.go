package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func (s *Service) authRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/auth/init", Tokens: true, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.initUser),
			Summary: "Create a user", Errors: []string{"invalidToken", "rateLimited"},
			Doc: "Creates a permanent user when the call carries an application's credentials, in the body or as HTTP Basic, or a config token. The user's token is valid until it is revoked. Otherwise creates a temporary user, which is deleted after 30 minutes unless an application exchanges its token or code. Any other token is ignored.",
		},
		{
			Method: http.MethodGet, Pattern: "/auth/token/code", Needs: ofUser, Endpoint: httpapi.Handle(s.userCode),
			Summary: "Get a temporary code", Doc: "Creates a code to use instead of the token in addresses that the user's browser opens. The code is valid for 30 minutes. A temporary user's code is not valid longer than the user.",
		},
		{
			Method: http.MethodPost, Pattern: "/auth/token/code", Tokens: true, Needs: ofUser, Endpoint: httpapi.Handle(s.postUserCode),
			Summary: "Get a temporary code, by POST",
		},
		{
			Method: http.MethodPost, Pattern: "/auth/token/access", Tokens: true, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.exchange),
			Summary: "Exchange a code for a permanent token", Errors: []string{"invalidToken", "rateLimited"},
			Doc: "Exchanges a temporary code, the code from a webview, or a user token of the application or of a temporary user. That token may be the bearer token of the call. The user becomes permanent, and the service sends the webhooks that it held back for the user.",
		},
		{
			Method: http.MethodPost, Pattern: "/auth/renew", Tokens: true, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.renew),
			Summary: "Get another permanent token for a user", Errors: []string{"invalidToken", "notFound", "rateLimited"},
			Doc: "Creates another permanent token for a user. Without id_user, also creates the user. With revoke_previous, revokes the application's earlier permanent tokens for the user.",
		},
		{
			Method: http.MethodPost, Pattern: "/auth/jwt", Tokens: true, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.signedToken),
			Summary: "Get a signed token for a user", Errors: []string{"invalidToken", "notFound", "rateLimited"},
			Doc: "Creates a user token as a JWT, signed with the generated key of an application. Without id_user, also creates a user.",
		},
		{
			Method: http.MethodPost, Pattern: "/users/{userId}/token", Tokens: true, Needs: config, Endpoint: httpapi.Handle(s.userToken), Errors: []string{"conflict"},
			Summary: "Get a permanent token for a user, as an operator", Doc: "Creates a user token on behalf of an application. The user becomes permanent.",
		},
		{
			Method: http.MethodPost, Pattern: "/admin/jwt", Tokens: true, Needs: config, Endpoint: httpapi.Handle(s.adminToken), Errors: []string{"conflict"},
			Summary: "Get a signed config token", Doc: "Creates a config token for a program as a JWT, signed with the generated key of an application. The token ends after the requested number of minutes, when it is revoked, or when the application is deleted.",
		},
		{
			Method: http.MethodDelete, Pattern: "/auth/token", Needs: httpapi.AnyToken, Endpoint: httpapi.Handle(s.revokeToken),
			Summary: "Revoke the token used for this call",
		},
	}
}

// credentialsInput contains an application's credentials. Inputs of calls that an application makes
// in its own name have these fields.
type credentialsInput struct {
	ClientID      httpapi.Number `body:"client_id" doc:"may also come as HTTP Basic"`
	ClientSecret  string         `body:"client_secret" max:"255"`
	Authorization string         `header:"Authorization" max:"8192" doc:"HTTP Basic with client_id and client_secret, instead of the body"`
}

// basic returns the credentials in the header Authorization, and whether the header has the scheme
// Basic. Older clients add a colon after the secret.
func (in credentialsInput) basic() (access.Credentials, bool) {
	scheme, encoded, _ := strings.Cut(in.Authorization, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return access.Credentials{}, false
	}
	pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return access.Credentials{}, true
	}
	id, secret, _ := strings.Cut(string(pair), ":")
	return access.Credentials{ClientID: id, Secret: strings.TrimSuffix(secret, ":")}, true
}

// hasCredentials reports whether the call has credentials, valid or not. An id without a secret
// does not count: clients that have no secret also send their id.
func (in credentialsInput) hasCredentials() bool {
	_, basic := in.basic()
	return basic || in.ClientSecret != ""
}

// application authenticates the call's application.
func (s *Service) application(ctx context.Context, c *httpapi.Caller, in credentialsInput) (store.Client, error) {
	credentials, err := in.credentials()
	if err != nil {
		return store.Client{}, err
	}
	credentials.Address = c.Address
	return s.Access.Application(ctx, c.Domain.ID, credentials)
}

// credentials returns the credentials of the call. Credentials in the body take precedence over the
// header. Many libraries for OAuth 2.0 send the id in the body too when the header has the
// credentials.
func (in credentialsInput) credentials() (access.Credentials, error) {
	header, basic := in.basic()
	switch {
	case in.ClientID == "":
		return header, nil
	case !basic || in.ClientSecret != "":
		return access.Credentials{ClientID: string(in.ClientID), Secret: in.ClientSecret}, nil
	case header.ClientID != string(in.ClientID):
		return header, passerelle.InvalidField("client_id", "must equal the id in the Authorization header, or be omitted")
	}
	return header, nil
}

type initOutput struct {
	AuthToken string `json:"auth_token"`
	Type      string `json:"type" doc:"permanent or temporary"`
	IDUser    int64  `json:"id_user"`
	ExpiresIn *int64 `json:"expires_in" doc:"seconds; null for a permanent user"`
}

func (s *Service) initUser(ctx context.Context, c *httpapi.Caller, in credentialsInput) (initOutput, error) {
	owner, vouched, err := s.vouched(ctx, c, in)
	if err != nil {
		return initOutput{}, err
	}
	grant, u, err := s.newUser(ctx, c, owner, vouched)
	out := initOutput{AuthToken: grant.Text, Type: "permanent", IDUser: int64(u.ID), ExpiresIn: s.expiresIn(u.Expires)}
	if u.Expires != nil {
		out.Type = "temporary"
	}
	return out, err
}

// vouched returns the application that a new user belongs to, and whether the call may create a
// permanent user. With client credentials, the user belongs to the application of the credentials.
// With a config token, the user belongs to the domain's only application, or to none if the domain
// does not have exactly one application. Other tokens are ignored, because the call needs no token.
func (s *Service) vouched(ctx context.Context, c *httpapi.Caller, in credentialsInput) (passerelle.ClientID, bool, error) {
	switch {
	case in.hasCredentials():
		client, err := s.application(ctx, c, in)
		return client.ID, true, err
	case in.Authorization == "":
		return 0, false, nil
	}
	token, err := httpapi.Bearer(in.Authorization)
	if err != nil {
		return 0, false, nil //nolint:nilerr // a text that is no token is ignored, like an invalid token
	}
	p, err := s.Access.Authenticate(ctx, c.Domain.ID, token)
	if errors.Is(err, passerelle.Unauthenticated) || err == nil && p.Kind != access.ConfigToken {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	client, err := s.Access.Sole(ctx, c.Domain.ID)
	return client, true, err
}

// newUser creates a user and the user's first token.
func (s *Service) newUser(ctx context.Context, c *httpapi.Caller, owner passerelle.ClientID, permanent bool) (access.Grant, passerelle.User, error) {
	var grant access.Grant
	u, err := s.Aggregation.CreateUser(ctx, c.Domain, permanent, func(tx *store.Tx, u passerelle.User) error {
		var err error
		grant, err = s.Access.GrantUser(tx, owner, u)
		return err
	})
	return grant, u, err
}

// expiresIn returns the seconds until a time, rounded up, or nil for a token that does not expire.
func (s *Service) expiresIn(at *time.Time) *int64 {
	if at == nil {
		return nil
	}
	left := int64(math.Ceil(at.Sub(s.Now()).Seconds()))
	return &left
}

// singleAccess is the type of the codes that a client can exchange only once.
const singleAccess = "singleAccess"

type userCodeInput struct {
	Type string `query:"type" enum:"singleAccess,requestAccess" default:"requestAccess" doc:"singleAccess for a code that can be exchanged once"`
}

type postUserCodeInput struct {
	Type string `body:"type" enum:"singleAccess,requestAccess" doc:"singleAccess for a code that can be exchanged once"`
}

type userCodeOutput struct {
	Code      string `json:"code"`
	Type      string `json:"type" doc:"temporary"`
	Access    string `json:"access" doc:"single or standard"`
	ExpiresIn *int64 `json:"expires_in" doc:"seconds"`
}

func (s *Service) userCode(ctx context.Context, c *httpapi.Caller, in userCodeInput) (userCodeOutput, error) {
	out := userCodeOutput{Type: "temporary", Access: "standard"}
	if in.Type == singleAccess {
		out.Access = "single"
	}
	grant, err := s.Access.IssueCode(ctx, c.Principal, in.Type == singleAccess)
	out.Code, out.ExpiresIn = grant.Text, s.expiresIn(grant.Expires)
	return out, err
}

func (s *Service) postUserCode(ctx context.Context, c *httpapi.Caller, in postUserCodeInput) (userCodeOutput, error) {
	return s.userCode(ctx, c, userCodeInput(in))
}

type exchangeInput struct {
	credentialsInput
	GrantType   string `body:"grant_type" enum:"authorization_code"`
	Code        string `body:"code" max:"4096" doc:"the bearer token of the call when omitted"`
	RedirectURI string `body:"redirect_uri" max:"2048" doc:"must be registered with the application"`
}

type accessTokenOutput struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type" doc:"Bearer"`
}

func (s *Service) exchange(ctx context.Context, c *httpapi.Caller, in exchangeInput) (accessTokenOutput, error) {
	client, err := s.application(ctx, c, in.credentialsInput)
	if err != nil {
		return accessTokenOutput{}, err
	}
	text, err := in.code()
	if err != nil {
		return accessTokenOutput{}, err
	}
	if in.RedirectURI != "" {
		_, err := passerelle.ParseRedirectURI("redirect_uri", in.RedirectURI)
		if err == nil {
			err = s.Initiation.CheckRedirect(ctx, c.Domain, client.ID, "redirect_uri", in.RedirectURI)
		}
		if err != nil {
			return accessTokenOutput{}, err
		}
	}
	code, err := s.Access.Redeem(ctx, client, text)
	if err != nil {
		return accessTokenOutput{}, err
	}
	var grant access.Grant
	_, err = s.Aggregation.KeepUser(ctx, c.Domain, code.User, func(tx *store.Tx, u passerelle.User) error {
		var err error
		s.Access.Spend(tx, code)
		grant, err = s.Access.GrantUser(tx, client.ID, u)
		return err
	})
	return accessTokenOutput{grant.Text, "Bearer"}, access.Spent(err)
}

// code returns the code to exchange, from the body or from the bearer token.
func (in exchangeInput) code() (string, error) {
	if in.Code != "" {
		return in.Code, nil
	}
	if _, basic := in.basic(); basic || in.Authorization == "" {
		return "", passerelle.MissingField("code", "is required, unless a user token is sent as the bearer token")
	}
	return httpapi.Bearer(in.Authorization)
}

type renewInput struct {
	credentialsInput
	GrantType      string         `body:"grant_type" enum:"client_credentials"`
	IDUser         httpapi.Number `body:"id_user" doc:"a user is created when omitted"`
	RevokePrevious bool           `body:"revoke_previous" doc:"whether to revoke the permanent tokens that the application had for the user"`
}

func (s *Service) renew(ctx context.Context, c *httpapi.Caller, in renewInput) (accessTokenOutput, error) {
	client, err := s.application(ctx, c, in.credentialsInput)
	if err != nil {
		return accessTokenOutput{}, err
	}
	var grant access.Grant
	err = s.namedUser(ctx, c, in.IDUser, func(tx *store.Tx, u passerelle.User) error {
		var err error
		if in.RevokePrevious {
			s.Access.RevokeUser(tx, client.ID, u)
		}
		grant, err = s.Access.GrantUser(tx, client.ID, u)
		return err
	})
	return accessTokenOutput{grant.Text, "Bearer"}, err
}

// namedUser makes the user with this id permanent. Without an id, namedUser creates a permanent
// user. namedUser calls its function argument in the same transaction.
func (s *Service) namedUser(ctx context.Context, c *httpapi.Caller, id httpapi.Number, also func(*store.Tx, passerelle.User) error) error {
	if id == "" {
		_, err := s.Aggregation.CreateUser(ctx, c.Domain, true, also)
		return err
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return passerelle.InvalidField("id_user", "must be the id of a user")
	}
	_, err = s.Aggregation.KeepUser(ctx, c.Domain, passerelle.UserID(n), also)
	return err
}

type signedTokenInput struct {
	credentialsInput
	IDUser httpapi.Number   `body:"id_user" doc:"a user is created when omitted"`
	Scope  httpapi.WordList `body:"scope" doc:"repeated in the token's payload; it has no effect, since user tokens have no scopes"`
	Expire bool             `body:"expire" doc:"whether the token expires, after the number of minutes in the setting auth.default_token_expire"`
}

type signedTokenOutput struct {
	Token   string         `json:"jwt_token"`
	Payload access.Payload `json:"payload"`
}

func (s *Service) signedToken(ctx context.Context, c *httpapi.Caller, in signedTokenInput) (signedTokenOutput, error) {
	client, err := s.application(ctx, c, in.credentialsInput)
	if err != nil {
		return signedTokenOutput{}, err
	}
	signer, err := s.Access.SigningKey(ctx, "client_id", client)
	if err != nil {
		return signedTokenOutput{}, err
	}
	expires := s.signedTokenEnd(c, in.Expire)
	var out signedTokenOutput
	err = s.namedUser(ctx, c, in.IDUser, func(tx *store.Tx, u passerelle.User) error {
		grant, payload, err := s.Access.GrantSigned(tx, signer, c.Domain.BaseURL, strings.Join(in.Scope, " "), store.Token{Domain: u.Domain, Client: client.ID, User: u.ID, Expires: expires})
		out = signedTokenOutput{grant.Text, payload}
		return err
	})
	return out, err
}

// signedTokenEnd returns the time of expiry, or nil for a token that does not expire. The time is
// in whole seconds, as in the token's payload.
func (s *Service) signedTokenEnd(c *httpapi.Caller, expire bool) *time.Time {
	if !expire {
		return nil
	}
	end := s.Now().Add(time.Duration(c.Settings.Int(settings.SignedTokenLife)) * time.Minute).Truncate(time.Second)
	return &end
}

type userTokenInput struct {
	ID          passerelle.UserID `path:"userId" doc:"id of the user"`
	Application string            `body:"application" max:"255" doc:"id or name of the application that the token is for; optional when the domain has only one"`
}

type userTokenOutput struct {
	Token string `json:"token"`
}

func (s *Service) userToken(ctx context.Context, c *httpapi.Caller, in userTokenInput) (userTokenOutput, error) {
	client, err := s.named(ctx, c, "application", in.Application)
	if err != nil {
		return userTokenOutput{}, err
	}
	var grant access.Grant
	_, err = s.Aggregation.KeepUser(ctx, c.Domain, in.ID, func(tx *store.Tx, u passerelle.User) error {
		var err error
		grant, err = s.Access.GrantUser(tx, client.ID, u)
		return err
	})
	return userTokenOutput{grant.Text}, err
}

// named returns the application that has this id or name. Without a name, named returns the
// domain's only application.
func (s *Service) named(ctx context.Context, c *httpapi.Caller, field, name string) (store.Client, error) {
	all, err := s.DB.Clients(ctx, c.Domain.ID)
	if err != nil {
		return store.Client{}, fmt.Errorf("list the applications: %w", err)
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(one store.Client) bool {
			return one.Name != name && strconv.FormatInt(int64(one.ID), 10) != name
		})
	}
	if len(all) != 1 {
		return store.Client{}, passerelle.InvalidField(field, "must be the id or name of an application of the domain, see GET /clients")
	}
	return all[0], nil
}

type adminTokenInput struct {
	Application string `body:"application" max:"255" doc:"id or name of the application whose key signs; optional when the domain has only one"`
	Scope       string `body:"scope" enum:"config" doc:"config, which is also the default: a token cannot create a token with more rights than its own"`
	Duration    int64  `body:"duration" min:"0" max:"5256000" doc:"minutes; when zero or omitted, the token lasts until the application is deleted"`
}

func (s *Service) adminToken(ctx context.Context, c *httpapi.Caller, in adminTokenInput) (signedTokenOutput, error) {
	client, err := s.named(ctx, c, "application", in.Application)
	if err != nil {
		return signedTokenOutput{}, err
	}
	signer, err := s.Access.SigningKey(ctx, "application", client)
	if err != nil {
		return signedTokenOutput{}, err
	}
	var expires *time.Time
	if in.Duration > 0 {
		expires = new(s.Now().Add(time.Duration(in.Duration) * time.Minute).Truncate(time.Second))
	}
	token := store.Token{Domain: c.Domain.ID, Client: client.ID, Expires: expires}
	grant, payload, err := s.Access.IssueSigned(ctx, signer, c.Domain.BaseURL, token, s.recordIn(c, access.ActCreateToken, access.SubjectToken))
	return signedTokenOutput{grant.Text, payload}, err
}

// revokeToken revokes the caller's token, and records this for a token of operators. It also
// succeeds when another call has already revoked that token.
func (s *Service) revokeToken(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (httpapi.Nothing, error) {
	var acts []store.Audit
	if c.Kind == access.ConfigToken {
		acts = append(acts, s.recordIn(c, access.ActRevokeToken, access.SubjectToken))
	}
	_, err := s.Access.Revoke(ctx, c.Domain.ID, c.Token, acts...)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return httpapi.Nothing{}, err
}
