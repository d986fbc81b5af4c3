/* roles.h - decides which of several processes samples the host and each GPU.
 *
 * Sessions that can find each other's logs share their samples: one process at a time samples the
 * host, and one process each GPU (identified by its UUID); the logs of the others name the session
 * that has the samples. A role is a lock on a byte of a file, so that it ends with its process,
 * however that ends. The files are in a folder that the sessions share: their log folder, or one
 * that an option names. A monitoring daemon takes the roles in its own folder, which the others
 * only read.
 *
 * The position of the byte is the interval, so one system call finds a process that samples often
 * enough:
 *   - No process samples as often as this one wants: this process takes the role.
 *   - Another process does: this one takes no samples, and checks again at its next interval.
 *   - Another process begins to sample more often: this one gives its role up.
 *   - A monitor of the host (gpufl-monitor) samples: it has priority as long as it samples.
 *   - The process with the role is stopped (by a debugger): another process takes a second role.
 *
 * All calls come from the sampler's thread, never from a thread of the program's; files are used
 * through base/process/fd_thread.h. */
#ifndef GPUFL_MONITOR_ROLES_H
#define GPUFL_MONITOR_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role_who {
    ROLE_NOBODY, /* this process does not want samples now */
    ROLE_OURS,   /* this process samples, and others may rely on it */
    ROLE_THEIRS, /* another process does, often enough */
    ROLE_ALONE,  /* this process samples for itself: roles are not available here */
};

enum { ROLE_SESSION = 40, ROLE_HOST = 72, ROLE_PLACE = 800 };

/* This is the holder of a role, as that process describes itself. */
struct role_holder {
    char session[ROLE_SESSION]; /* "": not known yet */
    char host[ROLE_HOST];
    char place[ROLE_PLACE]; /* folder of its session; "": next to this session's */
    int64_t interval;       /* ns */
    int64_t since;          /* ns since the Unix epoch */
};

struct roles_config {
    const char *folder; /* folder of the files; made if it is missing; read during the call */
    bool keep;          /* the folder stays when the last one leaves */
    bool readable;      /* other users can see the roles: for a monitor's */
    /* A monitor of the host has priority: its samples are used if it samples as often as this
     * process wants, or, with any_interval, however often it samples. */
    bool monitor, any_interval;
    const char *user_folder; /* $XDG_RUNTIME_DIR, where a user's own monitor may be; NULL: none */
    struct role_holder self;
};

struct roles;

/* Finds the folder of the roles of sessions that log to that folder: the folder itself if it is on
 * a file system of this host. On any other (by statfs's f_type) locks, and therefore the log, may
 * wait for a server that does not answer; then the folder is in shared memory, under a name made of
 * the user and the log folder. */
int roles_folder(const char *log_folder, long file_system, char *out, size_t size);

/* Writes the folder of the roles of all sessions of this user on this host, wherever they log. It
 * is in shared memory, so it belongs to this host and this boot and does not depend on the
 * environment. */
int roles_host_folder(char *out, size_t size);

/* Opens the folder. 0, GPUFL_E_NOMEM, or the code of the folder: then no samples are shared. */
int roles_open(struct roles **out, const struct roles_config *c);
void roles_close(struct roles *r); /* gives all roles up */

/* Removes such a folder with its files if no process has a role or waits for one, as after all were
 * killed. A process that has roles must not call it. */
void roles_sweep(const char *folder);

/* Adds a thing to be sampled: "host" with the boot's id, or a GPU's UUID; "" is never shared.
 * Returns its number, counted from 0, or -1. Its interval is that of the configuration. */
int roles_add(struct roles *r, const char *name);

/* Takes, keeps, leaves or gives up roles, once an interval. now: steady ns. */
void roles_step(struct roles *r, int64_t now);

/* Gives all roles up: no samples are wanted now. */
void roles_leave(struct roles *r);

enum role_who roles_who(const struct roles *r, int number);
/* Returns the result of the last step; valid with ROLE_OURS and ROLE_THEIRS. */
const struct role_holder *roles_holder(const struct roles *r, int number);

/* Writes "host-" and the id of this boot, which all containers of a host share; "" if it cannot
 * be read. */
void roles_host_name(char *out, unsigned size);

#endif
