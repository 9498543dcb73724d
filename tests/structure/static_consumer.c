/* Links the archive alone, the public headers alone. An operator whose object nothing refers to
 * would not be linked in from an archive: so every built-in must be listed here, and be found. */
#include "convop/convop.h"

#include <stdio.h>
#include <string.h>

static const char *const built_in[] = {
#define CVP_BUILTIN_OP(name) #name,
#include "src/operator/op_list.h"
#undef CVP_BUILTIN_OP
};
enum { NUM_BUILT_IN = sizeof built_in / sizeof built_in[0] };

static int is_listed(const convop_op_listing *listing, const char *name)
{
    for (size_t i = 0; i < convop_op_listing_count(listing); i++)
        if (!strcmp(convop_op_listing_at(listing, i)->name, name)) return 1;
    return 0;
}

int main(void)
{
    convop_op_listing *listing = NULL;
    int wrong = 0;
    if (convop_op_list(&listing) != CONVOP_OK) {
        printf("convop_op_list: %s\n", convop_last_error());
        return 1;
    }
    for (int i = 0; i < NUM_BUILT_IN; i++) {
        const convop_op *op = NULL;
        if (!is_listed(listing, built_in[i])) {
            printf("%s is not listed\n", built_in[i]);
            wrong++;
        }
        if (convop_op_find(built_in[i], &op) != CONVOP_OK) {
            printf("%s is not found: %s\n", built_in[i], convop_last_error());
            wrong++;
        }
        convop_op_release(&op);
    }
    if (convop_op_listing_count(listing) != NUM_BUILT_IN) {
        printf("%zu operators are listed, %d are built in\n", convop_op_listing_count(listing),
               NUM_BUILT_IN);
        wrong++;
    }
    convop_op_listing_destroy(&listing);
    return wrong ? 1 : 0;
}
