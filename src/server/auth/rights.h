/* rights.h - maps roles and scopes to rights, from one table (rights.def). Everything here is
 * constant; any thread may read it. */
#ifndef GPUFL_SERVER_AUTH_RIGHTS_H
#define GPUFL_SERVER_AUTH_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

enum rights {
#define RIGHT(name, viewer, member, owner, ingest, read, admin, share, doc) RIGHTS_##name,
#include "server/auth/rights.def"
    RIGHTS_COUNT
};

/* Lists the scopes of API keys, as schema/meta.def keeps them. */
enum { SCOPE_INGEST = 1, SCOPE_READ = 2, SCOPE_ADMIN = 4, SCOPE_ALL = 7 };

bool rights_of_role(enum rights right, const char *role); /* unknown roles have only PUBLIC */
/* Returns true if one of the scopes gives the right. */
bool rights_of_scopes(enum rights right, int64_t scopes);
bool rights_of_share(enum rights right);

bool role_ok(const char *role); /* owner, member, viewer */
/* Reads "ingest,read"; false: unknown scopes, or none. */
bool scopes_parse(const char *words, int64_t *scopes);

#endif
