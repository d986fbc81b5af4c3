/* roles.h - which of several processes samples the host and each GPU.
 *
 * Sessions that can find each other's logs share their samples: one process at a time samples the
 * host, and one each GPU (by its UUID); the logs of the others say whose samples serve them, too.
 * A role is a lock on a byte of a file, so that it ends with its process, however that ends. The
 * files lie in a folder that the sessions share: their log folder, or one that an option names. A
 * monitoring daemon takes the roles in a folder of its own, which the others only read.
 *
 * The place of the byte is the interval, so one question to the kernel finds a process that samples
 * often enough:
 *   - Nobody samples as often as this process wants: this process takes the role.
 *   - Somebody does: this process takes no samples, and looks again at its next interval.
 *   - Somebody begins to sample more often: this process gives its role up.
 *   - A monitor of the host (gpufl-monitor) samples: it goes first, as long as it does.
 *   - The process with the role stands still (a debugger holds it): another one takes a role
 *   beside.
 *
 * All calls come from the sampler's thread; files are touched through base/process/fd_thread.h.
 * Nothing here is called on a thread of the program's. */
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

/* The holder of a role, as that process describes itself. */
struct role_holder {
    char session[ROLE_SESSION]; /* "": not known yet */
    char host[ROLE_HOST];
    char place[ROLE_PLACE]; /* directory of its session; "": beside this one */
    int64_t interval;       /* ns */
    int64_t since;          /* ns since the Unix epoch */
};

struct roles_config {
    const char *folder; /* where the files lie; made if it is not there; read during the call */
    bool keep;          /* the folder stays when the last one leaves */
    bool readable;      /* other users can see the roles: those of a monitor */
    /* A monitor of the host goes first: its samples are taken where it samples as often as this
     * process wants, or, with any_interval, however often it does. */
    bool monitor, any_interval;
    const char *user_folder; /* $XDG_RUNTIME_DIR, where a user's own monitor may be; NULL: none */
    struct role_holder self;
};

struct roles;

/* Folder of the roles of sessions that log to that folder: the folder itself where it is on a file
 * system of this host. On any other (statfs's f_type) locks, and the log with them, may wait for a
 * server that does not answer: there the roles are in shared memory, under a name made of the user
 * and the log folder. */
int roles_folder(const char *log_folder, long file_system, char *out, size_t size);

/* Folder of the roles of all sessions of this user on this host, wherever they log: in shared
 * memory, so that it is of this host and this boot, whatever the environment says. */
int roles_host_folder(char *out, size_t size);

/* Opens the folder. 0, GPUFL_E_NOMEM, or the code of the folder: then nobody shares. */
int roles_open(struct roles **out, const struct roles_config *c);
void roles_close(struct roles *r); /* gives all roles up */

/* Removes such a folder with its files where no process holds a role or waits for one: they were
 * killed. Not for a process that has roles of its own. */
void roles_sweep(const char *folder);

/* A thing to be sampled: "host" and the boot's id, a GPU's UUID; "" is never shared. Its number,
 * counted from 0, or -1. Interval: as in the configuration. */
int roles_add(struct roles *r, const char *name);

/* Takes, keeps, leaves or gives up roles, once an interval. now: steady ns. */
void roles_step(struct roles *r, int64_t now);

/* Gives all roles up: no samples are wanted now. */
void roles_leave(struct roles *r);

enum role_who roles_who(const struct roles *r, int number);
/* Result of the last step; valid with ROLE_OURS and ROLE_THEIRS. */
const struct role_holder *roles_holder(const struct roles *r, int number);

/* "host-" and the id of this boot, which all containers of a host share; "" where it cannot be
 * read. */
void roles_host_name(char *out, unsigned size);

#endif
