/* The orientation that a camera wrote into a JPEG file. */
#ifndef CVP_IO_EXIF_H
#define CVP_IO_EXIF_H

#include <stddef.h>

/* 1..8 as EXIF counts; 1, "as it is", where the file says nothing or nothing sensible. */
int cvp_io_exif_orientation(const unsigned char *jpeg, size_t bytes);

#endif
