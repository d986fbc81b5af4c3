/* states.c - see states.h. */
#include "server/intake/states.h"

#include "base/alloc.h"
#include "server/intake/newest_samples.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOINED_MAX = 8192 }; /* bytes: half of what a row's text may have */

static const int64_t kept_ns = NEWEST_KEPT_S * (int64_t)1000000000;

/* Holds a state, and the part of it that is another session's. */
struct parsed {
    json_t *members, *kept; /* kept: borrowed; NULL: nothing */
    int64_t time;
    const char *session;
};

/* A source is the session that sent a member, and the time of that state. */
struct source {
    const char *session;
    int64_t time;
};

static int64_t number_of(const json_t *text)
{
    return json_is_string(text) ? strtoll(json_string_value(text), NULL, 10) : 0;
}

static bool parse(struct parsed *t, const char *state)
{
    t->members = json_loads(state, 0, NULL);
    if (!json_is_object(t->members))
        return false;
    const char *session = json_string_value(json_object_get(t->members, "session"));
    t->time = number_of(json_object_get(t->members, "time"));
    t->session = session ? session : "";
    t->kept = json_object_get(t->members, "kept");
    if (!json_is_object(t->kept)) {
        json_object_del(t->members, "kept");
        t->kept = NULL;
    }
    return true;
}

static struct source source_of(const struct parsed *t, const char *member)
{
    const json_t *at = json_object_get(t->kept, member);
    const char *session = json_string_value(json_array_get(at, 1));
    if (!at || !session)
        return (struct source){t->session, t->time};
    return (struct source){session, number_of(json_array_get(at, 0))};
}

static bool is_member(const char *key)
{
    return strcmp(key, "time") != 0 && strcmp(key, "session") != 0 && strcmp(key, "kept") != 0;
}

/* Drops of what the newer one keeps: what has grown too old, and what the other one's session has
 * spoken of since. */
static void drop_kept(struct parsed *newer, const struct parsed *older)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(newer->kept, next, key, value)
    {
        struct source s = source_of(newer, key);
        bool since = strcmp(s.session, older->session) == 0 && s.time <= older->time;
        if (!since && newer->time - s.time <= kept_ns)
            continue;
        json_object_del(newer->members, key);
        json_object_del(newer->kept, key);
    }
}

static bool keep(struct parsed *newer, const char *key, json_t *value, struct source s)
{
    char time[32];
    if (!newer->kept) {
        newer->kept = json_object();
        if (json_object_set_new(newer->members, "kept", newer->kept))
            return false;
    }
    snprintf(time, sizeof time, "%lld", (long long)s.time);
    return json_object_set_new(newer->kept, key, json_pack("[ss]", time, s.session)) == 0 &&
           json_object_set(newer->members, key, value) == 0;
}

static bool take_kept(struct parsed *newer, const struct parsed *older)
{
    const char *key;
    json_t *value;
    json_object_foreach(older->members, key, value)
    {
        struct source s = source_of(older, key);
        bool has = json_object_get(newer->members, key) != NULL;
        bool keeps = has && json_object_get(newer->kept, key);
        if (!is_member(key) || (has && !keeps) || strcmp(s.session, newer->session) == 0 ||
            newer->time - s.time > kept_ns || (keeps && source_of(newer, key).time >= s.time))
            continue;
        if (!keep(newer, key, value, s))
            return false;
    }
    return true;
}

/* Returns both states joined, as a text; NULL: the newer one stays as it is. */
static char *join(struct parsed *newer, const struct parsed *older)
{
    drop_kept(newer, older);
    if (!take_kept(newer, older))
        return NULL;
    if (newer->kept && json_object_size(newer->kept) == 0)
        json_object_del(newer->members, "kept");
    size_t len = json_dumpb(newer->members, NULL, 0, JSON_COMPACT);
    char *text = len && len < JOINED_MAX ? mem_alloc(len + 1) : NULL;
    if (text && json_dumpb(newer->members, text, len, JSON_COMPACT) == len) {
        text[len] = '\0';
        return text;
    }
    mem_free(text);
    return NULL;
}

/* Reads time and session as a state begins with them; false: it begins otherwise. */
static bool read_head(const char *state, long long *time, char session[64])
{
    return sscanf(state, "{\"time\":\"%19lld\",\"session\":\"%63[^\"]\"", time, session) == 2;
}

/* Most states follow one of the same session, and keep nothing: those need no parser. */
static bool is_one_session(const char *a, const char *b, bool *newer)
{
    char of_a[64], of_b[64];
    long long at_a, at_b;
    if (!read_head(a, &at_a, of_a) || !read_head(b, &at_b, of_b) || strcmp(of_a, of_b) != 0 ||
        strstr(a, "\"kept\":") || strstr(b, "\"kept\":"))
        return false;
    *newer = at_b >= at_a;
    return true;
}

char *states_join(const char *state, const char *other)
{
    struct parsed a = {0}, b = {0};
    bool newer = true;
    if (!*other)
        return NULL;
    if (!*state || is_one_session(state, other, &newer))
        return newer ? mem_strdup(other) : NULL;
    bool known = parse(&a, state), new_known = parse(&b, other);
    newer = new_known && (!known || b.time >= a.time);
    char *text = NULL;
    if (known && new_known)
        text = newer ? join(&b, &a) : join(&a, &b);
    if (newer && !text)
        text = mem_strdup(other);
    json_decref(a.members);
    json_decref(b.members);
    return text;
}
