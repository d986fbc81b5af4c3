/* access.h - identifies the caller and checks the rights, once before a handler runs.
 *
 * This file is between HTTP and auth.h: it reads headers and answers problems. It runs on a worker,
 * since it computes hashes and reads tables. */
#ifndef GPUFL_SERVER_REQUEST_ACCESS_H
#define GPUFL_SERVER_REQUEST_ACCESS_H

#include "server/auth/auth.h"

struct call;

/* Fills in c->who and checks the rights of c's route; false: it answered 401, 403 or 404. */
bool access_decide(struct call *c);

/* Fills in c->who for routes that need no login, also for an anonymous caller; false: it
 * answered. */
bool access_who(struct call *c);

/* Answers the problem for a code of auth.h. wait: for GPUFL_E_TIMEOUT after too many tries, ns
 * until the next try; 0: the tables took too long. */
void access_fail(struct call *c, int rc, const struct err *e, int64_t wait);

/* Makes the argument for functions of auth.h, with c's caller. Its texts live as long as the
 * call. */
struct auth_ask access_ask(const struct call *c, struct err *e);

/* Writes to the workspace's audit log that c's caller did the action to the target. */
void access_note(struct call *c, const char *action, const char *target);

#endif
