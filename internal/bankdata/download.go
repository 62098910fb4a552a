package bankdata

import (
	"context"
	"path"
	"strconv"

	"passerelle"
	"passerelle/internal/protocol"
)

// extensions are those of the names under which files of these types are saved.
var extensions = map[string]string{
	"application/pdf": ".pdf", "image/gif": ".gif", "image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "text/plain": ".txt",
	"application/vnd.oasis.opendocument.text": ".odt",
}

// download answers with a file of a user, under a name that says what it is.
func (s *Service) download(ctx context.Context, c *protocol.Caller, user passerelle.UserID, id passerelle.FileID, name string) (protocol.Content, error) {
	if id == 0 {
		return protocol.Content{}, passerelle.Missing()
	}
	f, err := s.Filing.Open(ctx, c.Domain, user, id)
	if err != nil {
		return protocol.Content{}, err
	}
	if end := extensions[f.MediaType]; path.Ext(name) != end {
		name += end
	}
	version := strconv.FormatInt(int64(f.ID), 36) + "-" + strconv.FormatInt(f.Stored.UnixMicro(), 36)
	return protocol.Content{MediaType: f.MediaType, Name: name, Version: version, Modified: *f.Stored, Body: f}, nil
}
