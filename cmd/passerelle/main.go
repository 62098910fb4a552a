// Command passerelle is the service in one binary: the API, the pages, the sandbox and the commands
// for operators.
//
// It owns the parts that tests cannot control: the real environment, signals, the exit status and
// the texts of the command line. It contains no business rules. Commands call the use cases or, for
// operators, the database. The exit status is 0 on success, 1 when a command failed, and 2 when the
// call was wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones of domains, even if the machine has no zone files

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities, for machines and containers without certificate authorities

	"passerelle"
	"passerelle/internal/output"
	"passerelle/internal/progress"
)

// The linker sets this information about the build.
var (
	version   = "development"
	committed = ""
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	status := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// These are the documented exit statuses.
const (
	succeeded = 0
	failed    = 1
	misused   = 2
)

// program defines the command line for kong. The tag resume of a long command says how to continue
// after an interruption.
type program struct {
	JSON       bool   `name:"json" help:"Print only one JSON value on standard output."`
	ConfigFile string `name:"config" placeholder:"FILE" help:"File with variables of the environment, one NAME=VALUE a line. The environment and the command line take precedence."`

	Dev        devCommand        `cmd:"" help:"Run the whole service on this machine, with a sandbox, ready for a first payment."`
	Serve      serveCommand      `cmd:"" help:"Run the service in production."`
	Migrate    migrateCommand    `cmd:"" help:"Bring the schema of a database up to date." resume:"all missing migrations were applied or none, and the same command applies the rest"`
	Domain     domainCommand     `cmd:"" help:"Manage domains (tenants): base URL, kind, creation date."`
	Client     clientCommand     `cmd:"" help:"Manage applications that call the API, and their credentials."`
	User       userCommand       `cmd:"" help:"List and delete the end users of a domain."`
	Connection connectionCommand `cmd:"" help:"List connections of users to institutions."`
	Connector  connectorCommand  `cmd:"" help:"List institutions and configure them for a domain."`
	Bank       bankCommand       `cmd:"" help:"Validate and check banks that are described in files."`
	Import     importCommand     `cmd:"" help:"Send statement files to a user's account in a running service." resume:"the imported files are kept; the same command sends all files again, and the service recognises what it has"`
	Token      tokenCommand      `cmd:"" help:"Manage tokens for the operator's own programs."`
	Config     configCommand     `cmd:"" help:"Read and change the settings of a domain."`
	Terms      termsCommand      `cmd:"" help:"Publish the terms of service that payers accept."`
	Webhook    webhookCommand    `cmd:"" help:"Manage webhooks, their deliveries, and how requests are authenticated."`
	Keys       keysCommand       `cmd:"" help:"Manage the key file, whose keys encrypt the secrets in the database."`

	Operator    operatorCommand    `cmd:"" help:"Manage the operators of the console."`
	Audit       auditCommand       `cmd:"" help:"Read and verify the audit log."`
	Scenarios   scenariosCommand   `cmd:"" help:"List the scenarios of the sandbox banks."`
	Testbank    testbankCommand    `cmd:"" help:"Run test banks for connectors."`
	Maintenance maintenanceCommand `cmd:"" help:"Close the API for maintenance."`
	Backup      backupCommand      `cmd:"" help:"Copy a database to a file while it is in use." resume:"there is no copy, and the same command makes one from the beginning"`
	Restore     restoreCommand     `cmd:"" help:"Restore a database from a copy." resume:"nothing was restored, and the same command restores everything"`
	Files       filesCommand       `cmd:"" help:"Check the stored files."`
	Doctor      doctorCommand      `cmd:"" help:"Check the database, its schema and keys, the clocks, and the addresses of webhooks." resume:"nothing was changed, and the same command checks everything again"`
	Healthcheck healthcheckCommand `cmd:"" help:"Check whether the service on this machine is alive."`
	Completion  completionCommand  `cmd:"" help:"Print a script that completes commands in a shell."`
	Version     versionCommand     `cmd:"" help:"Print the version and build of this program."`
}

// console gives a command access to its process.
type console struct {
	ctx      context.Context
	out, err io.Writer
	json     bool
	log      *slog.Logger
	// environment contains the variables from the file of --config, followed by the variables of
	// the process. The variables of the process take precedence.
	environment []string
	// resume says how to continue after an interruption. It is empty for short commands.
	resume string
}

// run is the program without access to its process. It takes the arguments, the environment and two
// writers, and returns the exit status.
func run(ctx context.Context, args, environment []string, out, diagnostics io.Writer) int {
	var p program
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	exit := -1
	command, environment, err := parse(&p, args, environment, out, diagnostics, func(code int) { exit = code })
	if exit >= 0 {
		return exit // kong has printed the help
	}
	if err != nil {
		complain(diagnostics, sentence(err)+moreWords(err))
		return misused
	}
	return execute(command, &console{ctx: ctx, out: out, err: diagnostics, json: p.JSON, log: slog.New(slog.NewJSONHandler(diagnostics, nil)), environment: environment, resume: command.Selected().Tag.Get("resume")})
}

// parse reads the command line. Variables in a file and in the environment set the flags that the
// command line omits. parse returns all variables.
func parse(p *program, args, environment []string, out, diagnostics io.Writer, exit func(int)) (*kong.Context, []string, error) {
	all, err := withConfigFile(args, environment)
	if err != nil {
		return nil, nil, err
	}
	parser, err := newParser(p, all, out, diagnostics, exit)
	if err != nil {
		return nil, nil, err
	}
	command, err := parser.Parse(withNegatives(parser.Model, args))
	if err == nil {
		err = unknownVariables(parser.Model, "the environment variable", environment)
	}
	if err == nil {
		err = unknownVariables(parser.Model, configFlag+": "+configFileOf(args, environment)+": the variable", all)
	}
	if err == nil {
		err = checkRanges(command)
	}
	return command, all, err
}

func execute(command *kong.Context, c *console) int {
	err := command.Run(c)
	if err == nil {
		return succeeded
	}
	if c.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		complain(c.err, "interrupted; "+cmp.Or(c.resume, "see whether the change was made before you run the same command again"))
		return failed
	}
	complain(c.err, explain(command, err))
	if errors.Is(err, passerelle.Invalid) {
		return misused // repeating the same call would fail again
	}
	return failed
}

// complain writes an error as one line even if its text has several lines, because readers treat
// each line as an error.
func complain(diagnostics io.Writer, text string) {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	fmt.Fprintln(diagnostics, "passerelle:", strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": "))
}

// sentence returns the message of a passerelle.Error, and the text of any other error.
func sentence(err error) string {
	if wrong, is := errors.AsType[*passerelle.Error](err); is {
		return wrong.Message
	}
	return err.Error()
}

// moreWords completes kong's message about a missing word when the message does not name all words
// that are possible.
func moreWords(err error) string {
	if strings.HasPrefix(err.Error(), "expected one of ") && strings.HasSuffix(err.Error(), "...") {
		return " (--help lists all)"
	}
	if call, is := errors.AsType[*kong.ParseError](err); is && strings.HasPrefix(err.Error(), `expected "<`) {
		words := call.Context.Selected().Positional
		if i := slices.IndexFunc(words, func(one *kong.Positional) bool { return one.Enum != "" && !one.Set }); i >= 0 {
			return ": " + strings.ReplaceAll(words[i].Enum, ",", ", ")
		}
	}
	return ""
}

// explain returns the sentence of an error. If the sentence begins with the name of an API field,
// explain replaces the name with the flag for the field.
func explain(command *kong.Context, err error) string {
	var wrong *passerelle.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if why, named := strings.CutPrefix(wrong.Message, wrong.Field+": "); named {
		return flagOf(command, wrong.Field) + ": " + why
	}
	return wrong.Message
}

// flagOf returns the flag for a field of the API, such as --user for id_user and
// --client-secret-file for config.client_secret. A field without a flag is returned unchanged.
func flagOf(command *kong.Context, field string) string {
	name := field[strings.LastIndex(field, ".")+1:]
	name = strings.ReplaceAll(strings.TrimPrefix(name, "id_"), "_", "-")
	for _, flag := range command.Flags() {
		if flag.Name == name || flag.Name == name+"-file" || flag.Name+"s" == name {
			return "--" + flag.Name
		}
	}
	return field
}

func newParser(p *program, environment []string, out, diagnostics io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(p,
		kong.Name("passerelle"), kong.Description(description),
		kong.Writers(out, diagnostics), kong.Exit(exit),
		kong.Resolvers(environmentResolver(environment)),
	)
}

const description = `An open service for banking data and payment initiation.

Every flag has a twin in the environment: --base-url is PASSERELLE_BASE_URL. The exit status is 0, 1 when the command
failed, or 2 when it was called wrongly.`

// environmentResolver gives every flag an environment variable: --base-url is
// PASSERELLE_BASE_URL. A flag on the command line takes precedence over its variable, and over the
// variable of the other flag for the same value: --database over PASSERELLE_DATABASE_FILE, and
// --database-file over PASSERELLE_DATABASE.
func environmentResolver(environment []string) kong.Resolver {
	values := map[string]string{}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return kong.ResolverFunc(func(c *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		replaced := slices.ContainsFunc(c.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == twin(flag.Name, "-file") })
		if value, set := values[variable(flag)]; set && !replaced {
			return value, nil
		}
		return nil, nil
	})
}

// twin returns the flag or variable that replaces another one: X for X-file, and X-file for X.
func twin(name, suffix string) string {
	if value, file := strings.CutSuffix(name, suffix); file {
		return value
	}
	return name + suffix
}

const (
	variablePrefix = "PASSERELLE_"
	testPrefix     = variablePrefix + "TEST_"
)

// variable returns the environment variable of a flag. The flag for help has no variable.
func variable(flag *kong.Flag) string {
	if flag.Name == "help" {
		return ""
	}
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
}

// unknownVariables refuses unknown variables, because a misspelt variable would otherwise silently
// have no effect. The error begins with what. Variables for tests are ignored.
func unknownVariables(app *kong.Application, what string, environment []string) error {
	known := map[string]bool{}
	eachFlag(app.Node, func(flag *kong.Flag) { known[variable(flag)] = true })
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, variablePrefix) && !strings.HasPrefix(name, testPrefix) && !known[name] {
			return fmt.Errorf("%s %s is not known to this program", what, name)
		}
	}
	return nil
}

// eachFlag calls a function with each flag of a command and of its subcommands.
func eachFlag(node *kong.Node, do func(*kong.Flag)) {
	for _, flag := range node.Flags {
		do(flag)
	}
	for _, child := range node.Children {
		eachFlag(child, do)
	}
}

// meter shows the progress of long work on standard error. A command with long work must have the
// struct tag resume.
func (c *console) meter(work string) *progress.Meter {
	if c.resume == "" {
		panic("the command with the work " + work + " has no tag resume")
	}
	return progress.Start(c.err, c.json, work)
}

// show prints the result of a command.
func (c *console) show(result any) error { return output.Print(c.out, result, c.json) }
