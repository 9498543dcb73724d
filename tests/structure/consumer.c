/* What a program of a user does first: include the one header, call, and compare versions. */
#include <convop/convop.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const convop_op *op = NULL;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", CONVOP_VERSION_MAJOR, CONVOP_VERSION_MINOR,
             CONVOP_VERSION_PATCH);
    if (strcmp(version, convop_version_string()) || convop_version() != CONVOP_VERSION) {
        printf("the header is of %s, the library of %s\n", version, convop_version_string());
        return 1;
    }
    if (convop_op_find("Convolution", &op) != CONVOP_OK) {
        printf("%s\n", convop_last_error());
        return 1;
    }
    convop_op_release(&op);
    return 0;
}
