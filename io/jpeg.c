/* JPEG through TurboJPEG's functions of version 2, which version 3 has as well. */
#include <stdio.h>
#include <stdlib.h>
#include <turbojpeg.h>

#include "convop/registry.h"
#include "io/codec.h"

/* A progressive file of a few kilobytes may otherwise ask for hours of work. */
#ifdef TJFLAG_LIMITSCANS
#define LIMIT_SCANS TJFLAG_LIMITSCANS
#else
#define LIMIT_SCANS 0
#endif

struct cvp_io_jpeg {
    tjhandle reader; /* of the file that is being decoded */
    tjhandle writer;
    struct cvp_io_image inks; /* CMYK on its way to RGB */
};

static convop_status not_started(void)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "JPEG: the library cannot be started");
}

static convop_status prepare(struct cvp_io_jpeg **codec)
{
    if (!*codec) *codec = calloc(1, sizeof **codec);
    return *codec ? CONVOP_OK : not_started();
}

void cvp_io_jpeg_free(struct cvp_io_jpeg **codec)
{
    struct cvp_io_jpeg *j = *codec;
    if (!j) return;
    if (j->writer) tjDestroy(j->writer);
    cvp_io_image_free(&j->inks);
    free(j);
    *codec = NULL;
}

struct header {
    int width, height, colorspace;
};

static convop_status read_header(struct cvp_io_jpeg *j, const unsigned char *data, size_t bytes,
                                 struct header *h)
{
    int sampling = -1;
    *h = (struct header){0, 0, -1};
    if (bytes < 4)
        return convop_fail(CONVOP_E_INVALID, "JPEG: truncated: the file has %zu bytes", bytes);
    const int failed = tjDecompressHeader3(j->reader, data, (unsigned long)bytes, &h->width,
                                           &h->height, &sampling, &h->colorspace) != 0;
    /* Version 2 knows only the usual samplings by name, but decodes the others too. */
    const int usable = h->width > 0 && h->height > 0 && h->colorspace >= 0;
    if (usable && (!failed || sampling < 0 || tjGetErrorCode(j->reader) == TJERR_WARNING))
        return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "JPEG: %s",
                       failed ? tjGetErrorStr2(j->reader)
                              : "truncated: there are tables in it and no image");
}

/* Decodes; a complaint that leaves a whole picture goes to `warning`. */
static convop_status decompress(struct cvp_io_jpeg *j, const unsigned char *data, size_t bytes,
                                int format, struct cvp_io_image *image, char *warning, size_t size)
{
    warning[0] = 0;
    if (tjDecompress2(j->reader, data, (unsigned long)bytes, image->data, image->width,
                      image->width * image->channels, image->height, format, LIMIT_SCANS) == 0)
        return CONVOP_OK;
    if (tjGetErrorCode(j->reader) != TJERR_WARNING)
        return convop_fail(CONVOP_E_INVALID, "JPEG: %s", tjGetErrorStr2(j->reader));
    snprintf(warning, size, "JPEG: %s", tjGetErrorStr2(j->reader));
    return CONVOP_OK;
}

static unsigned char multiply(unsigned ink, unsigned black)
{
    return (unsigned char)((ink * black + 127) / 255);
}

/* Four-ink files hold 255 minus the ink, as Adobe writes them; other programs read all of them so,
 * and a file without Adobe's marker says nothing else. Gray has the weights of ITU-R BT.601. */
static void mix_inks(const struct cvp_io_image *inks, struct cvp_io_image *to)
{
    const size_t n = (size_t)inks->width * (size_t)inks->height;
    const unsigned char *p = inks->data;
    unsigned char *q = to->data;
    for (size_t i = 0; i < n; i++, p += 4) {
        const unsigned char r = multiply(p[0], p[3]), g = multiply(p[1], p[3]),
                            b = multiply(p[2], p[3]);
        if (to->channels == 1) {
            *q++ = (unsigned char)((299 * r + 587 * g + 114 * b + 500) / 1000);
        } else {
            *q++ = r;
            *q++ = g;
            *q++ = b;
        }
    }
}

static convop_status decode(struct cvp_io_jpeg *j, const unsigned char *data, size_t bytes,
                            int channels, struct cvp_io_image *image, char *warning, size_t size)
{
    struct header h;
    convop_status status = read_header(j, data, bytes, &h);
    if (status != CONVOP_OK) return status;
    const int four = h.colorspace == TJCS_CMYK || h.colorspace == TJCS_YCCK;
    if (channels == 0) channels = h.colorspace == TJCS_GRAY ? 1 : 3;
    status = cvp_io_image_reserve(image, h.width, h.height, channels);
    if (status == CONVOP_OK && four) status = cvp_io_image_reserve(&j->inks, h.width, h.height, 4);
    if (status != CONVOP_OK) return status;
    if (!four)
        return decompress(j, data, bytes, channels == 1 ? TJPF_GRAY : TJPF_RGB, image, warning,
                          size);
    status = decompress(j, data, bytes, TJPF_CMYK, &j->inks, warning, size);
    if (status == CONVOP_OK) mix_inks(&j->inks, image);
    return status;
}

/* Each file has a handle of its own. What a file leaves in one shows in the next: tables, which a
 * file without tables would use, and after an error a state in which good files fail. */
convop_status cvp_io_jpeg_decode(struct cvp_io_jpeg **codec, const unsigned char *data,
                                 size_t bytes, int channels, struct cvp_io_image *image,
                                 char *warning, size_t size)
{
    convop_status status = prepare(codec);
    if (status != CONVOP_OK) return status;
    (*codec)->reader = tjInitDecompress();
    if (!(*codec)->reader) return not_started();
    status = decode(*codec, data, bytes, channels, image, warning, size);
    tjDestroy((*codec)->reader);
    return status;
}

convop_status cvp_io_jpeg_encode(struct cvp_io_jpeg **codec, const struct cvp_io_image *image,
                                 int quality, struct cvp_io_record *out)
{
    convop_status status = prepare(codec);
    if (status != CONVOP_OK) return status;
    if (!(*codec)->writer) (*codec)->writer = tjInitCompress();
    if (!(*codec)->writer) return not_started();
    const int gray = image->channels == 1, sampling = gray ? TJSAMP_GRAY : TJSAMP_420;
    const unsigned long most = tjBufSize(image->width, image->height, sampling);
    if (most == (unsigned long)-1)
        return convop_fail(CONVOP_E_INVALID, "JPEG: %s", tjGetErrorStr2((*codec)->writer));
    status = cvp_io_record_reserve(out, most);
    if (status != CONVOP_OK) return status;
    unsigned char *to = out->data;
    unsigned long bytes = most;
    if (tjCompress2((*codec)->writer, image->data, image->width, 0, image->height,
                    gray ? TJPF_GRAY : TJPF_RGB, &to, &bytes, sampling, quality,
                    TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) != 0)
        return convop_fail(CONVOP_E_INVALID, "JPEG: %s", tjGetErrorStr2((*codec)->writer));
    out->size = bytes;
    return CONVOP_OK;
}
