package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"

	"passerelle"
	"passerelle/internal/store"
)

// These are the limits of an uploaded logo: its bytes, and its pixels in each direction.
const (
	MaxLogo     = 256 << 10
	maxLogoSide = 2048
)

// logoSizes lists the largest sizes of a stored logo. The first size is twice the size on pages,
// for screens with a high resolution. The second size is the size on pages. It is for logos that
// would make pages too large at the first size.
var logoSizes = []image.Point{{320, 80}, {160, 40}}

// maxKeptLogo is the largest number of bytes of a logo at the first size. Larger logos are stored
// at the second size. The budget of a whole page is 100 kB.
const maxKeptLogo = 32 << 10

// pictures maps the allowed formats of a logo to their encoders.
var pictures = map[string]func(io.Writer, image.Image) error{
	"png": png.Encode,
	"jpeg": func(w io.Writer, picture image.Image) error {
		return jpeg.Encode(w, picture, &jpeg.Options{Quality: 85})
	},
}

// SetLogo stores a PNG or JPEG as the logo of an application, and returns the logo with its id. The
// new logo replaces an earlier one. SetLogo draws the picture again, to remove hidden data. The
// first bytes of the picture decide its format. SetLogo fails with store.ErrNotFound when the
// client does not exist.
func (a *Access) SetLogo(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, content []byte, acts ...store.Audit) (store.Logo, error) {
	logo, err := drawn(content)
	if err != nil {
		return store.Logo{}, err
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.SetLogo(domain, id, &logo, a.Now()), tx.AuditOf(int64(id), acts...))
	})
	if err != nil {
		return store.Logo{}, fmt.Errorf("store the logo of client %d: %w", id, err)
	}
	return logo, nil
}

// drawn returns a logo in its stored form.
func drawn(content []byte) (store.Logo, error) {
	if len(content) > MaxLogo {
		return store.Logo{}, passerelle.InvalidField("logo", "must have at most %d bytes", MaxLogo)
	}
	size, form, err := image.DecodeConfig(bytes.NewReader(content))
	write, known := pictures[form]
	if err != nil || !known {
		return store.Logo{}, passerelle.InvalidField("logo", "must be a picture in PNG or JPEG")
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxLogoSide || size.Height > maxLogoSide {
		return store.Logo{}, passerelle.InvalidField("logo", "must have from 1 to %d pixels in each direction", maxLogoSide)
	}
	picture, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return store.Logo{}, passerelle.InvalidField("logo", "is incomplete or damaged")
	}
	var kept bytes.Buffer
	for _, bounds := range logoSizes {
		kept.Reset()
		if err := write(&kept, scaled(picture, bounds)); err != nil {
			return store.Logo{}, fmt.Errorf("draw a logo: %w", err)
		}
		if kept.Len() <= maxKeptLogo {
			break
		}
	}
	return store.Logo{MediaType: "image/" + form, Content: kept.Bytes()}, nil
}

// scaled returns the picture, made smaller if it does not fit into bounds. The picture keeps its
// proportions.
func scaled(picture image.Image, bounds image.Point) image.Image {
	size := picture.Bounds().Size()
	width, height := size.X, size.Y
	if width > bounds.X {
		width, height = bounds.X, max(height*bounds.X/width, 1)
	}
	if height > bounds.Y {
		width, height = max(width*bounds.Y/height, 1), bounds.Y
	}
	small := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.CatmullRom.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return small
}

// DeleteLogo removes the logo of an application. It fails with store.ErrNotFound when there is no
// logo. It stores the change and the acts in one transaction.
func (a *Access) DeleteLogo(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, acts ...store.Audit) error {
	return a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DeleteLogo(domain, id)
		return tx.AuditOf(int64(id), acts...)
	})
}
