/* convop ops Convolution --problem=DESCRIPTOR: every implementation of every direction, with what
 * it needs or why it does not take the problem. */
#include <stdio.h>
#include <string.h>

#include "convop/convolution.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/ops.h"
#include "tools/problems/query.h"

#define MAX_ROWS 64

static const char *const directions[] = {"FWD_D", "BWD_D", "BWD_W", "BWD_B"};

static void show_text(int direction, const convop_conv_row *row)
{
    printf("%-6s %-12s %-10s ", directions[direction], row->name,
           row->chosen       ? "chosen"
           : row->applicable ? "applies"
                             : "no");
    if (row->applicable)
        printf("%zu bytes of workspace\n", row->workspace_bytes);
    else
        printf("%s\n", row->why_not);
}

static void show_json(int direction, const convop_conv_row *row, int first)
{
    printf(first ? "{" : ",\n {");
    json_key("device", 1);
    json_string("cpu");
    json_key("direction", 0);
    json_string(directions[direction]);
    json_key("name", 0);
    json_string(row->name);
    json_key("version", 0);
    json_number(row->version);
    json_key("applicable", 0);
    printf(row->applicable ? "true" : "false");
    json_key("chosen", 0);
    printf(row->chosen ? "true" : "false");
    json_key("why_not", 0);
    json_string(row->applicable ? NULL : row->why_not);
    json_key("workspace_bytes", 0);
    json_number((double)row->workspace_bytes);
    printf("}");
}

int ops_rows(const char *problem, int json)
{
    struct descriptor d;
    struct descriptor_error error;
    if (!descriptor_parse(problem, &d, &error)) {
        fprintf(stderr, "convop: %s\n  %s\n  %*s^\n", error.text, problem, (int)error.at, "");
        return CLI_USAGE;
    }
    struct query q;
    query_make(&d, &(struct post_ops){ADD_NOTHING, CONVOP_ACTIVATION_NONE}, FWD_B, F32, NCHW, &q);
    if (json)
        printf("[");
    else
        printf("%-6s %-12s %-10s %s\n", "DIR", "ROW", "", "WHY");
    int first = 1;
    for (int direction = 0; direction < 4; direction++) {
        convop_conv_row rows[MAX_ROWS];
        size_t count = MAX_ROWS;
        if (convop_conv_explain(&q.params, (convop_conv_direction)direction, &q.src, &q.weights,
                                &q.dst, NULL, rows, &count) != CONVOP_OK)
            return cli_fail("%s", convop_last_error());
        for (size_t i = 0; i < count && i < MAX_ROWS; i++, first = 0)
            json ? show_json(direction, &rows[i], first) : show_text(direction, &rows[i]);
    }
    if (json) printf("]\n");
    return CLI_OK;
}
