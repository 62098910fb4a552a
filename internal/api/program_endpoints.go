package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/httpapi"
	"passerelle/internal/programs"
	"passerelle/internal/store"
)

// ofDeployment requires a config token with the scope of the deployment. It protects calls that
// affect all domains. Only the command line creates such tokens.
var ofDeployment = httpapi.Needs{Kinds: []access.TokenKind{access.ConfigToken}, AnyScope: []passerelle.Scope{passerelle.ScopeDeployment}}

func (s *Service) programRoutes() []httpapi.Route {
	const one = "/connector_programs/{programId}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/connector_programs", Needs: ofDeployment, Endpoint: httpapi.Handle(s.listPrograms),
			Summary: "List connector programs", Doc: "Lists the deployment's connectors that run as separate programs, oldest first. All domains have them.",
		},
		{
			Method: http.MethodPost, Pattern: "/connector_programs", Needs: ofDeployment, Creates: "connector_program", Resumes: true, Endpoint: httpapi.Handle(s.addProgram),
			Summary: "Add a connector program", Errors: []string{"unavailable"},
			Doc: "Reads the profile of a connector program and adds it as a connector to all domains. The connector is available within seconds. The secret is never shown.",
		},
		{
			Method: http.MethodGet, Pattern: one, Needs: ofDeployment, Endpoint: httpapi.Handle(s.oneProgram),
			Summary: "Read a connector program", Doc: "Returns a connector program, by its uuid or its number.",
		},
		{
			Method: http.MethodPost, Pattern: one + "/check", Needs: ofDeployment, Endpoint: httpapi.Handle(s.checkProgram),
			Summary: "Refresh the profile of a connector program", Errors: []string{"unavailable"}, Doc: "Reads the profile of the program again and stores it.",
		},
		{
			Method: http.MethodDelete, Pattern: one, Needs: ofDeployment, Endpoint: httpapi.Handle(s.removeProgram),
			Summary: "Remove a connector program", Doc: "Removes a program from all domains. Its connections and payments stay, but are no longer updated.",
		},
	}
}

// record returns the audit entry for an act of the caller on a connector program.
func (s *Service) record(c *httpapi.Caller, act string) store.Audit {
	return store.Audit{At: s.Now(), Request: c.Request, Act: act, Subject: programs.Subject}
}

// recordIn returns the audit entry for an act of the caller in the caller's domain. The subject is
// the kind of the object, empty for an act without an object.
func (s *Service) recordIn(c *httpapi.Caller, act, subject string) store.Audit {
	return store.Audit{Domain: c.Domain.ID, At: s.Now(), Request: c.Request, Act: act, Subject: subject}
}

type programOutput struct {
	ID           int64    `json:"id" doc:"deprecated number of the connector"`
	UUID         string   `json:"uuid"`
	Address      string   `json:"address" doc:"base address: the part before /v1/profile"`
	Name         *string  `json:"name"`
	Countries    []string `json:"countries"`
	Capabilities []string `json:"capabilities" doc:"kinds of data that the connector reads"`
	Payments     bool     `json:"payments"`
	Added        string   `json:"added" doc:"in UTC"`
	Error        *string  `json:"error" doc:"why the connector does not work: its profile cannot be read, or its last calls failed; null when it works"`
}

func (s *Service) showProgram(p programs.Program) programOutput {
	shown := programOutput{
		ID: p.Number(), UUID: p.UUID, Address: p.Address, Name: optionalText(p.Described.Name), Countries: append([]string{}, p.Described.Countries...), Capabilities: []string{},
		Payments: p.Described.Payments != nil, Added: passerelle.FormatDateTime(p.Added, time.UTC),
	}
	if p.Described.Data != nil {
		shown.Capabilities = append(shown.Capabilities, p.Described.Data.Capabilities...)
	}
	shown.Error = optionalText(s.programFault(p))
	return shown
}

// programFault says why a program does not work, or returns "".
func (s *Service) programFault(p programs.Program) string {
	h, _ := s.Aggregation.Connectors.Health(p.UUID)
	switch {
	case p.Err != nil:
		return "the stored profile of the program cannot be read; read the profile again"
	case h.Failures > 0:
		return fmt.Sprintf("calls have failed, %d in a row, the last one at %s UTC", h.Failures, passerelle.FormatDateTime(h.LastFailure, time.UTC))
	case h.Elsewhere:
		return "calls of another replica have failed several times in a row"
	}
	return ""
}

type listProgramsInput struct{ httpapi.Paging }

type listProgramsOutput struct {
	Programs []programOutput `json:"connector_programs"`
	httpapi.Listing
}

func (s *Service) listPrograms(ctx context.Context, _ *httpapi.Caller, in listProgramsInput) (listProgramsOutput, error) {
	all, err := programs.List(ctx, &s.DB.Reader)
	if err != nil {
		return listProgramsOutput{}, err
	}
	fetch := func(_ context.Context, _ *store.Reader, w httpapi.PageWindow) ([]programs.Program, error) {
		return windowOf(all, programs.Program.Number, w), nil
	}
	position := func(p programs.Program) httpapi.Position { return httpapi.Position{p.Number()} }
	count := func(context.Context, *store.Reader) (int64, error) { return int64(len(all)), nil }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	out := listProgramsOutput{Programs: make([]programOutput, len(rows)), Listing: listing}
	for i, p := range rows {
		out.Programs[i] = s.showProgram(p)
	}
	return out, err
}

type oneProgramInput struct {
	ID string `path:"programId" doc:"uuid or number of the connector"`
}

// program returns the program that the call names.
func (s *Service) program(ctx context.Context, in oneProgramInput) (programs.Program, error) {
	p, err := programs.Find(ctx, &s.DB.Reader, in.ID)
	if errors.Is(err, store.ErrNotFound) {
		return p, &passerelle.Error{Kind: passerelle.NotFound, Code: "notFound"}
	}
	return p, err
}

func (s *Service) oneProgram(ctx context.Context, _ *httpapi.Caller, in oneProgramInput) (programOutput, error) {
	p, err := s.program(ctx, in)
	return s.showProgram(p), err
}

type addProgramInput struct {
	Address string `body:"address,required" max:"2000" doc:"base address, the part before /v1/profile; https, or http on this machine and in private networks"`
	Secret  string `body:"secret,required" max:"256" doc:"secret shared by the program and the service, 32 to 256 characters"`
}

func (s *Service) addProgram(ctx context.Context, c *httpapi.Caller, in addProgramInput) (programOutput, error) {
	if c.Made != 0 {
		made := programs.Program{ConnectorProgram: store.ConnectorProgram{ID: c.Made}}
		return s.oneProgram(ctx, c, oneProgramInput{strconv.FormatInt(made.Number(), 10)})
	}
	p, err := s.Programs.Add(ctx, in.Address, in.Secret, s.record(c, programs.ActAdd))
	return s.showProgram(p), err
}

func (s *Service) checkProgram(ctx context.Context, c *httpapi.Caller, in oneProgramInput) (programOutput, error) {
	p, err := s.program(ctx, in)
	if err != nil {
		return programOutput{}, err
	}
	if err := s.Programs.Check(ctx, p, s.record(c, programs.ActCheck)); err != nil {
		return programOutput{}, err
	}
	return s.oneProgram(ctx, c, in)
}

func (s *Service) removeProgram(ctx context.Context, c *httpapi.Caller, in oneProgramInput) (httpapi.Nothing, error) {
	p, err := s.program(ctx, in)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Programs.Remove(ctx, p, s.record(c, programs.ActRemove))
}
