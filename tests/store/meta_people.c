/* meta_people.c - has cases of users, members and their secrets, for both engines. */
#include "meta_place.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

#define MINUTE 60000000000
#define HOUR   (60 * MINUTE)

static void test_workspaces(void **state)
{
    struct fixture *f = *state;
    struct meta_workspace w, *list = NULL;
    size_t n = 0;
    people_make(f);
    OK(meta_workspace_get(ASK(f, "w1"), &w));
    assert_string_equal(w.name, "one");
    assert_int_equal(w.created, 20);
    FAILS(STATE, meta_workspace_add(f->m, &w, &f->e));
    OK(meta_workspace_rename(f->m, "w1", "zebra", &f->e));
    FAILS(NOENT, meta_workspace_rename(f->m, "w3", "x", &f->e));
    OK(meta_workspace_list(ASK(f, NULL), &list, &n));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].id, "w2");
    assert_string_equal(list[1].name, "zebra");
    FAILS(NOENT, meta_workspace_get(ASK(f, "w3"), &w));
    FAILS(INVAL, meta_workspace_add(f->m, &(struct meta_workspace){"a b", "x", 1}, &f->e));
    FAILS(INVAL, meta_workspace_add(f->m, &(struct meta_workspace){"", "x", 1}, &f->e));
}

/* All objects of a workspace are removed with it; the columns of its sessions are to be freed. */
static void test_workspace_remove(void **state)
{
    struct fixture *f = *state;
    struct meta_session *sessions = NULL;
    struct meta_dropped *dropped = NULL;
    struct meta_key *keys = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "train", "a", 200);
    session_make(f, "w2", "s1", "train", "a", 100);
    OK(meta_key_add(f->m, "w1", &(struct meta_key){.id = "k", .hash = "h", .scopes = 1}, &f->e));
    OK(meta_workspace_remove(f->m, "w1", 900, &f->e));
    FAILS(NOENT, meta_workspace_remove(f->m, "w1", 900, &f->e));
    OK(meta_session_list(ASK(f, "w1"), &(struct meta_session_query){0}, &page, &sessions, &n));
    assert_int_equal(n, 0);
    OK(meta_key_list(ASK(f, "w1"), &keys, &n));
    assert_int_equal(n, 0);
    OK(meta_session_list(ASK(f, "w2"), &(struct meta_session_query){0}, &page, &sessions, &n));
    assert_int_equal(n, 1);
    OK(meta_dropped_list(ASK(f, NULL), 10, &dropped, &n));
    assert_int_equal(n, 2);
    assert_string_equal(dropped[0].workspace, "w1");
    assert_string_equal(dropped[0].session, "s1");
    assert_string_equal(dropped[1].session, "s2");
    OK(meta_dropped_freed(f->m, "w1", "s1", &f->e));
    OK(meta_dropped_list(ASK(f, NULL), 10, &dropped, &n));
    assert_int_equal(n, 1);
    FAILS(NOENT, meta_dropped_freed(f->m, "w2", "s2", &f->e));
}

static void test_users(void **state)
{
    struct fixture *f = *state;
    struct meta_user u, *list = NULL;
    struct meta_membership *in = NULL;
    size_t n = 0;
    int64_t count = 0;
    people_make(f);
    OK(meta_user_by_email(ASK(f, NULL), "ada@example.org", &u));
    assert_string_equal(u.id, "u1");
    assert_int_equal(u.admin, 1);
    FAILS(NOENT, meta_user_by_email(ASK(f, NULL), "nobody@example.org", &u));
    FAILS(STATE,
          meta_user_add(f->m, &(struct meta_user){.id = "u9", .email = "ada@example.org"}, &f->e));
    OK(meta_user_get(ASK(f, NULL), "u2", &u));
    u.name = "Benno";
    OK(meta_user_change(f->m, &u, &f->e));
    OK(meta_user_list(ASK(f, NULL), &list, &n));
    assert_int_equal(n, 3);
    assert_string_equal(list[1].name, "Benno");
    OK(meta_user_count(f->m, &count, &f->e));
    assert_int_equal(count, 3);
    OK(meta_user_memberships(ASK(f, NULL), "u1", &in, &n));
    assert_int_equal(n, 2);
    assert_string_equal(in[0].workspace, "w1");
    assert_string_equal(in[1].name, "two");
    assert_string_equal(in[1].role, "owner");
}

static void test_last_admin(void **state)
{
    struct fixture *f = *state;
    struct meta_user u;
    people_make(f);
    OK(meta_user_get(ASK(f, NULL), "u1", &u));
    u.admin = 0;
    FAILS(STATE, meta_user_change(f->m, &u, &f->e));
    u.admin = 1;
    u.disabled = 1;
    FAILS(STATE, meta_user_change(f->m, &u, &f->e));
    OK(meta_user_get(ASK(f, NULL), "u1", &u));
    assert_int_equal(u.admin, 1);
    assert_int_equal(u.disabled, 0);
    OK(meta_user_change(f->m, &(struct meta_user){.id = "u2", .name = "Ben", .admin = 1}, &f->e));
    u.admin = 0;
    OK(meta_user_change(f->m, &u, &f->e));
    FAILS(NOENT, meta_user_change(f->m, &(struct meta_user){.id = "u9"}, &f->e));
}

static void test_members(void **state)
{
    struct fixture *f = *state;
    struct meta_member one, *list = NULL;
    size_t n = 0;
    people_make(f);
    OK(meta_member_put(f->m, "w1", "u2", "viewer", 40, &f->e));
    OK(meta_member_put(f->m, "w1", "u2", "member", 41, &f->e));
    FAILS(INVAL, meta_member_put(f->m, "w1", "u2", "king", 41, &f->e));
    FAILS(NOENT, meta_member_put(f->m, "w1", "u9", "viewer", 41, &f->e));
    FAILS(NOENT, meta_member_put(f->m, "w9", "u2", "owner", 41, &f->e));
    OK(meta_member_list(ASK(f, "w1"), &list, &n));
    assert_int_equal(n, 2);
    assert_string_equal(list[1].account, "u2");
    assert_string_equal(list[1].role, "member");
    assert_int_equal(list[1].created, 40);
    FAILS(STATE, meta_member_remove(f->m, "w1", "u1", &f->e));
    FAILS(STATE, meta_member_put(f->m, "w1", "u1", "member", 42, &f->e));
    OK(meta_member_get(ASK(f, "w1"), "u1", &one));
    assert_string_equal(one.role, "owner");
    OK(meta_member_put(f->m, "w1", "u2", "owner", 42, &f->e));
    OK(meta_member_remove(f->m, "w1", "u1", &f->e));
    FAILS(NOENT, meta_member_remove(f->m, "w1", "u1", &f->e));
    FAILS(NOENT, meta_member_get(ASK(f, "w1"), "u1", &one));
    FAILS(INVAL, meta_member_list(ASK(f, ""), &list, &n));
    FAILS(INVAL, meta_member_list(ASK(f, NULL), &list, &n));
}

static void login_make(struct fixture *f, const char *hash, const char *user, int64_t expires)
{
    const struct meta_login l = {
        .hash = hash, .account = user, .created = 5, .used = 5, .expires = expires};
    OK(meta_login_add(f->m, &l, &f->e));
}

static void test_logins(void **state)
{
    struct fixture *f = *state;
    struct meta_login l;
    struct meta_user u;
    people_make(f);
    login_make(f, "aa", "u2", 10 * MINUTE);
    login_make(f, "bb", "u2", 10 * MINUTE);
    OK(meta_login_use(ASK(f, NULL), "aa", 6, HOUR, &l, &u));
    assert_string_equal(u.email, "ben@example.org");
    assert_int_equal(l.used, 5); /* less than a minute ago */
    OK(meta_login_use(ASK(f, NULL), "aa", 2 * MINUTE, HOUR, &l, &u));
    OK(meta_login_use(ASK(f, NULL), "aa", 2 * MINUTE + 1, HOUR, &l, &u));
    assert_int_equal(l.used, 2 * MINUTE);
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "aa", 10 * MINUTE, HOUR, &l, &u));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "aa", 4 * MINUTE, 2 * MINUTE, &l, &u));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "cc", 6, HOUR, &l, &u));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "' OR 1=1 --", 6, HOUR, &l, &u));
    OK(meta_user_password(f->m, "u2", "$argon2id$new", "bb", &f->e));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "aa", 6, HOUR, &l, &u));
    OK(meta_login_use(ASK(f, NULL), "bb", 6, HOUR, &l, &u));
    assert_string_equal(u.password, "$argon2id$new");
    u.disabled = 1;
    OK(meta_user_change(f->m, &u, &f->e));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "bb", 6, HOUR, &l, &u));
    FAILS(NOENT, meta_user_password(f->m, "u9", "x", NULL, &f->e));
    login_make(f, "dd", "u3", 100);
    OK(meta_login_remove(f->m, "dd", &f->e));
    OK(meta_login_remove(f->m, "dd", &f->e));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "dd", 6, HOUR, &l, &u));
}

static void test_keys(void **state)
{
    struct fixture *f = *state;
    const struct meta_key k = {.id = "k1",
                               .name = "ci",
                               .prefix = "gpfl_abc",
                               .hash = "hash1",
                               .scopes = 3,
                               .created = 50,
                               .creator = "u1",
                               .expires = 9 * MINUTE};
    struct meta_key got, *list = NULL;
    const char *workspace = NULL;
    size_t n = 0;
    people_make(f);
    OK(meta_key_add(f->m, "w1", &k, &f->e));
    FAILS(STATE, meta_key_add(f->m, "w2", &k, &f->e)); /* the same hash */
    OK(meta_key_use(ASK(f, NULL), "hash1", 60, &workspace, &got));
    assert_string_equal(workspace, "w1");
    assert_string_equal(got.id, "k1");
    assert_int_equal(got.scopes, 3);
    OK(meta_key_use(ASK(f, NULL), "hash1", 3 * MINUTE, &workspace, &got));
    OK(meta_key_list(ASK(f, "w1"), &list, &n));
    assert_int_equal(n, 1);
    assert_int_equal(list[0].used, 3 * MINUTE);
    FAILS(NOENT, meta_key_use(ASK(f, NULL), "hash1", 9 * MINUTE, &workspace, &got));
    FAILS(NOENT, meta_key_revoke(f->m, "w2", "k1", 70, &f->e));
    OK(meta_key_revoke(f->m, "w1", "k1", 70, &f->e));
    OK(meta_key_revoke(f->m, "w1", "k1", 99, &f->e));
    FAILS(NOENT, meta_key_use(ASK(f, NULL), "hash1", 60, &workspace, &got));
    OK(meta_key_list(ASK(f, "w1"), &list, &n));
    assert_int_equal(list[0].revoked, 70);
}

static void test_shares(void **state)
{
    struct fixture *f = *state;
    struct meta_share s = {.id = "x1", .session = "s1", .hash = "h1", .created = 5, .expires = 500};
    struct meta_share got, *list = NULL;
    const char *workspace = NULL;
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_share_add(f->m, "w1", &s, &f->e));
    s.id = "x2";
    s.hash = "h2";
    FAILS(NOENT, meta_share_add(f->m, "w2", &s, &f->e)); /* no such session there */
    OK(meta_share_add(f->m, "w1", &s, &f->e));
    OK(meta_share_use(ASK(f, NULL), "h1", 60, &workspace, &got));
    assert_string_equal(workspace, "w1");
    assert_string_equal(got.session, "s1");
    FAILS(NOENT, meta_share_use(ASK(f, NULL), "h1", 500, &workspace, &got));
    FAILS(NOENT, meta_share_revoke(f->m, "w2", "x1", 70, &f->e));
    OK(meta_share_revoke(f->m, "w1", "x1", 70, &f->e));
    FAILS(NOENT, meta_share_use(ASK(f, NULL), "h1", 60, &workspace, &got));
    OK(meta_share_list(ASK(f, "w1"), NULL, &list, &n));
    assert_int_equal(n, 2);
    OK(meta_share_list(ASK(f, "w1"), "s9", &list, &n));
    assert_int_equal(n, 0);
    OK(meta_session_drop(f->m, "w1", "s1", 80, &f->e));
    FAILS(NOENT, meta_share_use(ASK(f, NULL), "h2", 60, &workspace, &got));
}

static void test_bookmarks(void **state)
{
    struct fixture *f = *state;
    struct meta_bookmark b = {.id = "b1",
                              .session = "s1",
                              .start = 500,
                              .duration = 7,
                              .note = "<b>'; DROP TABLE bookmarks",
                              .created = 5,
                              .creator = "u1"};
    struct meta_bookmark *list = NULL;
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_bookmark_add(f->m, "w1", &b, &f->e));
    FAILS(NOENT, meta_bookmark_add(f->m, "w2", &b, &f->e)); /* no such session there */
    b.id = "b2";
    b.start = 20;
    OK(meta_bookmark_add(f->m, "w1", &b, &f->e));
    OK(meta_bookmark_list(ASK(f, "w1"), "s1", &list, &n));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].id, "b2"); /* by start */
    assert_string_equal(list[1].note, "<b>'; DROP TABLE bookmarks");
    assert_int_equal(list[1].start, 500);
    assert_int_equal(list[1].duration, 7);
    b.note = "later";
    FAILS(NOENT, meta_bookmark_note(f->m, "w2", &b, &f->e));
    OK(meta_bookmark_note(f->m, "w1", &b, &f->e));
    FAILS(NOENT, meta_bookmark_remove(f->m, "w2", "s1", "b1", &f->e));
    FAILS(NOENT, meta_bookmark_remove(f->m, "w1", "s9", "b1", &f->e));
    OK(meta_bookmark_remove(f->m, "w1", "s1", "b1", &f->e));
    OK(meta_bookmark_list(ASK(f, "w1"), "s1", &list, &n));
    assert_int_equal(n, 1);
    assert_string_equal(list[0].note, "later");
    OK(meta_session_drop(f->m, "w1", "s1", 80, &f->e));
    OK(meta_bookmark_list(ASK(f, "w1"), "s1", &list, &n));
    assert_int_equal(n, 0);
}

static void test_tickets(void **state)
{
    struct fixture *f = *state;
    const struct meta_ticket t = {.hash = "t1",
                                  .purpose = "invite",
                                  .workspace = "w1",
                                  .role = "member",
                                  .created = 1,
                                  .expires = 100};
    struct meta_ticket got;
    OK(meta_ticket_add(f->m, &t, &f->e));
    FAILS(STATE, meta_ticket_add(f->m, &t, &f->e));
    FAILS(NOENT, meta_ticket_take(ASK(f, NULL), "t1", 100, &got));
    OK(meta_ticket_get(ASK(f, NULL), "t1", 99, &got));
    OK(meta_ticket_take(ASK(f, NULL), "t1", 99, &got));
    assert_string_equal(got.role, "member");
    FAILS(NOENT, meta_ticket_take(ASK(f, NULL), "t1", 99, &got));
    FAILS(INVAL,
          meta_ticket_add(f->m, &(struct meta_ticket){.hash = "t2", .purpose = "magic"}, &f->e));
}

static void test_invitations(void **state)
{
    struct fixture *f = *state;
    const struct meta_ticket t = {
        .hash = "t1", .purpose = "invite", .workspace = "w1", .role = "member", .expires = 100};
    const struct meta_user late = {.id = "u9", .email = "eve@example.org"};
    struct meta_ticket got;
    struct meta_member member;
    struct meta_user u;
    people_make(f);
    OK(meta_ticket_add(f->m, &t, &f->e));
    OK(meta_user_get(ASK(f, NULL), "u1", &u));
    FAILS(STATE, meta_accept(f->m, "t1", 99, &u, &f->e)); /* an owner is not made a member */
    OK(meta_member_get(ASK(f, "w1"), "u1", &member));
    assert_string_equal(member.role, "owner");
    OK(meta_ticket_get(ASK(f, NULL), "t1", 99, &got)); /* and it is still there */
    FAILS(NOENT, meta_accept(f->m, "t1", 100, &late, &f->e));
    OK(meta_accept(f->m, "t1", 99, &late, &f->e));
    OK(meta_member_get(ASK(f, "w1"), "u9", &member));
    assert_string_equal(member.role, "member");
    FAILS(NOENT, meta_accept(f->m, "t1", 99, &late, &f->e));
    FAILS(NOENT, meta_member_get(ASK(f, "w2"), "u9", &member));
    OK(meta_user_rehash(f->m, "u9", "wrong", "new", &f->e));
    OK(meta_user_rehash(f->m, "u9", "", "newer", &f->e));
    OK(meta_user_get(ASK(f, NULL), "u9", &u));
    assert_string_equal(u.password, "newer");
}

static void test_expire(void **state)
{
    struct fixture *f = *state;
    struct meta_login l;
    struct meta_user u;
    struct meta_share *shares = NULL;
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    login_make(f, "old", "u2", 50);
    login_make(f, "new", "u2", 500);
    OK(meta_share_add(f->m, "w1",
                      &(struct meta_share){.id = "x", .session = "s1", .hash = "h", .expires = 50},
                      &f->e));
    OK(meta_expire(f->m, 60, &f->e));
    FAILS(NOENT, meta_login_use(ASK(f, NULL), "old", 6, HOUR, &l, &u));
    OK(meta_login_use(ASK(f, NULL), "new", 6, HOUR, &l, &u));
    OK(meta_share_list(ASK(f, "w1"), NULL, &shares, &n));
    assert_int_equal(n, 0);
}

/* ---- who comes at the same time -------------------------------------------------------------- */

enum { THREADS = 6 };

struct racer {
    struct meta *m;
    int number, rc;
    struct err e;
    int (*run)(struct racer *r);
    pthread_barrier_t *start;
};

static void *racer_run(void *arg)
{
    struct racer *r = arg;
    pthread_barrier_wait(r->start);
    r->rc = r->run(r);
    return NULL;
}

/* Runs all at once. Returns how many answered 0; the others must have answered `else_code`. */
static int race(struct fixture *f, int (*run)(struct racer *r), int count, int else_code)
{
    struct racer racers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    int won = 0;
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        racers[i] = (struct racer){.m = f->m, .number = i, .run = run, .start = &start};
        assert_int_equal(pthread_create(&threads[i], NULL, racer_run, &racers[i]), 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) {
        won += racers[i].rc == 0;
        if (racers[i].rc && racers[i].rc != else_code)
            fail_msg("racer %d: %d %s", i, racers[i].rc, racers[i].e.text);
    }
    pthread_barrier_destroy(&start);
    return won;
}

static int first_user_racer(struct racer *r)
{
    char id[8], email[32];
    snprintf(id, sizeof id, "u%d", r->number);
    snprintf(email, sizeof email, "u%d@example.org", r->number);
    const struct meta_user u = {.id = id, .email = email, .created = 1};
    const struct meta_workspace w = {.id = id, .name = "first", .created = 1};
    return meta_first_user(r->m, &u, &w, &r->e);
}

static void test_one_first_user(void **state)
{
    struct fixture *f = *state;
    struct meta_workspace *w = NULL;
    struct meta_user *u = NULL;
    struct meta_membership *in = NULL;
    size_t n = 0;
    assert_int_equal(race(f, first_user_racer, THREADS, GPUFL_E_STATE), 1);
    OK(meta_workspace_list(ASK(f, NULL), &w, &n));
    assert_int_equal(n, 1);
    OK(meta_user_list(ASK(f, NULL), &u, &n));
    assert_int_equal(n, 1);
    assert_int_equal(u[0].admin, 1);
    OK(meta_user_memberships(ASK(f, NULL), u[0].id, &in, &n));
    assert_int_equal(n, 1);
    assert_string_equal(in[0].role, "owner");
}

static int ticket_racer(struct racer *r)
{
    struct region mem;
    struct meta_ticket t;
    region_init(&mem, 1 << 20);
    int rc = meta_ticket_take(&(struct meta_ask){r->m, NULL, &mem, &r->e}, "once", 5, &t);
    region_fini(&mem);
    return rc;
}

static void test_one_takes_a_ticket(void **state)
{
    struct fixture *f = *state;
    const struct meta_ticket t = {.hash = "once", .purpose = "local", .expires = 100};
    OK(meta_ticket_add(f->m, &t, &f->e));
    assert_int_equal(race(f, ticket_racer, THREADS, GPUFL_E_NOENT), 1);
}

/* Two owners leave at the same time: one of them stays. */
static int owner_racer(struct racer *r)
{
    return meta_member_remove(r->m, "w1", r->number ? "u1" : "u2", &r->e);
}

static void test_one_owner_stays(void **state)
{
    struct fixture *f = *state;
    people_make(f);
    for (int i = 0; i < 10; i++) {
        struct meta_member *list = NULL;
        size_t n = 0;
        OK(meta_member_put(f->m, "w1", "u1", "owner", 1, &f->e));
        OK(meta_member_put(f->m, "w1", "u2", "owner", 1, &f->e));
        assert_int_equal(race(f, owner_racer, 2, GPUFL_E_STATE), 1);
        OK(meta_member_list(ASK(f, "w1"), &list, &n));
        assert_int_equal(n, 1);
    }
}

int meta_people_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_workspaces),
        CASE(test_workspace_remove),
        CASE(test_users),
        CASE(test_last_admin),
        CASE(test_members),
        CASE(test_logins),
        CASE(test_keys),
        CASE(test_shares),
        CASE(test_bookmarks),
        CASE(test_tickets),
        CASE(test_invitations),
        CASE(test_expire),
        CASE(test_one_first_user),
        CASE(test_one_takes_a_ticket),
        CASE(test_one_owner_stays),
    };
    return cmocka_run_group_tests_name("people", tests, NULL, NULL);
}
