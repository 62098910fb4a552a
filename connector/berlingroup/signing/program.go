package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// These are the limits for a signing program: its time, and the size of its response in bytes.
const (
	signTime  = 10 * time.Second
	signBytes = 4096
)

// Program is the operator's program that signs, for keys in a hardware module.
type Program struct {
	// Command is the path of the program, followed by its arguments.
	Command []string
	// Limit is the time that one signature may take.
	Limit time.Duration
}

// NewProgram returns a program with the usual limit, or nil for an empty command.
func NewProgram(command []string) *Program {
	if len(command) == 0 {
		return nil
	}
	return &Program{Command: command, Limit: signTime}
}

// Run gives the program its input, and returns its response. The program gets only the variable
// PATH and the given variables, because the environment may contain secrets of the service.
func (p *Program) Run(ctx context.Context, input []byte, variables ...string) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slow := time.AfterFunc(p.Limit, func() { stop(fmt.Errorf("it took longer than %v", p.Limit)) })
	defer slow.Stop()
	program := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...) //nolint:gosec // the operator names it
	program.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, variables...)
	program.Stdin = bytes.NewReader(input)
	program.WaitDelay = time.Second
	answer := &boundedBuffer{most: signBytes, stop: stop}
	program.Stdout = answer
	err := program.Run()
	if why := context.Cause(ctx); why != nil {
		return nil, why
	}
	if err != nil {
		return nil, err
	}
	return answer.content.Bytes(), nil
}

// boundedBuffer fails when too much is written, and stops the program that writes. It does not
// embed the buffer, because the buffer's method ReadFrom would then bypass Write and the limit.
type boundedBuffer struct {
	content bytes.Buffer
	most    int
	stop    context.CancelCauseFunc
}

var errTooLong = errors.New("its output is too long")

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.content.Len()+len(p) > b.most {
		b.stop(errTooLong)
		return 0, errTooLong
	}
	return b.content.Write(p)
}
