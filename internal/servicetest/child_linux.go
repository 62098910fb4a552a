package servicetest

import (
	"os/exec"
	"syscall"
)

// endWithTest makes the kernel send a signal to a child process when this process ends, because a
// killed test, or a test over its time limit, runs no cleanup.
func endWithTest(child *exec.Cmd, signal syscall.Signal) {
	if child.SysProcAttr == nil {
		child.SysProcAttr = &syscall.SysProcAttr{}
	}
	child.SysProcAttr.Pdeathsig = signal
}
