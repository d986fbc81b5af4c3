/* cmd.c - what the commands share: parsing with --help, messages, the terminal.
 *
 * The help is made from the tables that parse the command line, so that it lists exactly what is
 * accepted. Called by one thread at a time. */
#include "cli/cmd.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/printable.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { COMMANDS_MAX = 32, WIDTH_DEFAULT = 100, WIDTH_LEAST = 60, WIDTH_MOST = 200 };

/* Prints every line of a synopsis after the program's and the command's name. */
static void print_synopsis(const struct cmd_text *text, FILE *out)
{
    const char *lead = "Usage: ";
    for (const char *line = text->synopsis; *line;) {
        int len = (int)strcspn(line, "\n");
        fprintf(out, "%sgpufl %s%s%.*s\n", lead, text->name, len ? " " : "", len, line);
        lead = "       ";
        line += len + (line[len] == '\n');
    }
}

static void print_help(const struct cmd_text *text, const struct opt *table, FILE *out)
{
    print_synopsis(text, out);
    fprintf(out, "\n%s\nOptions:\n", text->about);
    opt_help(table, out);
    if (text->more)
        fprintf(out, "\n%s", text->more);
}

/* Returns the caller's table, followed by the help row that every command has; NULL: out of
 * memory. */
static struct opt *with_help(const struct opt *table, bool *help)
{
    size_t n = 0;
    while (table && table[n].name)
        n++;
    struct opt *all = mem_array(n + 2, sizeof *all);
    if (!all)
        return NULL;
    if (n)
        memcpy(all, table, n * sizeof *all);
    all[n] = (struct opt){"help", 'h', OPT_FLAG, help, NULL, NULL, "Print this help."};
    return all;
}

int cmd_parse(const struct cmd_text *text, const struct opt *table, int flags, int argc,
              char **argv, int *operands)
{
    bool help = false;
    struct err e = {0};
    struct opt *all = with_help(table, &help);
    if (!all)
        return cmd_fail(text->name, "out of memory");
    int rc = opt_parse(all, flags, argc, argv, operands, &e);
    int result = CMD_CONTINUE;
    if (rc) {
        result = cmd_usage(text->name, "%s", e.text);
    } else if (help) {
        print_help(text, all, stdout);
        result = cmd_finish_output(text->name);
    }
    mem_free(all);
    return result;
}

static void say(const char *command, const char *fmt, va_list ap)
{
    char line[1024];
    vsnprintf(line, sizeof line, fmt, ap);
    printable_clean(line, strlen(line));
    fprintf(stderr, "gpufl%s%s: %s\n", *command ? " " : "", command, line);
}

int cmd_usage(const char *command, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(command, fmt, ap);
    va_end(ap);
    fprintf(stderr, "Try `gpufl%s%s --help`.\n", *command ? " " : "", command);
    return CMD_USAGE;
}

int cmd_one_path(const char *command, int operands, char **argv)
{
    if (operands > 1)
        return cmd_usage(command, "one PATH at a time, please");
    if (operands < 1 || !*argv[1])
        return cmd_usage(command, "PATH is missing: a session, or a directory of them");
    return CMD_OK;
}

/* Prints that the working folder was removed. Every relative path fails there, and the error of the
 * system names another cause. */
static void say_folder_is_gone(void)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here) && errno == ENOENT)
        fputs("gpufl: the current folder was deleted: cd to one that is there\n", stderr);
}

int cmd_fail(const char *command, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(command, fmt, ap);
    va_end(ap);
    say_folder_is_gone();
    return CMD_FAILED;
}

int cmd_finish_output(const char *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CMD_OK;
    return cmd_fail(command, "cannot write the output: %s", strerror(errno));
}

const struct cmd *cmd_find(const char *name)
{
    for (const struct cmd *c = cmd_table; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int cmd_unknown(const char *name)
{
    const char *names[COMMANDS_MAX + 1];
    size_t n = 0;
    for (const struct cmd *c = cmd_table; c->name && n < COMMANDS_MAX; c++)
        names[n++] = c->name;
    names[n] = NULL;
    const char *near = NULL;
    opt_choice(name, names, &near);
    return cmd_usage("", "there is no command '%s'%s%s%s", name, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

void cmd_wrap(struct buf *out, const char *text, int indent, int width)
{
    int at = indent;
    while (*text) {
        int len = (int)strcspn(text, " "), columns = 0;
        for (int i = 0; i < len; i++)
            columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (at > indent && at + 1 + columns > width) {
            buf_printf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            buf_char(out, ' ');
            at++;
        }
        buf_put(out, text, (size_t)len);
        at += columns;
        text += len;
        text += strspn(text, " ");
    }
    buf_char(out, '\n');
}

bool cmd_color(FILE *out)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fileno(out)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

const char *cmd_quote(const char *path)
{
    return strpbrk(path, " \t'\"\\$`&|;<>()*?[]#~!{}") && !strchr(path, '\'') ? "'" : "";
}

int cmd_width(FILE *out)
{
    struct winsize w;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
        return WIDTH_DEFAULT;
    if (w.ws_col < WIDTH_LEAST)
        return WIDTH_LEAST;
    return w.ws_col > WIDTH_MOST ? WIDTH_MOST : w.ws_col;
}

bool cmd_exe_dir(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

void cmd_find_program(const char *name, char *out, size_t size)
{
    char dir[PATH_MAX];
    if (!cmd_exe_dir(dir, sizeof dir) || path_join(out, size, dir, name) || access(out, X_OK))
        snprintf(out, size, "%s", name);
}

enum { STACK_WANTED = 8 << 20, STACK_LEAST = 1 << 20 };

static struct rlimit stack_before;
static bool stack_raised;

struct stacked {
    int (*work)(int, char **);
    int argc;
    char **argv;
    int code;
};

static void *run_stacked(void *arg)
{
    struct stacked *s = arg;
    s->code = s->work(s->argc, s->argv);
    return NULL;
}

/* Returns false if the system gave no thread, and nothing ran. */
static bool on_a_thread(struct stacked *s)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all;
    if (pthread_attr_init(&attr))
        return false;
    bool made = !pthread_attr_setstacksize(&attr, STACK_WANTED) &&
                !pthread_create(&thread, &attr, run_stacked, s);
    pthread_attr_destroy(&attr);
    if (!made)
        return false;
    sigfillset(&all); /* the thread that does the work takes the signals */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_join(thread, NULL);
    return true;
}

int cmd_with_stack(int (*work)(int, char **), int argc, char **argv)
{
    struct stacked s = {work, argc, argv, 0};
    struct rlimit raised;
    if (getrlimit(RLIMIT_STACK, &stack_before) || stack_before.rlim_cur >= STACK_WANTED)
        return work(argc, argv);
    raised = stack_before;
    raised.rlim_cur = raised.rlim_max < STACK_WANTED ? raised.rlim_max : STACK_WANTED;
    stack_raised = !setrlimit(RLIMIT_STACK, &raised);
    if (raised.rlim_cur >= STACK_LEAST || !on_a_thread(&s))
        return work(argc, argv);
    return s.code;
}

void cmd_leave_stack(void)
{
    if (stack_raised)
        setrlimit(RLIMIT_STACK, &stack_before);
}
