/* rights.c - looks up rights in the table. */
#include "server/auth/rights.h"

#include <stddef.h>
#include <string.h>

struct row {
    bool viewer, member, owner, ingest, read, admin, share;
};

static const struct row ROWS[RIGHTS_COUNT] = {
#define RIGHT(name, viewer, member, owner, ingest, read, admin, share, doc)                        \
    {viewer, member, owner, ingest, read, admin, share},
#include "server/auth/rights.def"
};

bool rights_of_role(enum rights right, const char *role)
{
    const struct row *r = &ROWS[right];
    if (right == RIGHTS_PUBLIC)
        return true;
    if (strcmp(role, "owner") == 0)
        return r->owner;
    if (strcmp(role, "member") == 0)
        return r->member;
    return strcmp(role, "viewer") == 0 && r->viewer;
}

bool rights_of_scopes(enum rights right, int64_t scopes)
{
    const struct row *r = &ROWS[right];
    return right == RIGHTS_PUBLIC || (r->ingest && (scopes & SCOPE_INGEST)) ||
           (r->read && (scopes & SCOPE_READ)) || (r->admin && (scopes & SCOPE_ADMIN));
}

bool rights_of_share(enum rights right)
{
    return ROWS[right].share;
}

bool role_ok(const char *role)
{
    return strcmp(role, "owner") == 0 || strcmp(role, "member") == 0 || strcmp(role, "viewer") == 0;
}

bool scopes_parse(const char *words, int64_t *scopes)
{
    static const struct {
        const char *word;
        int64_t scope;
    } known[] = {{"ingest", SCOPE_INGEST}, {"read", SCOPE_READ}, {"admin", SCOPE_ADMIN}};
    *scopes = 0;
    while (*words) {
        size_t len = strcspn(words, ","), i = 0;
        while (i < 3 && (strlen(known[i].word) != len || memcmp(known[i].word, words, len) != 0))
            i++;
        if (i == 3)
            return false;
        *scopes |= known[i].scope;
        words += len;
        if (*words == ',' && !*++words)
            return false;
    }
    return *scopes != 0;
}
