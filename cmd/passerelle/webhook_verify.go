package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"passerelle/internal/delivery"
)

type authVerify struct {
	Provider  string `arg:"" help:"Id or name of the provider that signs."`
	Method    string `default:"POST" placeholder:"METHOD" help:"Method of the request."`
	URL       string `required:"" placeholder:"URL" help:"URL of the request, or its path."`
	Date      string `required:"" placeholder:"DATE" help:"Header SVC-Signature-Date of the request."`
	Signature string `required:"" placeholder:"BASE64" help:"Header SVC-Signature of the request."`
	BodyFile  string `required:"" placeholder:"FILE|-" help:"File with the decompressed body, byte for byte, or - for standard input."`
}

// signatureCheckView is the printed form of the result of checking a signature.
type signatureCheckView struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason"`
}

// errNotValid means that the command has printed the result "not valid".
var errNotValid = errors.New("the signature is not valid")

// Run checks a signature.
func (v *authVerify) Run(c *console, g *webhookCommand) error {
	body, err := v.body()
	if err != nil {
		return fmt.Errorf("read the file of --body-file: %w", err)
	}
	var check delivery.SignatureCheck
	err = g.withKeys(c, func(d target) (any, error) {
		check, err = d.registry().Verify(c.ctx, d.domain, delivery.SignedRequest{
			Provider: v.Provider, Method: v.Method, URL: v.URL, Date: v.Date, Body: body, Signature: v.Signature,
		})
		return signatureCheckView(check), err
	})
	if err == nil && !check.Valid {
		return errNotValid
	}
	return err
}

// body returns the body unchanged, because a body, unlike a secret, may end with a line break.
func (v *authVerify) body() (string, error) {
	file := os.Stdin
	if v.BodyFile != "-" {
		opened, err := os.Open(v.BodyFile)
		if err != nil {
			return "", err
		}
		defer opened.Close()
		file = opened
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxVerifiedBody+1))
	if len(raw) > maxVerifiedBody {
		return "", fmt.Errorf("the body has more than %d bytes", maxVerifiedBody)
	}
	return string(raw), err
}

// maxVerifiedBody limits the size of a body. It equals webhook.DefaultLimit.
const maxVerifiedBody = 64 << 20
