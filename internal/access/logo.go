package access

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // the two forms a logo may have
	_ "image/png"

	"passerelle"
	"passerelle/internal/store"
)

// The bounds of a logo: bytes, and pixels in each direction.
const (
	MaxLogo     = 256 << 10
	maxLogoSide = 4096
)

// SetLogo gives an application a picture, PNG or JPEG, in place of an earlier
// one, and returns it with its id. What a picture is said to be does not count,
// only what its first bytes say. A client that is not there is store.ErrNotFound.
func (a *Access) SetLogo(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, content []byte) (store.Logo, error) {
	if len(content) > MaxLogo {
		return store.Logo{}, passerelle.InvalidField("logo", "must have at most %d bytes", MaxLogo)
	}
	size, form, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || (form != "png" && form != "jpeg") {
		return store.Logo{}, passerelle.InvalidField("logo", "must be a picture in PNG or JPEG")
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxLogoSide || size.Height > maxLogoSide {
		return store.Logo{}, passerelle.InvalidField("logo", "must have from 1 to %d pixels in each direction", maxLogoSide)
	}
	logo := store.Logo{MediaType: "image/" + form, Content: content}
	err = a.DB.Write(ctx, func(tx *store.Tx) error { return tx.SetLogo(domain, id, &logo, a.Now()) })
	if err != nil {
		return store.Logo{}, fmt.Errorf("store the logo of client %d: %w", id, err)
	}
	return logo, nil
}

// DeleteLogo removes the picture of an application; none is store.ErrNotFound.
func (a *Access) DeleteLogo(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID) error {
	return a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DeleteLogo(domain, id)
		return nil
	})
}
