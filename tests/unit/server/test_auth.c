/* test_auth.c - tests logins, keys, links and tickets over real small tables (SQLite). */
#include "base/alloc.h"
#include "server/auth/auth.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY 86400000000000LL
#define NOW 1700000000000000000LL

struct fixture {
    struct meta *m;
    struct auth a;
    struct region mem;
    struct err e;
    char dir[32], path[64];
    struct auth_from from;
    struct auth_entry ada; /* the first user, logged in */
};

/* A request to the small tables of a workspace; the fixture has the answer. */
#define ASK(f, workspace) (&(struct meta_ask){(f)->m, workspace, &(f)->mem, &(f)->e})

/* A request to auth by somebody (NULL: who is not known yet). */
#define AS(f, by) (&(struct auth_ask){&(f)->a, by, (f)->from, &(f)->e})

#define OK(call)                                                                                   \
    do {                                                                                           \
        int ok_rc = (call);                                                                        \
        if (ok_rc)                                                                                 \
            fail_msg("%s: %d %s", #call, ok_rc, f->e.text);                                        \
    } while (0)
#define FAILS(code, call) assert_int_equal(call, GPUFL_E_##code)

#define PASSWORD "correct horse battery"

static int fresh(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);
    const struct auth_config c = {.password_passes = 1, .password_memory = 8192};
    snprintf(f->dir, sizeof f->dir, "auth-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof f->path, "%s/meta.db", f->dir);
    region_init(&f->mem, 64 << 20);
    OK(meta_open(&f->m, &(struct meta_config){.path = f->path, .migrate = true, .relaxed = true},
                 &f->e));
    OK(auth_init(&f->a, f->m, &c, &f->e));
    f->from = (struct auth_from){"192.0.2.1", "test \x1b[31m agent", NOW, NULL};
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    char token[SECRET_TOKEN];
    bool needed = false;
    fresh(state);
    struct fixture *f = *state;
    OK(auth_setup_ticket(&f->a, NOW, token, &needed, &f->e));
    assert_true(needed);
    OK(auth_setup(AS(f, NULL), token,
                  &(struct auth_setup){{"Ada@Example.org", "Ada", PASSWORD}, "first"}, &f->ada));
    return 0;
}

static int end(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    char path[80];
    auth_fini(&f->a);
    meta_close(f->m);
    region_fini(&f->mem);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", f->path, ends[i]);
        unlink(path);
    }
    rmdir(f->dir);
    mem_free(f);
    return 0;
}

/* The user that an entry's cookie belongs to. */
static struct auth_who who_of(struct fixture *f, const struct auth_entry *entry)
{
    const struct auth_said said = {.cookie = entry->token, .now = f->from.now};
    struct auth_who w;
    OK(auth_who(&f->a, &said, &f->mem, &w, &f->e));
    return w;
}

static int who_code(struct fixture *f, const struct auth_said *said)
{
    struct auth_said now = *said;
    struct auth_who w;
    now.now = f->from.now;
    int rc = auth_who(&f->a, &now, &f->mem, &w, &f->e);
    if (rc) /* nothing of a user is left in it */
        assert_true(!*w.kind && !*w.actor && !*w.workspace && !w.admin && !w.scopes);
    return rc;
}

static void test_setup(void **state)
{
    struct fixture *f = *state;
    char token[SECRET_TOKEN], other[SECRET_TOKEN];
    struct auth_entry entry;
    bool needed = false;
    OK(auth_setup_ticket(&f->a, NOW, token, &needed, &f->e));
    OK(auth_setup_ticket(&f->a, NOW, other, &needed, &f->e));
    FAILS(INVAL, auth_setup(AS(f, NULL), token, &(struct auth_setup){{"ada", "Ada", PASSWORD}, "w"},
                            &entry));
    FAILS(INVAL, auth_setup(AS(f, NULL), token, &(struct auth_setup){{"a@b.c", "", PASSWORD}, "w"},
                            &entry));
    FAILS(INVAL, auth_setup(AS(f, NULL), token,
                            &(struct auth_setup){{"a@b.c", "Ada", "short"}, "w"}, &entry));
    OK(auth_setup(AS(f, NULL), token, &(struct auth_setup){{"a@b.c", "Ada", PASSWORD}, "first"},
                  &entry));
    struct auth_who w = who_of(f, &entry); /* mistakes did not cost the link */
    assert_true(w.admin);
    assert_string_equal(w.role, "owner");
    assert_string_equal(w.name, "a@b.c");
    OK(auth_may(&w, RIGHTS_ADMIN, NULL, &f->e));
    FAILS(PERM, auth_setup(AS(f, NULL), token, &(struct auth_setup){{"x@b.c", "X", PASSWORD}, "w"},
                           &entry));
    FAILS(STATE, auth_setup(AS(f, NULL), other, &(struct auth_setup){{"x@b.c", "X", PASSWORD}, "w"},
                            &entry));
    OK(auth_setup_ticket(&f->a, NOW, token, &needed, &f->e));
    assert_false(needed);
}

static void test_login(void **state)
{
    struct fixture *f = *state;
    struct auth_entry entry;
    struct auth_said said = {0};
    OK(auth_login(AS(f, NULL), " ADA@example.org ", PASSWORD, &entry));
    assert_string_equal(who_of(f, &entry).name, "ada@example.org");
    FAILS(PERM, auth_login(AS(f, NULL), "ada@example.org", "wrong password", &entry));
    char wrong[384];
    snprintf(wrong, sizeof wrong, "%s", f->e.text);
    FAILS(PERM, auth_login(AS(f, NULL), "bob@example.org", PASSWORD, &entry));
    assert_string_equal(f->e.text, wrong); /* nobody learns who has an account */
    FAILS(INVAL, auth_login(AS(f, NULL), "' OR 1=1", PASSWORD, &entry));
    FAILS(PERM, auth_login(AS(f, NULL), "ada@example.org", "", &entry));
    assert_int_equal(who_code(f, &said), 0); /* without a cookie the caller is anonymous */
    said.cookie = f->ada.token;
    OK(auth_logout(&f->a, f->ada.token, &f->e));
    OK(auth_logout(&f->a, "garbage", &f->e));
    OK(auth_logout(&f->a, NULL, &f->e));
    assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
}

static void test_login_ends(void **state)
{
    struct fixture *f = *state;
    const struct auth_said said = {.cookie = f->ada.token};
    for (f->from.now = NOW; f->from.now < NOW + 30 * DAY; f->from.now += 6 * DAY)
        assert_int_equal(who_code(f, &said), 0); /* used every six days */
    f->from.now = NOW + 30 * DAY + 1;
    assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
    struct auth_entry entry;
    OK(auth_login(AS(f, NULL), "ada@example.org", PASSWORD, &entry));
    const struct auth_said idle = {.cookie = entry.token};
    f->from.now += 7 * DAY + 1;
    assert_int_equal(who_code(f, &idle), GPUFL_E_PERM);
}

static void test_csrf(void **state)
{
    struct fixture *f = *state;
    struct auth_entry entry;
    OK(auth_login(AS(f, NULL), "ada@example.org", PASSWORD, &entry));
    struct auth_said said = {.cookie = f->ada.token, .writes = true};
    assert_int_equal(who_code(f, &said), GPUFL_E_STATE);
    said.csrf = "";
    assert_int_equal(who_code(f, &said), GPUFL_E_STATE);
    said.csrf = entry.csrf; /* of another login */
    assert_int_equal(who_code(f, &said), GPUFL_E_STATE);
    said.csrf = f->ada.token;
    assert_int_equal(who_code(f, &said), GPUFL_E_STATE);
    said.csrf = f->ada.csrf;
    assert_int_equal(who_code(f, &said), 0);
}

static void test_hostile_headers(void **state)
{
    struct fixture *f = *state;
    static const char *const headers[] = {"Bearer",
                                          "Bearer ",
                                          "Bearer gpfl_",
                                          "Bearer gpfl_' OR '1'='1",
                                          "Basic YTpi",
                                          "",
                                          "bearer \xff\xfe",
                                          "Bearer gpfl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                          "Bearer gpfs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                          "Bearer gpfl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA x",
                                          "Bearer Bearer Bearer"};
    static const char *const cookies[] = {
        "x", "' OR 1=1 --", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "\xff", "a=b; c=d"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        const struct auth_said said = {.authorization = headers[i]};
        assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
        /* A cookie does not make a bad key good. */
        const struct auth_said both = {.authorization = headers[i], .cookie = f->ada.token};
        assert_int_equal(who_code(f, &both), GPUFL_E_PERM);
    }
    for (size_t i = 0; i < sizeof cookies / sizeof cookies[0]; i++) {
        const struct auth_said said = {.cookie = cookies[i]};
        assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
    }
    const struct auth_said other = {.cookie = f->ada.token, .workspace = "' OR 1=1"};
    assert_int_equal(who_code(f, &other), GPUFL_E_NOENT);
}

static void test_keys(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada), w;
    char key[SECRET_KEY], id[SECRET_ID], header[64], dump[64];
    struct meta_key *keys = NULL;
    size_t n = 0;
    OK(auth_key_make(AS(f, &ada), "ci", SCOPE_INGEST, NOW + DAY, key, id));
    snprintf(header, sizeof header, "Bearer %s", key);
    const struct auth_said said = {.authorization = header,
                                   .writes = true, /* without a cookie no CSRF token is needed */
                                   .now = NOW};
    OK(auth_who(&f->a, &said, &f->mem, &w, &f->e));
    assert_string_equal(w.kind, "key");
    assert_string_equal(w.workspace, ada.workspace);
    OK(auth_may(&w, RIGHTS_INGEST, NULL, &f->e));
    FAILS(STATE, auth_may(&w, RIGHTS_READ, NULL, &f->e));
    FAILS(STATE, auth_may(&w, RIGHTS_ADMIN, NULL, &f->e));
    const struct auth_said elsewhere = {.authorization = header, .workspace = "other"};
    assert_int_equal(who_code(f, &elsewhere), GPUFL_E_NOENT);
    OK(meta_key_list(ASK(f, ada.workspace), &keys, &n));
    assert_int_equal(n, 1);
    assert_memory_equal(keys[0].prefix, key, 8);
    assert_int_equal(strlen(keys[0].prefix), 8);
    snprintf(dump, sizeof dump, "%s", keys[0].hash);
    assert_null(strstr(dump, key + 5));
    f->from.now = NOW + DAY;
    assert_int_equal(who_code(f, &said), GPUFL_E_PERM); /* expired */
    f->from.now = NOW;
    OK(auth_key_revoke(AS(f, &ada), id));
    assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
    FAILS(INVAL, auth_key_make(AS(f, &ada), "x", 8, 0, key, id));
    FAILS(INVAL, auth_key_make(AS(f, &ada), "x", 0, 0, key, id));
    FAILS(INVAL, auth_key_make(AS(f, &ada), "", 1, 0, key, id));
    FAILS(INVAL, auth_key_make(AS(f, &ada), "x", 1, NOW, key, id));
}

static void test_shares(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada), w;
    const struct meta_session s = {.id = "s1", .app = "train", .pid = 1, .started = 5};
    char token[SECRET_KEY], id[SECRET_ID], header[64];
    OK(meta_session_put(f->m, ada.workspace, &s, NULL, NULL, &f->e));
    FAILS(NOENT, auth_share_make(AS(f, &ada), "s2", NOW + DAY, token, id));
    FAILS(INVAL, auth_share_make(AS(f, &ada), "s1", NOW, token, id));
    OK(auth_share_make(AS(f, &ada), "s1", NOW + DAY, token, id));
    snprintf(header, sizeof header, "Bearer %s", token);
    const struct auth_said said = {.authorization = header, .now = NOW};
    OK(auth_who(&f->a, &said, &f->mem, &w, &f->e));
    assert_string_equal(w.session, "s1");
    OK(auth_may(&w, RIGHTS_READ, "s1", &f->e));
    FAILS(NOENT, auth_may(&w, RIGHTS_READ, "s2", &f->e));
    FAILS(STATE, auth_may(&w, RIGHTS_READ, NULL, &f->e)); /* a link shows no lists */
    FAILS(STATE, auth_may(&w, RIGHTS_WRITE, "s1", &f->e));
    OK(auth_share_revoke(AS(f, &ada), id));
    assert_int_equal(who_code(f, &said), GPUFL_E_PERM);
}

static void test_invitations(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada), ben;
    struct auth_entry entry;
    char token[SECRET_TOKEN];
    FAILS(INVAL, auth_invite(AS(f, &ada), "king", token));
    OK(auth_invite(AS(f, &ada), "viewer", token));
    FAILS(INVAL, auth_accept(AS(f, NULL), token,
                             &(struct auth_person){"ben@example.org", "Ben", "short"}, &entry));
    OK(auth_accept(AS(f, NULL), token, &(struct auth_person){"ben@example.org", "Ben", PASSWORD},
                   &entry));
    ben = who_of(f, &entry);
    assert_string_equal(ben.role, "viewer");
    assert_false(ben.admin);
    OK(auth_may(&ben, RIGHTS_READ, NULL, &f->e));
    FAILS(STATE, auth_may(&ben, RIGHTS_WRITE, NULL, &f->e));
    FAILS(STATE, auth_may(&ben, RIGHTS_ADMIN, NULL, &f->e));
    FAILS(PERM, auth_accept(AS(f, NULL), token,
                            &(struct auth_person){"eve@example.org", "Eve", PASSWORD}, &entry));
    /* An account needs its password, and keeps its higher role. */
    OK(auth_invite(AS(f, &ada), "viewer", token));
    FAILS(PERM, auth_accept(AS(f, NULL), token,
                            &(struct auth_person){"ada@example.org", "Mallory", "wrong password"},
                            &entry));
    FAILS(STATE, auth_accept(AS(f, NULL), token,
                             &(struct auth_person){"ada@example.org", "Ada", PASSWORD}, &entry));
    assert_string_equal(who_of(f, &f->ada).role, "owner");
    f->from.now += 8 * DAY;
    FAILS(PERM, auth_accept(AS(f, NULL), token,
                            &(struct auth_person){"eve@example.org", "Eve", PASSWORD}, &entry));
}

static void test_passwords_change(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada);
    struct auth_entry other, entry;
    char token[SECRET_TOKEN];
    int64_t wait = 0;
    OK(auth_login(AS(f, NULL), "ada@example.org", PASSWORD, &other));
    const struct auth_said others = {.cookie = other.token}, own = {.cookie = f->ada.token};
    FAILS(PERM, auth_password_change(AS(f, &ada), f->ada.token, "wrong password",
                                     "another good one", &wait));
    FAILS(INVAL, auth_password_change(AS(f, &ada), f->ada.token, PASSWORD, "short", &wait));
    OK(auth_password_change(AS(f, &ada), f->ada.token, PASSWORD, "another good one", &wait));
    assert_int_equal(who_code(f, &others), GPUFL_E_PERM);
    assert_int_equal(who_code(f, &own), 0);
    FAILS(PERM, auth_login(AS(f, NULL), "ada@example.org", PASSWORD, &entry));
    OK(auth_reset_ticket(AS(f, &ada), ada.actor, token));
    FAILS(INVAL, auth_reset(AS(f, NULL), token, "short", &entry));
    OK(auth_reset(AS(f, NULL), token, "a third good one", &entry));
    assert_int_equal(who_code(f, &own), GPUFL_E_PERM); /* all logins have ended */
    assert_true(who_of(f, &entry).admin);
    FAILS(PERM, auth_reset(AS(f, NULL), token, "a fourth good one", &entry));
    FAILS(NOENT, auth_reset_ticket(AS(f, &ada), "nobody", token));
}

/* A list of words is stopped, with an answer that says how long to wait; the right one is not tried
 * either. */
static void test_guessing(void **state)
{
    struct fixture *f = *state;
    struct auth_entry entry;
    int tried = 0, rc = 0;
    for (; tried < 50; tried++) {
        rc = auth_login(AS(f, NULL), "ada@example.org", "wrong password", &entry);
        if (rc != GPUFL_E_PERM)
            break;
    }
    assert_int_equal(rc, GPUFL_E_TIMEOUT);
    assert_int_equal(tried, ADDRESS_TRIES);
    assert_true(entry.wait > 0 && entry.wait <= ADDRESS_EVERY);
    FAILS(TIMEOUT, auth_login(AS(f, NULL), "ada@example.org", PASSWORD, &entry));
    for (int i = 0; tried < 50; tried++, i++) { /* from many addresses: the account's own limit */
        char address[32];
        snprintf(address, sizeof address, "198.51.100.%d", i);
        const struct auth_from from = {address, "", NOW, NULL};
        rc = auth_login(&(struct auth_ask){&f->a, NULL, from, &f->e}, "ada@example.org",
                        "wrong password", &entry);
        if (rc != GPUFL_E_PERM)
            break;
    }
    assert_int_equal(tried, ACCOUNT_TRIES);
    assert_int_equal(rc, GPUFL_E_TIMEOUT);
    assert_string_equal(who_of(f, &f->ada).kind, "user"); /* a login goes on */
}

/* Strangers who guess, from the same address and from everywhere, do not lock out the user's own
 * browser, which has its own limit. */
static void test_a_known_browser_is_not_locked_out(void **state)
{
    struct fixture *f = *state;
    struct auth_entry entry;
    struct auth_ask known = *AS(f, NULL), other = known;
    char mine[AUTH_DEVICE], forged[AUTH_DEVICE];
    memcpy(mine, f->ada.device, sizeof mine);
    memcpy(forged, mine, sizeof forged);
    forged[AUTH_DEVICE - 3] = (char)(forged[AUTH_DEVICE - 3] == 'x' ? 'y' : 'x');
    known.from.device = mine;
    other.from.device = forged;
    int rc;
    while ((rc = auth_login(&other, "ada@example.org", "wrong password", &entry)) == GPUFL_E_PERM)
        ;
    assert_int_equal(rc, GPUFL_E_TIMEOUT);
    OK(auth_login(&known, "ada@example.org", PASSWORD, &entry));
    assert_int_equal(strlen(entry.device), AUTH_DEVICE - 1);
    assert_string_not_equal(entry.device, mine);
    int tried = 0;
    while ((rc = auth_login(&known, "ada@example.org", "wrong password", &entry)) == GPUFL_E_PERM)
        tried++;
    assert_int_equal(rc, GPUFL_E_TIMEOUT);
    assert_int_equal(tried, DEVICE_TRIES);
    /* this browser is not known for bob */
    FAILS(TIMEOUT, auth_login(&known, "bob@example.org", PASSWORD, &entry));
}

static void test_local(void **state)
{
    struct fixture *f = *state;
    char token[SECRET_TOKEN], again[SECRET_TOKEN];
    struct auth_entry entry, none;
    OK(auth_local_ticket(&f->a, NOW, token, &f->e));
    OK(auth_local_ticket(&f->a, NOW, again, &f->e));
    OK(auth_local(AS(f, NULL), token, &entry));
    FAILS(PERM, auth_local(AS(f, NULL), token, &none)); /* a token is valid once */
    struct auth_who w = who_of(f, &entry);
    assert_string_equal(w.workspace, "local");
    OK(auth_may(&w, RIGHTS_OWNER, NULL, &f->e));
    /* The next start ends the logins of the last one: browsers send cookies to every port. */
    const struct auth_said said = {.cookie = entry.token, .now = NOW};
    char next[SECRET_TOKEN];
    OK(auth_local_ticket(&f->a, NOW, next, &f->e));
    FAILS(PERM, auth_who(&f->a, &said, &f->mem, &w, &f->e));
    OK(auth_local(AS(f, NULL), next, &entry));
    who_of(f, &entry);
    f->from.now += 11 * 60 * 1000000000LL;
    FAILS(PERM, auth_local(AS(f, NULL), again, &none));
    FAILS(PERM, auth_login(AS(f, NULL), "local@local", "", &none));
    FAILS(INVAL, auth_login(AS(f, NULL), "local", "", &none));
}

/* A server with accounts is not opened by pointing the local mode at its folder. */
static void test_local_with_accounts(void **state)
{
    struct fixture *f = *state;
    char token[SECRET_TOKEN];
    FAILS(STATE, auth_local_ticket(&f->a, NOW, token, &f->e));
}

/* A link of one purpose is valid for no other. */
static void test_purposes(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada);
    struct auth_entry entry;
    char invite[SECRET_TOKEN], reset[SECRET_TOKEN];
    OK(auth_invite(AS(f, &ada), "viewer", invite));
    OK(auth_reset_ticket(AS(f, &ada), ada.actor, reset));
    FAILS(PERM, auth_local(AS(f, NULL), invite, &entry));
    FAILS(PERM, auth_local(AS(f, NULL), reset, &entry));
    FAILS(PERM, auth_reset(AS(f, NULL), invite, PASSWORD, &entry));
    FAILS(PERM,
          auth_accept(AS(f, NULL), reset, &(struct auth_person){"e@b.c", "E", PASSWORD}, &entry));
    FAILS(PERM, auth_setup(AS(f, NULL), invite, &(struct auth_setup){{"e@b.c", "E", PASSWORD}, "w"},
                           &entry));
    OK(auth_accept(AS(f, NULL), invite, &(struct auth_person){"e@b.c", "E", PASSWORD}, &entry));
}

static void test_cookies(void **state)
{
    struct fixture *f = *state;
    char out[AUTH_COOKIE], want[AUTH_COOKIE];
    struct auth secure = {.config = {.secure = true}, .cookie = "__Host-gpufl_login"};
    auth_cookie_set(&f->a, &f->ada, NOW, out);
    snprintf(want, sizeof want,
             "gpufl_login=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", f->ada.token);
    assert_string_equal(out, want);
    auth_cookie_set(&secure, &f->ada, NOW, out);
    assert_int_equal(strncmp(out, "__Host-gpufl_login=", 19), 0);
    assert_string_equal(out + strlen(out) - 8, "; Secure");
    auth_cookie_clear(&f->a, out);
    assert_non_null(strstr(out, "gpufl_login=; "));
    assert_non_null(strstr(out, "Max-Age=0"));
}

static void test_what_was_done_is_written_down(void **state)
{
    struct fixture *f = *state;
    struct auth_who ada = who_of(f, &f->ada);
    struct meta_audited *rows = NULL;
    struct meta_page page = {0};
    char key[SECRET_KEY], id[SECRET_ID];
    struct auth_entry entry;
    size_t n = 0;
    OK(auth_key_make(AS(f, &ada), "ci", 1, 0, key, id));
    OK(auth_key_revoke(AS(f, &ada), id));
    FAILS(PERM, auth_login(AS(f, NULL), "ada@example.org", "wrong password", &entry));
    OK(meta_audit_list(ASK(f, ada.workspace), &page, &rows, &n));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].action, "key.revoke");
    assert_string_equal(rows[1].action, "key.create");
    assert_string_equal(rows[1].target, id);
    assert_string_equal(rows[1].actor, ada.actor);
    assert_string_equal(rows[1].address, "192.0.2.1");
    OK(meta_audit_list(ASK(f, ""), &page, &rows, &n));
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].action, "login.failed");
    assert_string_equal(rows[1].action, "login");
    assert_string_equal(rows[2].action, "server.setup");
}

static void test_emails(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = {
        "",        "@",       "a@",       "@b", "a b@c", "a@b c", "a@b\r\nSet-Cookie: x",
        "<a@b.c>", "a@b,c@d", "\"a\"@b.c"};
    char out[256], longest[400];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (auth_email(bad[i], out, &f->e) != GPUFL_E_INVAL)
            fail_msg("%s", bad[i]);
    memset(longest, 'a', sizeof longest);
    memcpy(longest + 300, "@b.c", 5);
    FAILS(INVAL, auth_email(longest, out, &f->e));
    OK(auth_email("\tAda.B+x@Example.ORG \n", out, &f->e));
    assert_string_equal(out, "ada.b+x@example.org");
}

int main(void)
{
#define FRESH(name) cmocka_unit_test_setup_teardown(name, fresh, end)
#define SETUP(name) cmocka_unit_test_setup_teardown(name, set_up, end)
    const struct CMUnitTest tests[] = {
        FRESH(test_setup),
        SETUP(test_login),
        SETUP(test_login_ends),
        SETUP(test_csrf),
        SETUP(test_hostile_headers),
        SETUP(test_keys),
        SETUP(test_shares),
        SETUP(test_invitations),
        SETUP(test_passwords_change),
        SETUP(test_guessing),
        SETUP(test_a_known_browser_is_not_locked_out),
        FRESH(test_local),
        SETUP(test_local_with_accounts),
        SETUP(test_purposes),
        SETUP(test_cookies),
        SETUP(test_what_was_done_is_written_down),
        FRESH(test_emails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
