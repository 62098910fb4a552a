// Package control lets a tester control the banks of a program: their time, their accounts,
// their customers' decisions and their failures.
//
// It owns a JSON interface without certificates, which must listen only on the loopback address. It
// refuses requests with an Origin header, so pages in a browser cannot control a bank. It does not
// decide anything: package bank does. A wrong request fails with a sentence, and mostly with the
// status 400.
package control
