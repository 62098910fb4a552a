// Package control lets a tester control the banks of a program: their time, their accounts,
// their customers' decisions and their failures.
//
// It owns a JSON interface without certificates, which must listen only on the loopback address. It
// refuses requests that a browser sends from another site. It does not decide anything:
// package bank does. Wrong requests fail with 400 and a sentence.
package control
