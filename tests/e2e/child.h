/* child.h - runs processes under test: started, watched and ended with deadlines.
 *
 * Every wait has one: a test that hangs fails with the output of the child so far. Called by one
 * thread only. */
#ifndef TESTS_E2E_CHILD_H
#define TESTS_E2E_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum child_stream { CHILD_OUT, CHILD_ERR, CHILD_STREAMS };

/* Holds what the child wrote to a stream so far. */
struct child_text {
    char *data; /* NUL-terminated, owned */
    size_t len;
    int fd; /* our end; -1: closed */
};

struct child {
    pid_t pid;
    bool ended;
    int status; /* wait status */
    int in;     /* our end of its stdin; -1: closed */
    struct child_text text[CHILD_STREAMS];
};

struct child_setup {
    const char *dir;         /* working directory */
    const char *const *argv; /* NULL-terminated; argv[0] is a path */
    const char *const *env;  /* "NAME=value" added to a clean environment; NULL: none */
    bool tty;                /* stdin and stdout are a terminal of its own session */
    bool nohup;              /* SIGHUP and SIGCHLD are ignored, stdin is closed */
};

void child_start(struct child *c, const struct child_setup *s);

/* Waits until the text occurs in the stream. */
void child_expect(struct child *c, enum child_stream stream, const char *text);

/* Waits until the stream is closed by all who hold it. */
void child_expect_end(struct child *c, enum child_stream stream);

void child_send(struct child *c, const void *data, size_t n);
void child_close_input(struct child *c);

/* Waits for the end of the process and of its streams; the exit code as a shell shows it. */
int child_end(struct child *c);

/* Returns true if the process of that id is there (also as a zombie). */
bool child_alive(pid_t pid);

void child_free(struct child *c);

/* ---- gpufl ------------------------------------------------------------------------------- */

/* Describes a directory for one test, which is removed with all below it. */
struct world {
    char dir[PATH_MAX];
};

void world_open(struct world *w);
void world_close(struct world *w);

/* These return the paths of the built things: the gpufl command and the program to trace. */
const char *path_gpufl(void);

/* Returns the path of the gpufl that reads sessions: that of GPUFL_READER, else path_gpufl().
 * Reading uses one thread, and takes 5 to 20 times as long with a sanitizer: scripts/test then
 * names the release build's gpufl. */
const char *path_reader(void);
const char *path_program(void);

/* Runs gpufl with these arguments (NULL-terminated) in the world's directory until it ends; input:
 * its stdin, NULL for none. Returns the exit code. */
int gpufl_run(struct world *w, struct child *c, const char *const *env, const char *input,
              const char *const *args);

/* Does what gpufl_run does, with the arguments as a variable list: gpufl(&w, &c, "trace", "x"). */
#define gpufl(w, c, ...) gpufl_run(w, c, NULL, NULL, (const char *const[]){__VA_ARGS__, NULL})

#endif
