/* What the parts of `convop tune` hand to each other. */
#ifndef TUNE_H
#define TUNE_H

#include "convop/tune.h"
#include "tools/tune/cases.h"

enum tune_outcome { TUNE_MEASURED, TUNE_KNOWN, TUNE_SKIPPED, TUNE_FAILED, TUNE_OUTCOMES };

/* What was found of one case. */
struct tune_result {
    char label[128];
    char kind[32]; /* "FWD_D  f32 nchw" */
    enum tune_outcome outcome;
    char winner[64], estimate[64]; /* rows; "" if there is none */
    double ms, estimate_ms;        /* their times; 0: not measured */
    char why[256];                 /* of TUNE_SKIPPED and TUNE_FAILED */
};

struct tune_report {
    int json;
    size_t cases;
    struct tune_result *results;
    size_t count;
    double began, told; /* seconds: of the begin, and of the last line that was not overwritten */
    int shown;          /* 1: the terminal has a line that is to be overwritten */
};

void tune_report_begin(struct tune_report *r, int json, size_t cases);

/* Says what comes next: on a terminal by one line that moves, else by a line now and then. */
void tune_report_progress(struct tune_report *r, const struct tune_case *c);

/* Keeps the result for the table, or writes it as a line of JSON. 0: no memory. */
int tune_report_add(struct tune_report *r, const struct tune_case *c,
                    const struct tune_result *result);

/* The table and the totals. */
void tune_report_end(struct tune_report *r, const char *path);

/* How many there are of an outcome. */
size_t tune_report_count(const struct tune_report *r, enum tune_outcome outcome);

#endif
