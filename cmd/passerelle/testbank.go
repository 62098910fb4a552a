package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"passerelle/testbank"
	"passerelle/testbank/eidas"
)

type testbankCommand struct {
	Run   testbankRun   `cmd:"" default:"withargs" help:"Run the test banks as a separate program: their API over mutual TLS, their pages, and an API to control them. The word run is optional."`
	Certs testbankCerts `cmd:"" help:"Create a test authority, and valid and invalid certificates with PSD2 roles."`
}

type testbankRun struct {
	Listen     string        `default:"127.0.0.1:9443" help:"Address for third parties; port 0 picks a free one."`
	Address    string        `placeholder:"HOST:PORT" help:"Address where third parties reach the banks through a proxy. Bank files and links use it."`
	Pages      string        `default:"127.0.0.1:9444" help:"Address of the pages for customers."`
	Control    string        `default:"127.0.0.1:9445" help:"Address of the API that controls the banks. It requires no credentials, so keep it on loopback."`
	Data       string        `default:"testbank-data" help:"Folder for certificates, account books and bank files; created when missing." type:"path"`
	Profile    []string      `placeholder:"NAME,…" help:"Profiles of the banks to run; all by default."`
	Settlement time.Duration `default:"2s" least:"0s" help:"How long a transfer stays pending; instant transfers are never pending."`
	UntilInput bool          `help:"Exit when standard input ends, such as when the parent program exits."`
	SlowAnswer time.Duration `default:"3s" least:"0s" help:"Delay of slow responses in tests."`
}

// banksView is the output of testbank when it is ready.
type banksView struct {
	Banks   []testbank.Opened `json:"banks"`
	Folder  string            `json:"folder"`
	Pages   string            `json:"pages"`
	Control string            `json:"control"`
	PID     int               `json:"pid"`
}

// Run serves until the context ends or, with --until-input, standard input ends.
func (t *testbankRun) Run(c *console) error {
	program, err := testbank.Open(c.ctx, testbank.Config{
		Data: t.Data, Listen: t.Listen, Address: t.Address, Pages: t.Pages, Control: t.Control, Profiles: t.Profile,
		Settlement: t.Settlement, SlowAnswer: t.SlowAnswer, Log: c.log,
	})
	if err != nil {
		return err
	}
	view := banksView{Banks: program.Opened, Folder: program.Folder, Pages: program.Pages, Control: program.Control, PID: os.Getpid()}
	if c.json {
		err = c.show(view)
	} else {
		view.print(c)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if t.UntilInput {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // blocks until the pipe closes, for any reason
			cancel()
		}()
	}
	return program.Serve(ctx)
}

func (v banksView) print(c *console) {
	for _, b := range v.Banks {
		fmt.Fprintf(c.out, "%-48s %s\n", b.Title, b.API)
	}
	fmt.Fprintf(c.out, "\nBank files:  %s   (passerelle serve --banks, or dev --banks)\nPages:       %s\nControl:     %s/banks\n", v.Folder, v.Pages, v.Control)
}

type testbankCerts struct {
	Folder string   `arg:"" name:"dir" type:"path" help:"Folder to write to. An existing authority stays unchanged."`
	Host   []string `placeholder:"HOST,…" help:"Additional names and addresses in the server's certificate, besides this machine."`
}

// certsView is the output of testbank certs.
type certsView struct {
	Organization string   `json:"organization"`
	Files        []string `json:"files"`
}

// Run writes the certificates.
func (t *testbankCerts) Run(c *console) error {
	written, err := eidas.WriteFolder(t.Folder, time.Now(), t.Host...)
	if err != nil {
		return err
	}
	if c.json {
		return c.show(certsView{eidas.TestOrganization, written})
	}
	for _, path := range written {
		fmt.Fprintln(c.out, path)
	}
	return nil
}
