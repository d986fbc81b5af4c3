/* access.h - decides who asks, and whether they may, once before a handler runs.
 *
 * It lies between HTTP and auth.h: it takes headers and answers problems. It runs on a worker,
 * since it computes hashes and asks tables. */
#ifndef GPUFL_SERVER_REQUEST_ACCESS_H
#define GPUFL_SERVER_REQUEST_ACCESS_H

#include "server/auth/auth.h"

struct call;

/* Fills c->who for the rights of c's route, or answers 401, 403 or 404. */
bool access_decide(struct call *c);

/* Fills c->who also for nobody in particular, for routes that anybody may ask; false: answered. */
bool access_who(struct call *c);

/* The problem that fits a code of auth.h. wait: ns until the next try, of TIMEOUT for too many
 * tries; 0: it was the tables that took too long. */
void access_fail(struct call *c, int rc, const struct err *e, int64_t wait);

/* The ask for functions of auth.h: c's caller. Its texts live as long as the call. */
struct auth_ask access_ask(const struct call *c, struct err *e);

/* Writes to the workspace's audit log that c's caller did the action to the target. */
void access_note(struct call *c, const char *action, const char *target);

#endif
