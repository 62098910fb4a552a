// Package control lets a tester control the banks of a program: their time, their accounts,
// their customers' decisions and their failures.
//
// It owns an interface of JSON without certificates, which is to listen on loopback
// alone; it refuses what a browser sends from another page. It does not decide
// anything: package bank does. Wrong requests fail with 400 and a sentence.
package control
