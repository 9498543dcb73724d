/* Reads small files without stdio, which would allocate behind the back of alloc.h. */
#include "src/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

size_t cvp_file_text(const char *path, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    while (length < size - 1) {
        ssize_t n = read(fd, text + length, size - 1 - length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        length += (size_t)n;
    }
    close(fd);
    text[length] = '\0';
    return length;
}
