/* child_server.h - runs a database server as a child of the test: under an unprivileged user if the
 * test runs as root, and killed by the kernel with the thread that started it, so that no test
 * leaves one. */
#ifndef GPUFL_TESTS_STORE_CHILD_SERVER_H
#define GPUFL_TESTS_STORE_CHILD_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct child_user {
    uid_t uid; /* 0: the test's user */
    gid_t gid;
};

/* Finds the user of that name, or nobody; the test's user, if that is not root. */
struct child_user child_user_find(const char *name);

/* Gives a file or folder to the user; false if that is not possible. */
bool child_own(struct child_user u, const char *path);

/* Returns true if the user can reach a folder. Home folders of others may be closed on the way. */
bool child_reaches(struct child_user u, const char *folder);

#define CHILD_PASSWORD_SIZE 33
bool child_password(char out[CHILD_PASSWORD_SIZE]); /* hexadecimal, made for this run */

/* Starts a program in a folder, its output appended to a file; death: the signal that it gets when
 * the test ends. */
pid_t child_start(struct child_user u, int death, const char *folder, const char *log,
                  const char *program, char *const argv[]);
void child_end(pid_t *pid, int signal); /* waits for its end; sets *pid to 0 */

void child_remove(const char *folder); /* with all below it */

#endif
