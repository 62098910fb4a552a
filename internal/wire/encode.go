package wire

import (
	"bytes"
	"encoding/json"
)

// Encode returns the JSON of an object that the service sends. The JSON is compact and does not
// escape HTML characters.
func Encode(object any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		panic("wire: an object of this package cannot be encoded: " + err.Error())
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
