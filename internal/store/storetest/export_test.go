package storetest

// Execute makes execute available to the tests of this package.
var Execute = execute
