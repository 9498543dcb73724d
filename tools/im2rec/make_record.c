/* Reads a file, decodes, crops, resizes, encodes and packs it, or packs it as it is. */
#include "tools/im2rec/make_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "convop/registry.h"
#include "io/image_record.h"
#include "io/resize.h"

/* A missing file is a bad image, as an unreadable one is: the list names what is not there. */
static convop_status read_file(const char *path, struct cvp_io_record *to)
{
    struct stat s;
    FILE *file = fopen(path, "re");
    convop_status status = CONVOP_OK;
    to->size = 0;
    if (!file || fstat(fileno(file), &s) != 0) {
        status = convop_fail(CONVOP_E_INVALID, "cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(s.st_mode) || s.st_size == 0) {
        status = convop_fail(CONVOP_E_INVALID, "the image is %s",
                             S_ISREG(s.st_mode) ? "empty" : "no regular file");
    } else if ((uint64_t)s.st_size >= CVP_IO_RECORD_LIMIT) {
        status = convop_fail(CONVOP_E_INVALID, "its %lld bytes are more than a record holds",
                             (long long)s.st_size);
    } else {
        status = cvp_io_record_reserve(to, (size_t)s.st_size);
        if (status == CONVOP_OK) to->size = fread(to->data, 1, (size_t)s.st_size, file);
        if (status == CONVOP_OK && to->size != (size_t)s.st_size)
            status = convop_fail(CONVOP_E_INVALID, "cannot be read: %s",
                                 ferror(file) ? strerror(errno) : "it became shorter");
    }
    if (file) fclose(file);
    return status;
}

static convop_status center_crop(struct im2rec_scratch *s)
{
    const int w = s->image.width, h = s->image.height, side = w < h ? w : h;
    convop_status status =
        cvp_io_image_crop(&s->image, (w - side) / 2, (h - side) / 2, side, side, &s->other);
    if (status == CONVOP_OK) cvp_io_image_swap(&s->image, &s->other);
    return status;
}

static convop_status resize(struct im2rec_scratch *s, int edge)
{
    int64_t w, h;
    cvp_io_short_edge(&s->image, edge, &w, &h);
    convop_status status = cvp_io_resize(&s->image, w, h, &s->other);
    if (status == CONVOP_OK) cvp_io_image_swap(&s->image, &s->other);
    return status;
}

static convop_status encode_again(const struct im2rec_options *o, struct im2rec_scratch *s)
{
    const int channels = o->color < 0 ? 0 : o->color ? 3 : 1;
    convop_status status =
        cvp_io_decode(&s->decoder, s->file.data, s->file.size, channels, &s->image);
    if (status == CONVOP_OK && s->decoder.warning[0] && !o->keep_damaged)
        status = convop_fail(CONVOP_E_INVALID, "damaged: %s", s->decoder.warning);
    if (status == CONVOP_OK && o->center_crop) status = center_crop(s);
    if (status == CONVOP_OK && o->resize) status = resize(s, o->resize);
    if (status == CONVOP_OK)
        status = cvp_io_encode(&s->encoder, &s->image, o->encoding, o->quality, &s->encoded);
    return status;
}

static convop_status copy_labels(const struct cvp_io_lst_entry *e, struct im2rec_scratch *s)
{
    if (e->num_labels > s->num_labels) {
        void *more = realloc(s->labels, e->num_labels * sizeof s->labels[0]);
        if (!more)
            return convop_fail(CONVOP_E_NO_MEMORY, "no memory for %zu labels", e->num_labels);
        s->labels = more;
        s->num_labels = e->num_labels;
    }
    for (size_t i = 0; i < e->num_labels; i++) s->labels[i] = (float)e->labels[i];
    return CONVOP_OK;
}

static convop_status make(const struct im2rec_options *o, const struct cvp_io_lst_entry *entry,
                          const char *path, struct im2rec_scratch *s, struct cvp_io_record *record)
{
    convop_status status = read_file(path, &s->file);
    if (status == CONVOP_OK && !o->pass_through) status = encode_again(o, s);
    if (status == CONVOP_OK) status = copy_labels(entry, s);
    if (status != CONVOP_OK) return status;
    const int vector = o->pack_label && entry->num_labels > 1;
    const struct cvp_io_record *image = o->pass_through ? &s->file : &s->encoded;
    status = cvp_io_image_record_pack(record, entry->index, s->labels,
                                      vector ? (uint32_t)entry->num_labels : 1, vector, image->data,
                                      image->size);
    if (status == CONVOP_OK && record->size >= CVP_IO_RECORD_LIMIT)
        status = convop_fail(CONVOP_E_INVALID, "its record has %zu bytes, the limit is 2^29 - 1",
                             record->size);
    return status;
}

convop_status im2rec_make_record(const struct im2rec_options *options,
                                 const struct cvp_io_lst_entry *entry,
                                 struct im2rec_scratch *scratch, struct cvp_io_record *record)
{
    const size_t size = strlen(options->root) + strlen(entry->path) + 2;
    char *path = malloc(size);
    if (!path) return convop_fail(CONVOP_E_NO_MEMORY, "no memory for a path of %zu bytes", size);
    snprintf(path, size, "%s/%s", options->root, entry->path);
    /* An absolute path in a list stands for itself. */
    const char *file = entry->path[0] == '/' ? entry->path : path;
    convop_status status = make(options, entry, file, scratch, record);
    if (status != CONVOP_OK) {
        char why[512];
        snprintf(why, sizeof why, "%s", convop_last_error());
        convop_fail(status, "%s: %s", file, why);
    }
    free(path);
    return status;
}

void im2rec_scratch_free(struct im2rec_scratch *scratch)
{
    cvp_io_record_free(&scratch->file);
    cvp_io_record_free(&scratch->encoded);
    cvp_io_decoder_free(&scratch->decoder);
    cvp_io_encoder_free(&scratch->encoder);
    cvp_io_image_free(&scratch->image);
    cvp_io_image_free(&scratch->other);
    free(scratch->labels);
}
