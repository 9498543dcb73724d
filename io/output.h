/* A file that appears whole or not at all: written under a temporary name beside its own, synced,
 * then renamed. What was there before stays until that moment, also when the disk is full or the
 * process is killed. A device or a pipe is written in place. Not for use by two threads at once. */
#ifndef CVP_IO_OUTPUT_H
#define CVP_IO_OUTPUT_H

#include "convop/base.h"

struct cvp_io_output;

/* A symbolic link stays one: the file that it names is replaced. IO if it cannot be created. */
convop_status cvp_io_output_create(const char *path, struct cvp_io_output **out);

/* After a failure (IO) every further call but discard answers with the same error. */
convop_status cvp_io_output_write(struct cvp_io_output *output, const void *data, size_t bytes);

/* Bytes written so far. */
uint64_t cvp_io_output_bytes(const struct cvp_io_output *output);
const char *cvp_io_output_path(const struct cvp_io_output *output);

/* Brings all of it to the disk. Several files that belong together: sync each, then commit each. */
convop_status cvp_io_output_sync(struct cvp_io_output *output);

/* Syncs, renames and frees; *output is NULL afterwards. On failure the old file is still there. */
convop_status cvp_io_output_commit(struct cvp_io_output **output);

/* Removes the temporary file and frees. Accepts NULL. */
void cvp_io_output_discard(struct cvp_io_output **output);

#endif
