/* control.h - keeps versions of configurations, the agents of hosts, and requests for captures: the
 * part of meta.h with which the server controls agents. The rules for memory, errors and threads
 * are those of meta.h. */
#ifndef GPUFL_META_CONTROL_H
#define GPUFL_META_CONTROL_H

#include "meta/meta.h"

/* Adds a version. base: the version that its author saw, 0: none; STATE: there is a newer one.
 * c->version is ignored; *version becomes the number of the new version. */
int meta_config_put(struct meta *m, const char *workspace, const struct meta_named_config *c,
                    int64_t base, int64_t *version, struct err *e);
int meta_config_get(
    const struct meta_ask *ask, const char *name,
    struct meta_named_config *out); /* the newest version, also one that is removed */
int meta_config_list(const struct meta_ask *ask, struct meta_named_config **rows, size_t *count);
int meta_config_versions(const struct meta_ask *ask, const char *name,
                         struct meta_named_config **rows, size_t *count); /* newest first */
/* Counts how many versions were ever written: a changed number means that a configuration has
 * changed. */
int meta_config_changes(struct meta *m, const char *workspace, int64_t *count, struct err *e);

/* Assigns a configuration to a host, in place of an earlier one. NOENT: there is no such
 * configuration. Deleting a configuration ends its assignments. */
int meta_host_config_put(struct meta *m, const char *workspace, const struct meta_host_config *h,
                         struct err *e);
int meta_host_config_get(const struct meta_ask *ask, const char *host,
                         struct meta_host_config *out);
int meta_host_config_list(const struct meta_ask *ask, struct meta_host_config **rows,
                          size_t *count); /* by host */
int meta_host_config_remove(struct meta *m, const char *workspace, const char *host, struct err *e);

/* Notes that an agent is running. An agent that takes requests binds its key and its host to each
 * other. STATE: the host is bound to another key that is valid, or the key to another host. *fresh:
 * this call bound the two. */
int meta_agent_put(struct meta *m, const char *workspace, const struct meta_agent *a, bool *fresh,
                   struct err *e);
int meta_agent_get(const struct meta_ask *ask, const char *host, struct meta_agent *out);
int meta_agent_list(const struct meta_ask *ask, struct meta_agent **rows, size_t *count);
int meta_agent_remove(struct meta *m, const char *workspace, const char *host, struct err *e);

/* Adds a request. STATE: the session already has a request that is not finished. */
int meta_capture_add(struct meta *m, const char *workspace, const struct meta_capture *c,
                     struct err *e);
/* Lists orders to capture. host, session: NULL: all. The states are those at the time `now`. Newest
 * first. */
int meta_capture_list(const struct meta_ask *ask, const char *host, const char *session,
                      int64_t now, struct meta_capture **rows, size_t *count);
/* Takes the requests that wait for the host; each is taken once, however many processes ask. STATE:
 * the key is not that of the host's agent. */
int meta_capture_take(const struct meta_ask *ask, const char *host, const char *key, int64_t now,
                      struct meta_capture **rows, size_t *count);
/* Notes, once, the outcome of a request that the agent with this key took. state: open, refused or
 * failed. NOENT: no such request, or its outcome is known already. */
int meta_capture_end(const struct meta_ask *ask, const char *host, const char *key,
                     const struct meta_capture *end, int64_t now, struct meta_capture *out);

#endif
