/* What the sub-commands of `convop` share. Each is one line in main.c's table and one function. */
#ifndef CLI_H
#define CLI_H

/* Exit statuses of every command. */
enum { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2 };

struct cli_command {
    const char *name;
    const char *doc;                   /* one line, for `convop help` */
    int (*run)(int argc, char **argv); /* argv[0] is "convop NAME"; answers an exit status */
};

int cli_ops(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_cache(int argc, char **argv);
int cli_im2rec(int argc, char **argv); /* where io/ is built: CLI_HAVE_IO */

/* Writes "convop: <sentence>" to stderr and answers CLI_FAILURE, for `return cli_fail(...)`. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* CLI_OK, or CLI_FAILURE after a sentence on the first setting whose value does not parse. */
int cli_check_settings(void);

/* CLI_OK, or CLI_FAILURE after a sentence where the tuning cache can be written to no more: the
 * disk may be full by now, and the library goes on with its memory, which ends with the command. */
int cli_check_kept(void);

/* From now on a failed write to stdout ends the program with CLI_FAILURE, also at its exit and
 * where the reader has gone: nothing is lost in silence. */
void cli_watch_stdout(void);

#endif
