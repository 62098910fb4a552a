package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

type webhookAuth struct {
	Create authCreate `cmd:"" help:"Create a provider and print its signing secret once."`
	List   authList   `cmd:"" help:"List the providers, oldest first."`
	Show   authShow   `cmd:"" help:"Print one provider, without its secrets."`
	Update authUpdate `cmd:"" help:"Change a provider. Omitted options keep their values."`
	Delete authDelete `cmd:"" help:"Delete a provider. Its webhooks send nothing until they have another provider."`
	Rotate authRotate `cmd:"" help:"Replace the signing secret of a provider and print the new one once."`
	Verify authVerify `cmd:"" help:"Check the signature of a received request, and name its errors."`
}

// authView is the printed form of a provider. Only the commands that generate a secret key print
// the key.
type authView struct {
	ID         int64  `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	SecretKey  string `json:"secret_key,omitempty"`
	NextFrom   string `json:"next_from,omitempty"`
	URL        string `json:"url,omitempty"`
	ClientID   string `json:"client_id,omitempty"`
	GrantType  string `json:"grant_type,omitempty"`
	PublicCert string `json:"public_cert,omitempty"`
	Created    string `json:"created"`
	Updated    string `json:"updated,omitempty"`
}

func (d target) viewAuth(a store.AuthProvider) authView {
	view := authView{ID: a.ID, Type: a.Type, Name: a.Name, Created: d.moment(&a.Created), Updated: d.moment(a.Updated)}
	if e := a.Endpoint; e != nil {
		view.URL, view.ClientID, view.GrantType, view.PublicCert = e.URL, e.ClientID, e.GrantType, e.PublicCert
	}
	if _, next := a.Secrets(time.Now()); next != "" {
		view.NextFrom = d.moment(a.NextFrom)
	}
	return view
}

// endpointFlags contains the flags that describe a token endpoint. Secrets come from files, because
// other users of the machine can see arguments and variables.
type endpointFlags struct {
	URL              *string `name:"url" placeholder:"URL" help:"Token endpoint of an oauth provider; https in a live domain."`
	ClientID         *string `name:"client-id" placeholder:"ID" help:"The service's client id at the token endpoint."`
	ClientSecretFile string  `placeholder:"FILE|-" help:"File with the client secret for the token endpoint, or - for standard input."`
	PublicCertFile   string  `placeholder:"FILE|-" help:"File with a client certificate in PEM, when the token endpoint requires one. An empty file removes it."`
	PrivateCertFile  string  `placeholder:"FILE|-" help:"File with the certificate's private key in PEM, unencrypted, or - for standard input. An empty file removes it."`
}

// change returns the change that the flags define.
func (f endpointFlags) change() (delivery.EndpointChange, error) {
	c := delivery.EndpointChange{URL: f.URL, ClientID: f.ClientID}
	for _, file := range []struct {
		flag, name string
		into       **string
	}{
		{"--client-secret-file", f.ClientSecretFile, &c.ClientSecret},
		{"--public-cert-file", f.PublicCertFile, &c.PublicCert},
		{"--private-cert-file", f.PrivateCertFile, &c.PrivateCert},
	} {
		text, err := contentOf(file.name)
		if err != nil {
			return c, fmt.Errorf("read the file of %s: %w", file.flag, err)
		}
		*file.into = text
	}
	return c, nil
}

// maxSecretFile limits the size of a file with a secret. Every accepted secret, certificate or key
// is smaller.
const maxSecretFile = 1 << 20

// contentOf returns the text of a file or of standard input, without line breaks at its end. It
// returns nil for an empty name.
func contentOf(name string) (*string, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no name was given
	}
	file := os.Stdin
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		file = opened
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretFile))
	text := strings.TrimRight(string(raw), "\r\n")
	return &text, err
}

type authCreate struct {
	Name string `required:"" placeholder:"NAME" help:"Name of the provider, unique in the domain."`
	Type string `enum:"hmac_signature,oauth" default:"hmac_signature" placeholder:"TYPE" help:"hmac_signature signs requests. oauth sends an access token, obtained with the client_credentials grant."`
	endpointFlags
}

// Run makes a provider.
func (n *authCreate) Run(c *console, g *webhookCommand) error {
	change, err := n.change()
	if err != nil {
		return err
	}
	return g.withKeys(c, func(d target) (any, error) {
		if n.Type == delivery.OAuth {
			grant := delivery.ClientCredentials
			change.GrantType = &grant
			a, err := d.registry().RegisterOAuth(c.ctx, d.domain, n.Name, change, settings.ByCommand, d.act(delivery.ActRegisterProvider, delivery.SubjectProvider))
			return d.viewAuth(a), err
		}
		if change != (delivery.EndpointChange{}) {
			return nil, passerelle.InvalidField("--type", "must be %s for a token endpoint", delivery.OAuth)
		}
		a, err := d.registry().RegisterProvider(c.ctx, d.domain, n.Name, settings.ByCommand, d.act(delivery.ActRegisterProvider, delivery.SubjectProvider))
		view := d.viewAuth(a)
		view.SecretKey = a.Secret
		return view, err
	})
}

type authList struct {
	Name *string `placeholder:"NAME" help:"List only the provider with exactly this name."`
}

// Run lists the providers, without their secrets.
func (l *authList) Run(c *console, g *webhookCommand) error {
	return g.withKeys(c, func(d target) (any, error) {
		all, err := d.db.AuthProviders(c.ctx, store.ProviderFilter{Domain: d.domain.ID, Name: l.Name}, store.Window{Limit: store.MaxAuthProviders})
		if err != nil {
			return nil, fmt.Errorf("list the providers: %w", err)
		}
		return views(all, d.viewAuth), nil
	})
}

type authShow struct {
	ID int64 `arg:"" help:"Id of the provider."`
}

// Run prints a provider.
func (s *authShow) Run(c *console, g *webhookCommand) error {
	return g.withKeys(c, func(d target) (any, error) {
		a, err := d.registry().Provider(c.ctx, d.domain, s.ID)
		return d.viewAuth(a), known(err, "id", s.ID)
	})
}

type authUpdate struct {
	ID   int64   `arg:"" help:"Id of the provider."`
	Name *string `placeholder:"NAME" help:"New name, unique in the domain."`
	endpointFlags
}

// Run changes a provider.
func (u *authUpdate) Run(c *console, g *webhookCommand) error {
	endpoint, err := u.change()
	if err != nil {
		return err
	}
	change := delivery.ProviderChange{Name: u.Name, Endpoint: endpoint}
	if change == (delivery.ProviderChange{}) {
		return passerelle.MissingField("--name, --url, --client-id, --client-secret-file, --public-cert-file, --private-cert-file", "give at least one of them")
	}
	change.By = settings.ByCommand
	return g.withKeys(c, func(d target) (any, error) {
		a, err := d.registry().UpdateProvider(c.ctx, d.domain, u.ID, change, d.act(delivery.ActChangeProvider, delivery.SubjectProvider))
		return d.viewAuth(a), known(err, "id", u.ID)
	})
}

type authDelete struct {
	ID  *int64 `arg:"" optional:"" help:"Id of the provider. Omit it with --all."`
	All bool   `help:"Delete all providers of the domain. Their webhooks send nothing until they have another provider."`
}

// Run deletes a provider, or all providers.
func (r *authDelete) Run(c *console, g *webhookCommand) error {
	if (r.ID != nil) == r.All {
		return passerelle.MissingField("id, --all", "give one of them")
	}
	return g.at(c, func(d target) (any, error) {
		now := d.domain.Clock.Now(time.Now())
		if r.All {
			return endedView{d.moment(&now)}, d.registry().DeleteProviders(c.ctx, d.domain, settings.ByCommand, d.act(delivery.ActDeleteAllProviders, ""))
		}
		return removedView{*r.ID, d.moment(&now)}, known(d.registry().DeleteProvider(c.ctx, d.domain, *r.ID, settings.ByCommand, d.act(delivery.ActDeleteProvider, delivery.SubjectProvider)), "id", *r.ID)
	})
}

// endedView is the output of a command that deletes all objects of a kind. Deleted is the time of
// the deletion.
type endedView struct {
	Deleted string `json:"deleted"`
}

type authRotate struct {
	ID      int64  `arg:"" help:"Id of the provider."`
	Overlap string `default:"24h" placeholder:"TIME" help:"How long both secrets sign requests, the new one in SVC-Signature-Next: 0s to 30d, such as 36h or 2d."`
}

// Run replaces the secret of a provider.
func (r *authRotate) Run(c *console, g *webhookCommand) error {
	overlap, err := passerelle.ParseDuration("--overlap", r.Overlap)
	if err != nil {
		return err
	}
	return g.withKeys(c, func(d target) (any, error) {
		a, secret, err := d.registry().Rotate(c.ctx, d.domain, r.ID, overlap, settings.ByCommand, d.act(delivery.ActRotateProvider, delivery.SubjectProvider))
		view := d.viewAuth(a)
		view.SecretKey = secret
		return view, known(err, "id", r.ID)
	})
}
