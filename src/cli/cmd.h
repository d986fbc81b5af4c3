/* cmd.h - has what the commands of `gpufl` share: the table, their help, exit codes.
 *
 * A command is one function in cmd_<name>.c, a row of cmd_table.c, and a man page. It parses its
 * arguments with cmd_parse, which handles --help and wrong input in the same way for all commands,
 * and returns the exit code. Commands contain no algorithms: they turn arguments into calls of
 * other modules, and results into text. The whole program is one thread. */
#ifndef GPUFL_CLI_CMD_H
#define GPUFL_CLI_CMD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stdio.h>

/* Lists the exit codes of every command: code, name, when. `gpufl trace` returns the program's own
 * code; 126 and 127 mean the same as in a shell. */
#define CMD_EXITS(E)                                                                               \
    E(0, OK, "success")                                                                            \
    E(1, FAILED, "the command failed; a sentence on stderr says why and what to do")               \
    E(2, USAGE, "the command line was not understood")                                             \
    E(3, NOT_STARTED, "the program to trace could not be started, or its logs have no place")      \
    E(69, NOT_BUILT, "a part of the product that this needs is not installed")

enum cmd_exit {
#define CMD_EXIT_ENUM(code, name, text) CMD_##name = code,
    CMD_EXITS(CMD_EXIT_ENUM)
#undef CMD_EXIT_ENUM
};

/* Describes one row of the command table. */
struct cmd {
    const char *name;
    const char *summary;               /* one line for `gpufl --help` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
    bool reads; /* sessions: an operand "s3://…" is fetched before (fetched.h) */
};

/* Holds what `gpufl <command> --help` prints around the option table. */
struct cmd_text {
    const char *name;     /* of the command */
    const char *synopsis; /* the text after `gpufl <name> `, one line for each form */
    const char *about;    /* what it does, wrapped by hand at 80 columns, LF at the end */
    const char *more;     /* examples, files, …: printed unchanged; may be NULL */
};

enum { CMD_CONTINUE = -1 };

/* Parses argv with the table, which has no row for help: -h and --help are added. CMD_CONTINUE: the
 * command goes on, with the operands at argv[1..*operands]; else the exit code, after help or a
 * usage error was printed. flags: see opt_parse. */
int cmd_parse(const struct cmd_text *text, const struct opt *table, int flags, int argc,
              char **argv, int *operands);

/* Checks the operands of a command that takes the path of sessions and nothing else: CMD_OK, or
 * what cmd_usage returned. argv: as cmd_parse left it. */
int cmd_one_path(const char *command, int operands, char **argv);

/* Prints "gpufl <command>: sentence" and where help is on stderr; returns CMD_USAGE. */
int cmd_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints "gpufl <command>: sentence" on stderr; returns CMD_FAILED. */
int cmd_fail(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flushes stdout; CMD_FAILED with a sentence where the output could not be written. */
int cmd_finish_output(const char *command);

/* This is the table of cmd_table.c, ended by a row without name. */
extern const struct cmd cmd_table[];

const struct cmd *cmd_find(const char *name); /* NULL: none */
int cmd_unknown(const char *name);            /* prints the error and a similar name; CMD_USAGE */
void cmd_print_overview(FILE *out);           /* `gpufl --help` */

/* Runs main's work on a stack of 8 MiB: names of deep templates need more than `ulimit -s` may
 * leave. The limit is raised where that is allowed. Under a small hard limit (`ulimit -Hs`) the
 * work runs on a thread of its own, and the calling thread blocks all signals and waits for it.
 * cmd_leave_stack is for the child that becomes another program: the limit is again as it was. */
int cmd_with_stack(int (*work)(int, char **), int argc, char **argv);
void cmd_leave_stack(void);

/* Returns true if colours are allowed: a terminal, NO_COLOR not set, TERM not "dumb". */
bool cmd_color(FILE *out);
/* Returns the quotes that a shell needs around a path; "" if the path needs none, or if quotes do
 * not help. */
const char *cmd_quote(const char *path);
/* Returns the columns of the terminal that out is, between 60 and 200; 100 if out is no
 * terminal. */
int cmd_width(FILE *out);

/* Appends the words of a text in lines of at most width columns, each but the first indented; the
 * first continues the present line, which is at column `indent`. LF at the end. */
void cmd_wrap(struct buf *out, const char *text, int indent, int width);

/* Writes the directory of this executable; false: /proc does not name it. */
bool cmd_exe_dir(char *out, size_t size);

/* Writes the path of a program of the product: next to this executable, else its name alone, for a
 * search in PATH. */
void cmd_find_program(const char *name, char *out, size_t size);

/* The functions run the commands. */
int cmd_trace(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_upload(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
