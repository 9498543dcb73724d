/* Finds tag 0x0112 in the first directory of the TIFF structure in segment APP1 (EXIF 2.3). Every
 * step is checked against the end; a structure that leads outside says nothing. */
#include "io/exif.h"

#include <stdint.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3
#define ENTRY_BYTES     12

struct tiff {
    const unsigned char *data;
    size_t bytes;
    int big; /* big-endian */
};

static uint32_t get(const struct tiff *t, size_t at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)t->data[at + (size_t)i] << 8 * (t->big ? bytes - 1 - i : i);
    return value;
}

static int read_tiff(const unsigned char *data, size_t bytes)
{
    struct tiff t = {data, bytes, 0};
    if (bytes < 8) return 1;
    if (data[0] == 'M' && data[1] == 'M')
        t.big = 1;
    else if (data[0] != 'I' || data[1] != 'I')
        return 1;
    const size_t at = get(&t, 4, 4);
    if (at > bytes - 2) return 1;
    const size_t count = get(&t, at, 2);
    for (size_t i = 0; i < count; i++) {
        const size_t entry = at + 2 + i * ENTRY_BYTES;
        if (entry > bytes || bytes - entry < ENTRY_BYTES) return 1;
        if (get(&t, entry, 2) != TAG_ORIENTATION) continue;
        if (get(&t, entry + 2, 2) != TYPE_SHORT) return 1;
        const uint32_t value = get(&t, entry + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

int cvp_io_exif_orientation(const unsigned char *jpeg, size_t bytes)
{
    static const unsigned char exif[6] = {'E', 'x', 'i', 'f', 0, 0};
    size_t at = 2; /* behind the marker that begins the image */
    while (at < bytes && bytes - at >= 4 && jpeg[at] == 0xff) {
        const unsigned marker = jpeg[at + 1];
        if (marker == 0xff) { /* a fill byte */
            at++;
            continue;
        }
        const size_t length = (size_t)jpeg[at + 2] << 8 | jpeg[at + 3];
        /* A frame or a scan: what the camera said comes before. */
        if (marker == 0xda || marker == 0xd9 || length < 2 || length > bytes - at - 2) return 1;
        const unsigned char *body = jpeg + at + 4;
        const size_t size = length - 2;
        if (marker == 0xe1 && size >= sizeof exif && memcmp(body, exif, sizeof exif) == 0)
            return read_tiff(body + sizeof exif, size - sizeof exif);
        at += 2 + length;
    }
    return 1;
}
