/* meta_tenants.c - one workspace has something of everything, another one knows all of its ids and
 * gets nothing, changes nothing. A test beside (test_meta_statements.c) sees to it that every
 * function of the contract that takes a workspace is called here. */
#include "meta_place.h"

#include <string.h>

static const struct meta_session_query any_session;
static const struct meta_finding_query any_finding;

static void everything_make(struct fixture *f, const char *w)
{
    const struct meta_pair gpu = {"GPU-1", "H200"}, label = {"run", "1"};
    const struct meta_session s = {
        .id = "s1", .app = "train", .host = "a", .pid = 1, .started = 100};
    const struct meta_session gone = {.id = "gone", .app = "train", .started = 100};
    const struct meta_analysis a = {
        .session = "s1", .kind = "report", .rules = "7", .body = {"x", 1}};
    const struct meta_finding finding = {.rule = "spills", .gives_back = 5, .share = 0.1};
    const struct meta_usage usage = {10, "GPU-1", "a", "train", 100, 50, 7, 100, 60, 8};
    const struct meta_firing firing = {
        .id = "f1", .alert = "a1", .subject = "a", .started = 1, .fired = 2};
    struct meta_firing out;
    OK(meta_session_put(f->m, w, &s, &gpu, 1, &label, 1, &f->e));
    OK(meta_session_grow(f->m, w, "s1", 10, 5, 1000, 0.5, 150, &f->e));
    session_make(f, w, "s2", "infer", "b", 200);
    OK(meta_session_end(f->m, w, "s2", "ended", 300, &f->e));
    OK(meta_session_put(f->m, w, &gone, NULL, 0, NULL, 0, &f->e));
    OK(meta_session_drop(f->m, w, "gone", 900, &f->e));
    OK(meta_analysis_put(f->m, w, &a, &finding, 1, &f->e));
    OK(meta_key_add(f->m, w, &(struct meta_key){.id = "k1", .hash = "h"}, &f->e));
    OK(meta_share_add(
        f->m, w, &(struct meta_share){.id = "x1", .session = "s1", .hash = "h", .expires = 900},
        &f->e));
    OK(meta_upload_add(f->m, w, &(struct meta_upload){.id = "u1", .path = "p", .size = 9}, &f->e));
    OK(meta_host_put(f->m, w, &(struct meta_host){.name = "a", .seen = 5}, &f->e));
    OK(meta_gpu_put(f->m, w, &(struct meta_gpu){.uuid = "GPU-1", .host = "a", .seen = 5}, &f->e));
    OK(meta_usage_put(f->m, w, "s1", &usage, 1, &f->e));
    OK(meta_alert_put(f->m, w, &(struct meta_alert){.id = "a1", .kind = "metric"}, &f->e));
    OK(meta_firing_put(f->m, w, &firing, NULL, &f->mem, &out, &f->e));
    OK(meta_delivery_add(
        f->m, w,
        &(struct meta_delivery){.id = "d1", .alert = "a1", .state = "waiting", .next = 1 << 30},
        &f->e));
    OK(meta_audit_add(f->m, w, &(struct meta_audit){.at = 1, .action = "x"}, &f->e));
    OK(meta_retention_put(f->m, w, &(struct meta_retention){5, 6, 7}, &f->e));
}

/* All that can be read of a workspace, as one text. */
static void digest(struct fixture *f, const char *w, struct buf *out)
{
    struct meta_page page = {0};
    void *rows = NULL;
    size_t n = 0;
    int64_t number = 0;
    struct meta_retention r;
    buf_clear(out);
#define LIST(row, call)                                                                            \
    do {                                                                                           \
        struct meta_##row *got = NULL;                                                             \
        OK(call);                                                                                  \
        buf_printf(out, #row " %zu:", n);                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            meta_json(out, META_ROW_##row, &got[i]);                                               \
        buf_char(out, '\n');                                                                       \
        rows = got;                                                                                \
    } while (0)
    LIST(session, meta_session_list(f->m, w, &any_session, &page, &f->mem, &got, &n, &f->e));
    LIST(session, meta_session_silent(f->m, w, INT64_MAX, &f->mem, &got, &n, &f->e));
    LIST(session, meta_session_oldest(f->m, w, INT64_MAX, 10, &f->mem, &got, &n, &f->e));
    LIST(session, meta_analysis_missing(f->m, w, "report", "8", 10, &f->mem, &got, &n, &f->e));
    LIST(name_count, meta_session_names(f->m, w, META_BY_APP, 10, &f->mem, &got, &n, &f->e));
    LIST(name_count, meta_session_names(f->m, w, META_BY_GPU, 10, &f->mem, &got, &n, &f->e));
    LIST(finding, meta_finding_list(f->m, w, "s1", &f->mem, &got, &n, &f->e));
    LIST(found, meta_finding_search(f->m, w, &any_finding, &page, &f->mem, &got, &n, &f->e));
    LIST(member, meta_member_list(f->m, w, &f->mem, &got, &n, &f->e));
    LIST(key, meta_key_list(f->m, w, &f->mem, &got, &n, &f->e));
    LIST(share, meta_share_list(f->m, w, NULL, &f->mem, &got, &n, &f->e));
    LIST(upload, meta_upload_list(f->m, w, &f->mem, &got, &n, &f->e));
    LIST(host_now, meta_host_list(f->m, w, &page, &f->mem, &got, &n, &f->e));
    LIST(gpu_now, meta_gpu_list(f->m, w, NULL, &page, &f->mem, &got, &n, &f->e));
    LIST(running, meta_running_list(f->m, w, NULL, NULL, NULL, &f->mem, &got, &n, &f->e));
    LIST(usage_sum, meta_usage_days(f->m, w, META_BY_GPU, 0, 99, &page, &f->mem, &got, &n, &f->e));
    LIST(fleet_sum, meta_fleet_sums(f->m, w, META_BY_APP, 0, 99, &page, &f->mem, &got, &n, &f->e));
    LIST(alert, meta_alert_list(f->m, w, &f->mem, &got, &n, &f->e));
    LIST(firing, meta_firing_open(f->m, w, NULL, &f->mem, &got, &n, &f->e));
    LIST(firing_now, meta_firing_now(f->m, w, &f->mem, &got, &n, &f->e));
    LIST(found, meta_finding_above(f->m, w, NULL, NULL, NULL, 0, 0, &f->mem, &got, &n, &f->e));
    LIST(firing_now, meta_firing_list(f->m, w, &page, &f->mem, &got, &n, &f->e));
    LIST(delivery, meta_delivery_list(f->m, w, &page, &f->mem, &got, &n, &f->e));
    LIST(audited, meta_audit_list(f->m, w, &page, &f->mem, &got, &n, &f->e));
#undef LIST
    (void)rows;
    OK(meta_session_count(f->m, w, &any_session, &number, &f->e));
    buf_printf(out, "count %lld\n", (long long)number);
    OK(meta_session_bytes(f->m, w, &number, &f->e));
    buf_printf(out, "bytes %lld\n", (long long)number);
    OK(meta_retention_get(f->m, w, &r, &f->e));
    buf_printf(out, "retention %lld\n", (long long)r.sessions);
    assert_int_equal(buf_error(out), 0);
}

/* Everything that the stranger asks for by id. */
static void stranger_reads(struct fixture *f, const char *w)
{
    struct meta_session s;
    struct meta_member member;
    struct meta_upload upload;
    struct meta_analysis a;
    struct meta_analysis_head head;
    struct meta_host_now host;
    struct meta_gpu_now gpu;
    struct meta_alert alert;
    bool dropped = true;
    FAILS(NOENT, meta_session_get(f->m, w, "s1", &f->mem, &s, &f->e));
    FAILS(NOENT, meta_member_get(f->m, w, "u1", &f->mem, &member, &f->e));
    FAILS(NOENT, meta_upload_get(f->m, w, "u1", &f->mem, &upload, &f->e));
    FAILS(NOENT, meta_analysis_get(f->m, w, "s1", "report", &f->mem, &a, &f->e));
    FAILS(NOENT, meta_analysis_head(f->m, w, "s1", "report", &f->mem, &head, &f->e));
    FAILS(NOENT, meta_host_get(f->m, w, "a", &f->mem, &host, &f->e));
    FAILS(NOENT, meta_gpu_get(f->m, w, "GPU-1", &f->mem, &gpu, &f->e));
    FAILS(NOENT, meta_alert_get(f->m, w, "a1", &f->mem, &alert, &f->e));
    OK(meta_session_is_dropped(f->m, w, "gone", &dropped, &f->e));
    assert_false(dropped);
}

/* And everything that it tries to change. */
static void stranger_writes(struct fixture *f, const char *w)
{
    const struct meta_analysis a = {.session = "s1", .kind = "report", .rules = "7"};
    FAILS(NOENT, meta_session_grow(f->m, w, "s1", 99, 99, 99, 0.9, 999, &f->e));
    FAILS(NOENT, meta_session_label(f->m, w, "s1", "run", "2", &f->e));
    FAILS(NOENT, meta_session_label(f->m, w, "s1", "run", NULL, &f->e));
    FAILS(NOENT, meta_session_end(f->m, w, "s1", "ended", 999, &f->e));
    FAILS(NOENT, meta_session_drop(f->m, w, "s1", 999, &f->e));
    FAILS(NOENT, meta_dropped_freed(f->m, w, "gone", &f->e));
    FAILS(NOENT, meta_analysis_put(f->m, w, &a, NULL, 0, &f->e));
    FAILS(NOENT, meta_key_revoke(f->m, w, "k1", 999, &f->e));
    FAILS(NOENT, meta_share_revoke(f->m, w, "x1", 999, &f->e));
    FAILS(NOENT,
          meta_share_add(f->m, w, &(struct meta_share){.id = "y", .session = "s1", .hash = "y"},
                         &f->e));
    FAILS(NOENT, meta_upload_advance(f->m, w, "u1", 0, 5, NULL, 999, &f->e));
    FAILS(NOENT, meta_upload_remove(f->m, w, "u1", &f->e));
    FAILS(NOENT, meta_host_remove(f->m, w, "a", &f->e));
    OK(meta_fleet_forget(f->m, w, INT64_MAX, &f->e));
    FAILS(NOENT, meta_alert_remove(f->m, w, "a1", 999, &f->e));
    FAILS(NOENT, meta_delivery_done(f->m, w, "d1", "sent", 0, 200, NULL, 999, &f->e));
    FAILS(NOENT, meta_member_remove(f->m, w, "u1", &f->e));
}

static void test_strangers(void **state)
{
    struct fixture *f = *state;
    struct buf before, after, empty;
    struct meta_workspace one;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    buf_init(&empty, 1 << 20);
    people_make(f);
    OK(meta_workspace_add(f->m, &(struct meta_workspace){"w3", "three", 1}, &f->e));
    OK(meta_member_put(f->m, "w3", "u3", "owner", 1, &f->e));
    digest(f, "w3", &empty);
    everything_make(f, "w1");
    digest(f, "w1", &before);
    assert_null(strstr(buf_cstr(&before), " 0:")); /* something of everything */
    digest(f, "w3", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&empty));
    stranger_reads(f, "w3");
    stranger_writes(f, "w3");
    digest(f, "w3", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&empty));
    OK(meta_workspace_rename(f->m, "w3", "drei", &f->e));
    OK(meta_workspace_get(f->m, "w1", &f->mem, &one, &f->e));
    assert_string_equal(one.name, "one");
    OK(meta_workspace_remove(f->m, "w3", 999, &f->e));
    digest(f, "w1", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
    buf_fini(&empty);
    buf_fini(&after);
    buf_fini(&before);
}

/* Two workspaces use the same ids, and neither notices. */
static void test_same_ids(void **state)
{
    struct fixture *f = *state;
    struct buf before, after;
    const struct meta_firing closed = {
        .id = "f9", .alert = "a1", .subject = "a", .started = 1, .fired = 2, .ended = 3};
    struct meta_firing out;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    people_make(f);
    everything_make(f, "w1");
    digest(f, "w1", &before);
    const struct meta_session s = {.id = "s1", .app = "other", .host = "b", .pid = 9, .started = 7};
    OK(meta_session_put(f->m, "w2", &s, NULL, 0, NULL, 0, &f->e));
    OK(meta_session_grow(f->m, "w2", "s1", 1, 1, 1, 0.1, 1, &f->e));
    OK(meta_session_end(f->m, "w2", "s1", "ended", 8, &f->e));
    OK(meta_session_label(f->m, "w2", "s1", "run", "7", &f->e));
    OK(meta_session_drop(f->m, "w2", "s1", 9, &f->e));
    OK(meta_upload_add(f->m, "w2", &(struct meta_upload){.id = "u1", .path = "q", .size = 5},
                       &f->e));
    OK(meta_upload_advance(f->m, "w2", "u1", 0, 5, NULL, 6, &f->e));
    OK(meta_host_put(f->m, "w2", &(struct meta_host){.name = "a", .seen = 50}, &f->e));
    OK(meta_gpu_put(f->m, "w2", &(struct meta_gpu){.uuid = "GPU-1", .host = "z", .seen = 50},
                    &f->e));
    OK(meta_usage_put(f->m, "w2", "s1", NULL, 0, &f->e));
    OK(meta_fleet_put(f->m, "w2", &(struct meta_host){.name = "a", .seen = 70}, 1, NULL, 0, &f->e));
    OK(meta_fleet_forget(f->m, "w2", INT64_MAX, &f->e));
    OK(meta_alert_put(f->m, "w2", &(struct meta_alert){.id = "a1", .kind = "insight"}, &f->e));
    OK(meta_firing_put(f->m, "w2", &closed, NULL, &f->mem, &out, &f->e));
    OK(meta_alert_remove(f->m, "w2", "a1", 60, &f->e));
    OK(meta_retention_put(f->m, "w2", &(struct meta_retention){1, 1, 1}, &f->e));
    digest(f, "w1", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
    buf_fini(&after);
    buf_fini(&before);
}

/* A turn is a workspace's, whatever the session is called. */
static void test_turns_of_others(void **state)
{
    struct fixture *f = *state;
    const struct meta_turn_times at = {100, 200, 150};
    bool mine = false, seized = true;
    OK(meta_turn_take(f->m, "w1", "s1", "A", &at, &mine, &seized, &f->e));
    assert_true(mine);
    OK(meta_turn_keep(f->m, "w2", "s1", "A", 900, &mine, &f->e));
    assert_false(mine);
    OK(meta_turn_give(f->m, "w2", "s1", "A", 110, &mine, &f->e));
    assert_false(mine);
    OK(meta_turn_take(f->m, "w2", "s1", "B", &at, &mine, &seized, &f->e));
    assert_true(mine && !seized);
    OK(meta_turn_give(f->m, "w1", "s1", "A", 110, &mine, &f->e));
    assert_true(mine);
}

int meta_tenant_cases(void)
{
    const struct CMUnitTest tests[] = {CASE(test_strangers), CASE(test_same_ids),
                                       CASE(test_turns_of_others)};
    return cmocka_run_group_tests_name("tenants", tests, NULL, NULL);
}
