/* RecordIO's format, as dmlc-core's recordio.h has it, and the buffer that holds one record.
 *
 * A record is a magic word, a word (flag << 29 | length), `length` bytes and zeros up to a multiple
 * of four. A payload in which the magic word stands at a multiple of four is cut there into parts:
 * the word itself is left out, reading puts it back. Flags: 0 whole, 1 first, 2 middle, 3 last.
 * Words are little-endian. */
#ifndef CVP_IO_RECORD_H
#define CVP_IO_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "convop/base.h"

#define CVP_IO_RECORD_MAGIC  0xced7230au
#define CVP_IO_RECORD_HEADER 8                   /* bytes */
#define CVP_IO_RECORD_LIMIT  ((uint64_t)1 << 29) /* bytes; a payload has fewer */

/* Begins as {0}; grows as needed; is used for record after record. */
struct cvp_io_record {
    unsigned char *data;
    size_t size, capacity;
};

/* Makes room for `bytes`; the first `size` bytes stay. */
convop_status cvp_io_record_reserve(struct cvp_io_record *record, size_t bytes);
void cvp_io_record_free(struct cvp_io_record *record);

static inline uint32_t cvp_io_get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t cvp_io_get_u64(const unsigned char *p)
{
    return cvp_io_get_u32(p) | (uint64_t)cvp_io_get_u32(p + 4) << 32;
}

static inline void cvp_io_put_u32(unsigned char *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(value >> 8 * i);
}

static inline void cvp_io_put_u64(unsigned char *p, uint64_t value)
{
    cvp_io_put_u32(p, (uint32_t)value);
    cvp_io_put_u32(p + 4, (uint32_t)(value >> 32));
}

#endif
