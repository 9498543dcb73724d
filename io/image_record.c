/* Packing and parsing image records. */
#include "io/image_record.h"

#include <string.h>

#include "convop/registry.h"
#include "src/common/size.h"

convop_status cvp_io_image_record_parse(const void *data, size_t bytes,
                                        struct cvp_io_image_record *image)
{
    const unsigned char *p = data;
    if (bytes < CVP_IO_IMAGE_HEADER)
        return convop_fail(CONVOP_E_INVALID,
                           "the image record's header is truncated: %zu of %d "
                           "bytes",
                           bytes, CVP_IO_IMAGE_HEADER);
    const uint32_t flag = cvp_io_get_u32(p);
    const size_t rest = bytes - CVP_IO_IMAGE_HEADER;
    if (flag > rest / sizeof(float))
        return convop_fail(CONVOP_E_INVALID,
                           "the image record's header announces %u labels, %zu "
                           "bytes follow",
                           (unsigned)flag, rest);
    if (rest == flag * sizeof(float))
        return convop_fail(CONVOP_E_INVALID, "the image is empty: nothing follows the header");
    image->id = cvp_io_get_u64(p + 8);
    image->id2 = cvp_io_get_u64(p + 16);
    image->num_labels = flag ? flag : 1;
    image->labels = flag ? p + CVP_IO_IMAGE_HEADER : p + 4;
    image->image = p + CVP_IO_IMAGE_HEADER + flag * sizeof(float);
    image->image_bytes = rest - flag * sizeof(float);
    return CONVOP_OK;
}

float cvp_io_image_record_label(const struct cvp_io_image_record *image, uint32_t i)
{
    uint32_t bits = cvp_io_get_u32(image->labels + i * sizeof(float));
    float label;
    memcpy(&label, &bits, sizeof label);
    return label;
}

static void put_float(unsigned char *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    cvp_io_put_u32(p, bits);
}

convop_status cvp_io_image_record_pack(struct cvp_io_record *record, uint64_t id,
                                       const float *labels, uint32_t num_labels, int is_vector,
                                       const void *image, size_t image_bytes)
{
    if (num_labels == 0 || (!is_vector && num_labels != 1))
        return convop_fail(CONVOP_E_INVALID, "an image record of %u labels, %s is needed",
                           (unsigned)num_labels, is_vector ? "one at least" : "one");
    const size_t before = CVP_IO_IMAGE_HEADER + (is_vector ? num_labels * sizeof(float) : 0);
    size_t bytes;
    if (!cvp_add_size(before, image_bytes, &bytes))
        return convop_fail(CONVOP_E_INVALID, "an image of %zu bytes is too large", image_bytes);
    convop_status status = cvp_io_record_reserve(record, bytes);
    if (status != CONVOP_OK) return status;
    unsigned char *p = record->data;
    memset(p, 0, CVP_IO_IMAGE_HEADER);
    cvp_io_put_u64(p + 8, id);
    if (is_vector) {
        cvp_io_put_u32(p, num_labels);
        for (uint32_t i = 0; i < num_labels; i++)
            put_float(p + CVP_IO_IMAGE_HEADER + i * sizeof(float), labels[i]);
    } else {
        put_float(p + 4, labels[0]);
    }
    if (image_bytes) memcpy(p + before, image, image_bytes);
    record->size = bytes;
    return CONVOP_OK;
}
