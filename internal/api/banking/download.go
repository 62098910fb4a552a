package banking

import (
	"context"
	"path"
	"strconv"

	"passerelle"
	"passerelle/internal/httpapi"
)

// extensions maps media types to file name extensions.
var extensions = map[string]string{
	"application/pdf": ".pdf", "image/gif": ".gif", "image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "text/plain": ".txt",
	"application/vnd.oasis.opendocument.text": ".odt",
}

// download returns a user's file. It adds the extension of the media type to `name`, unless `name`
// already has that extension.
func (s *Service) download(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, id passerelle.FileID, name string) (httpapi.Content, error) {
	if id == 0 {
		return httpapi.Content{}, passerelle.Missing()
	}
	f, err := s.Documents.Open(ctx, c.Domain, user, id)
	if err != nil {
		return httpapi.Content{}, err
	}
	if end := extensions[f.MediaType]; path.Ext(name) != end {
		name += end
	}
	version := strconv.FormatInt(int64(f.ID), 36) + "-" + strconv.FormatInt(f.Stored.UnixMicro(), 36)
	return httpapi.Content{MediaType: f.MediaType, Name: name, Version: version, Modified: *f.Stored, Body: f}, nil
}
