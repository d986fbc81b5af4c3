/* control.h - configurations in versions, the agents of hosts, and requests for captures: the part
 * of meta.h that has agents do something. The rules for memory, errors and threads are those of
 * meta.h. */
#ifndef GPUFL_META_CONTROL_H
#define GPUFL_META_CONTROL_H

#include "meta/meta.h"

/* Adds a version. base: the version that its author saw, 0: none; STATE: there is a newer one.
 * c->version is ignored, *version becomes the new one's. */
int meta_config_put(struct meta *m, const char *workspace, const struct meta_named_config *c,
                    int64_t base, int64_t *version, struct err *e);
int meta_config_get(
    const struct meta_ask *ask, const char *name,
    struct meta_named_config *out); /* the newest version, also one that is removed */
int meta_config_list(const struct meta_ask *ask, struct meta_named_config **rows, size_t *count);
int meta_config_versions(const struct meta_ask *ask, const char *name,
                         struct meta_named_config **rows, size_t *count); /* newest first */
/* How many versions were ever written: another number means that something has changed. */
int meta_config_changes(struct meta *m, const char *workspace, int64_t *count, struct err *e);

/* Assigns a configuration to a host, in place of another one. NOENT: there is no such
 * configuration. Deleting a configuration releases its hosts. */
int meta_host_config_put(struct meta *m, const char *workspace, const struct meta_host_config *h,
                         struct err *e);
int meta_host_config_get(const struct meta_ask *ask, const char *host,
                         struct meta_host_config *out);
int meta_host_config_list(const struct meta_ask *ask, struct meta_host_config **rows,
                          size_t *count); /* by host */
int meta_host_config_remove(struct meta *m, const char *workspace, const char *host, struct err *e);

/* Notes that an agent is there. One that takes requests binds its key and its host to each other:
 * STATE: the host is bound to another key that is valid, or the key to another host. *fresh: the
 * two were bound now. */
int meta_agent_put(struct meta *m, const char *workspace, const struct meta_agent *a, bool *fresh,
                   struct err *e);
int meta_agent_get(const struct meta_ask *ask, const char *host, struct meta_agent *out);
int meta_agent_list(const struct meta_ask *ask, struct meta_agent **rows, size_t *count);
int meta_agent_remove(struct meta *m, const char *workspace, const char *host, struct err *e);

/* Adds a request. STATE: the session has one that is under way. */
int meta_capture_add(struct meta *m, const char *workspace, const struct meta_capture *c,
                     struct err *e);
/* host, session: NULL: all. The states are those at now. Newest first. */
int meta_capture_list(const struct meta_ask *ask, const char *host, const char *session,
                      int64_t now, struct meta_capture **rows, size_t *count);
/* Takes what waits for the host, each request once, however many ask. STATE: the key is not the
 * host's. */
int meta_capture_take(const struct meta_ask *ask, const char *host, const char *key, int64_t now,
                      struct meta_capture **rows, size_t *count);
/* Notes what became of a request that the key of its host took, once. state: open, refused or
 * failed. NOENT: no such request, or its end is known. */
int meta_capture_end(const struct meta_ask *ask, const char *host, const char *key,
                     const struct meta_capture *end, int64_t now, struct meta_capture *out);

#endif
