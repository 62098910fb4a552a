package servicetest

// EndWithTest lets tests start programs that end with the test.
var EndWithTest = endWithTest
