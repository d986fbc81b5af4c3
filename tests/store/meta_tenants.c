/* meta_tenants.c - one workspace has objects of every kind; another one knows all of their
 * ids, and can neither read nor change them. test_meta_statements.c checks that every function
 * of the contract with a workspace is called here. */
#include "meta_place.h"

#include "meta/control.h"
#include "meta/usage_gpus.h"

#include <string.h>

static const struct meta_named_config a_config = {
    .id = "c1", .options = "{}", .note = "", .author = ""};
static const struct meta_host_config a_host_config = {.host = "a", .config = "c1", .author = ""};
static const struct meta_agent an_agent = {
    .host = "a", .holder = "k1", .version = "1", .control = true, .seen = 5};
static const struct meta_capture a_capture = {.id = "p1",
                                              .host = "a",
                                              .session = "s1",
                                              .pid = 7,
                                              .engine = "Trace",
                                              .duration = 9,
                                              .scope = "",
                                              .state = "waiting",
                                              .reason = "",
                                              .created = 5,
                                              .author = "",
                                              .expires = 1000};

/* Fills a workspace with the objects of the control of hosts. */
static void control_fill(struct fixture *f, const char *w)
{
    int64_t version = 0;
    bool fresh = false;
    OK(meta_config_put(f->m, w, &a_config, 0, &version, &f->e));
    OK(meta_host_config_put(f->m, w, &a_host_config, &f->e));
    OK(meta_agent_put(f->m, w, &an_agent, &fresh, &f->e));
    OK(meta_capture_add(f->m, w, &a_capture, &f->e));
}

/* A workspace without these objects sees none of them, and changes nothing. */
static void control_strange(struct fixture *f, const char *w)
{
    struct meta_named_config c;
    struct meta_agent a;
    struct meta_capture end = {.id = "p1", .state = "open", .reason = ""}, out, *taken;
    size_t n = 0;
    struct meta_named_config *versions;
    OK(meta_config_versions(ASK(f, w), "c1", &versions, &n));
    assert_int_equal(0, n);
    FAILS(NOENT, meta_config_get(ASK(f, w), "c1", &c));
    struct meta_host_config h;
    FAILS(NOENT, meta_host_config_get(ASK(f, w), "a", &h));
    FAILS(NOENT, meta_host_config_put(f->m, w, &a_host_config, &f->e)); /* of another workspace */
    FAILS(NOENT, meta_host_config_remove(f->m, w, "a", &f->e));
    FAILS(NOENT, meta_agent_get(ASK(f, w), "a", &a));
    FAILS(NOENT, meta_agent_remove(f->m, w, "a", &f->e));
    FAILS(STATE, meta_capture_take(ASK(f, w), "a", "k1", 6, &taken, &n));
    FAILS(STATE, meta_capture_end(ASK(f, w), "a", "k1", &end, 6, &out));
}

static const struct meta_session_query any_session;
static const struct meta_finding_query any_finding;
static const struct meta_rollup_query any_rollup = {.kind = "kernel", .name = "gemm", .to = 99};

static void everything_make(struct fixture *f, const char *w)
{
    const struct meta_session_gpu gpu = {"GPU-1", "H200", "nvidia"};
    const struct meta_pair label = {"run", "1"};
    const struct meta_session s = {
        .id = "s1", .app = "train", .host = "a", .pid = 1, .started = 100};
    const struct meta_session gone = {.id = "gone", .app = "train", .started = 100};
    const struct meta_analysis a = {
        .session = "s1", .kind = "report", .rules = "7", .body = {"x", 1}};
    const struct meta_finding finding = {.rule = "spills", .gives_back = 5, .share = 0.1};
    const struct meta_usage usage = {10, "GPU-1", "a", "train", 100, 50, 7, 100, 60, 8};
    const struct meta_rollup_part part = {"kernel", 0, 10, "train", "a", "gemm", 7, 700};
    const struct meta_firing firing = {
        .id = "f1", .alert = "a1", .subject = "a", .started = 1, .fired = 2};
    struct meta_firing out;
    OK(meta_session_put(f->m, w, &s, &(struct meta_session_gpus){&gpu, 1},
                        &(struct meta_pairs){&label, 1}, &f->e));
    OK(meta_session_grow(
        f->m, w, "s1",
        &(struct meta_growth){
            .records = 10, .kernels = 5, .bytes = 1000, .busy = 0.5, .received = 150},
        &f->e));
    session_make(f, w, "s2", "infer", "b", 200);
    OK(meta_session_end(f->m, w, "s2", "ended", 300, &f->e));
    OK(meta_session_put(f->m, w, &gone, NULL, NULL, &f->e));
    OK(meta_session_drop(f->m, w, "gone", 900, &f->e));
    OK(meta_analysis_put(f->m, w, &a, &finding, 1, &f->e));
    OK(meta_key_add(f->m, w, &(struct meta_key){.id = "k1", .hash = "h"}, &f->e));
    OK(meta_share_add(
        f->m, w, &(struct meta_share){.id = "x1", .session = "s1", .hash = "h", .expires = 900},
        &f->e));
    OK(meta_bookmark_add(
        f->m, w, &(struct meta_bookmark){.id = "m1", .session = "s1", .note = "here"}, &f->e));
    OK(meta_upload_add(f->m, w, &(struct meta_upload){.id = "u1", .path = "p", .size = 9}, &f->e));
    OK(meta_host_put(f->m, w, &(struct meta_host){.name = "a", .seen = 5}, &f->e));
    OK(meta_gpu_put(f->m, w, &(struct meta_gpu){.uuid = "GPU-1", .host = "a", .seen = 5}, &f->e));
    OK(meta_usage_put(f->m, w, "s1", &usage, 1, &f->e));
    OK(meta_rollup_put(f->m, w, "s1", &part, 1, &f->e));
    OK(meta_alert_put(f->m, w, &(struct meta_alert){.id = "a1", .kind = "metric"}, &f->e));
    OK(meta_firing_put(ASK(f, w), &firing, NULL, &out));
    OK(meta_delivery_add(
        f->m, w,
        &(struct meta_delivery){.id = "d1", .alert = "a1", .state = "waiting", .next = 1 << 30},
        &f->e));
    OK(meta_audit_add(f->m, w, &(struct meta_audit){.at = 1, .action = "x"}, &f->e));
    OK(meta_retention_put(f->m, w, &(struct meta_retention){5, 6, 7}, &f->e));
    control_fill(f, w);
}

/* All that can be read in a workspace, as one text. */
static void digest(struct fixture *f, const char *w, struct buf *out)
{
    struct meta_page page = {0};
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
    } while (0)
    LIST(session, meta_session_list(ASK(f, w), &any_session, &page, &got, &n));
    LIST(session, meta_session_silent(ASK(f, w), INT64_MAX, &got, &n));
    LIST(session, meta_session_oldest(ASK(f, w), INT64_MAX, 10, &got, &n));
    LIST(session, meta_analysis_missing(ASK(f, w), "report", "8", 10, &got, &n));
    LIST(name_count, meta_session_names(ASK(f, w), META_BY_APP, 10, &got, &n));
    LIST(name_count, meta_session_names(ASK(f, w), META_BY_GPU, 10, &got, &n));
    LIST(finding, meta_finding_list(ASK(f, w), "s1", &got, &n));
    LIST(found, meta_finding_search(ASK(f, w), &any_finding, &page, &got, &n));
    LIST(member, meta_member_list(ASK(f, w), &got, &n));
    LIST(key, meta_key_list(ASK(f, w), &got, &n));
    LIST(share, meta_share_list(ASK(f, w), NULL, &got, &n));
    LIST(bookmark, meta_bookmark_list(ASK(f, w), "s1", &got, &n));
    LIST(upload, meta_upload_list(ASK(f, w), &got, &n));
    LIST(host_now, meta_host_list(ASK(f, w), &page, &got, &n));
    LIST(gpu_now, meta_gpu_list(ASK(f, w), NULL, &page, &got, &n));
    LIST(running, meta_running_list(ASK(f, w), NULL, NULL, NULL, &got, &n));
    LIST(usage_sum, meta_usage_days(ASK(f, w), &(struct meta_days){META_BY_GPU, 0, 99, NULL}, &page,
                                    &got, &n));
    LIST(usage_sum, meta_usage_gpus(ASK(f, w), &(struct meta_days){META_BY_GPU, 0, 99, NULL},
                                    &(struct meta_usage_of){"train", NULL}, &page, &got, &n));
    LIST(fleet_sum, meta_fleet_sums(ASK(f, w), &(struct meta_days){META_BY_APP, 0, 99, NULL}, &page,
                                    &got, &n));
    LIST(rollup_sum, meta_rollup_sums(ASK(f, w), &any_rollup, &page, &got, &n));
    LIST(rollup_day, meta_rollup_days(ASK(f, w), &any_rollup, &page, &got, &n));
    LIST(named_config, meta_config_list(ASK(f, w), &got, &n));
    LIST(host_config, meta_host_config_list(ASK(f, w), &got, &n));
    LIST(agent, meta_agent_list(ASK(f, w), &got, &n));
    LIST(capture, meta_capture_list(ASK(f, w), NULL, NULL, 6, &got, &n));
    OK(meta_config_changes(f->m, w, &number, &f->e));
    buf_printf(out, "changes %lld\n", (long long)number);
    LIST(alert, meta_alert_list(ASK(f, w), &got, &n));
    LIST(firing, meta_firing_open(ASK(f, w), NULL, &got, &n));
    LIST(firing_now, meta_firing_now(ASK(f, w), &got, &n));
    LIST(found,
         meta_finding_above(ASK(f, w), &(struct meta_above){.share = 0, .since = 0}, &got, &n));
    LIST(firing_now, meta_firing_list(ASK(f, w), &page, &got, &n));
    LIST(delivery, meta_delivery_list(ASK(f, w), &page, &got, &n));
    LIST(audited, meta_audit_list(ASK(f, w), &page, &got, &n));
#undef LIST
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
    FAILS(NOENT, meta_session_get(ASK(f, w), "s1", &s));
    FAILS(NOENT, meta_member_get(ASK(f, w), "u1", &member));
    FAILS(NOENT, meta_upload_get(ASK(f, w), "u1", &upload));
    FAILS(NOENT, meta_analysis_get(ASK(f, w), "s1", "report", &a));
    FAILS(NOENT, meta_analysis_head(ASK(f, w), "s1", "report", &head));
    FAILS(NOENT, meta_host_get(ASK(f, w), "a", &host));
    FAILS(NOENT, meta_gpu_get(ASK(f, w), "GPU-1", &gpu));
    FAILS(NOENT, meta_alert_get(ASK(f, w), "a1", &alert));
    OK(meta_session_is_dropped(f->m, w, "gone", &dropped, &f->e));
    assert_false(dropped);
}

/* Tries everything that a stranger could change. */
static void stranger_writes(struct fixture *f, const char *w)
{
    const struct meta_analysis a = {.session = "s1", .kind = "report", .rules = "7"};
    FAILS(NOENT, meta_session_grow(
                     f->m, w, "s1",
                     &(struct meta_growth){
                         .records = 99, .kernels = 99, .bytes = 99, .busy = 0.9, .received = 999},
                     &f->e));
    FAILS(NOENT, meta_session_label(f->m, w, "s1", "run", "2", &f->e));
    FAILS(NOENT, meta_session_label(f->m, w, "s1", "run", NULL, &f->e));
    FAILS(NOENT, meta_session_end(f->m, w, "s1", "ended", 999, &f->e));
    FAILS(NOENT, meta_session_drop(f->m, w, "s1", 999, &f->e));
    FAILS(NOENT, meta_dropped_freed(f->m, w, "gone", &f->e));
    FAILS(NOENT, meta_analysis_put(f->m, w, &a, NULL, 0, &f->e));
    FAILS(NOENT, meta_key_revoke(f->m, w, "k1", 999, &f->e));
    FAILS(NOENT, meta_share_revoke(f->m, w, "x1", 999, &f->e));
    const struct meta_bookmark m = {.id = "m1", .session = "s1", .note = "theirs"};
    FAILS(NOENT, meta_bookmark_note(f->m, w, &m, &f->e));
    FAILS(NOENT, meta_bookmark_add(f->m, w, &m, &f->e));
    FAILS(NOENT, meta_bookmark_remove(f->m, w, "s1", "m1", &f->e));
    control_strange(f, w);
    FAILS(NOENT,
          meta_share_add(f->m, w, &(struct meta_share){.id = "y", .session = "s1", .hash = "y"},
                         &f->e));
    FAILS(NOENT, meta_upload_advance(
                     f->m, w, "u1", &(struct meta_advance){.from = 0, .to = 5, .now = 999}, &f->e));
    FAILS(NOENT, meta_upload_remove(f->m, w, "u1", &f->e));
    FAILS(NOENT, meta_host_remove(f->m, w, "a", &f->e));
    OK(meta_fleet_forget(f->m, w, INT64_MAX, &f->e));
    FAILS(NOENT, meta_alert_remove(f->m, w, "a1", 999, &f->e));
    FAILS(NOENT, meta_delivery_done(
                     f->m, w, "d1",
                     &(struct meta_attempt){.state = "sent", .status = 200, .now = 999}, &f->e));
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
    assert_null(strstr(buf_cstr(&before), " 0:")); /* no list is empty */
    digest(f, "w3", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&empty));
    stranger_reads(f, "w3");
    stranger_writes(f, "w3");
    digest(f, "w3", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&empty));
    OK(meta_workspace_rename(f->m, "w3", "drei", &f->e));
    OK(meta_workspace_get(ASK(f, "w1"), &one));
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
    OK(meta_session_put(f->m, "w2", &s, NULL, NULL, &f->e));
    OK(meta_session_grow(
        f->m, "w2", "s1",
        &(struct meta_growth){.records = 1, .kernels = 1, .bytes = 1, .busy = 0.1, .received = 1},
        &f->e));
    OK(meta_session_end(f->m, "w2", "s1", "ended", 8, &f->e));
    OK(meta_session_label(f->m, "w2", "s1", "run", "7", &f->e));
    OK(meta_session_drop(f->m, "w2", "s1", 9, &f->e));
    OK(meta_upload_add(f->m, "w2", &(struct meta_upload){.id = "u1", .path = "q", .size = 5},
                       &f->e));
    OK(meta_upload_advance(f->m, "w2", "u1", &(struct meta_advance){.from = 0, .to = 5, .now = 6},
                           &f->e));
    OK(meta_host_put(f->m, "w2", &(struct meta_host){.name = "a", .seen = 50}, &f->e));
    OK(meta_gpu_put(f->m, "w2", &(struct meta_gpu){.uuid = "GPU-1", .host = "z", .seen = 50},
                    &f->e));
    OK(meta_usage_put(f->m, "w2", "s1", NULL, 0, &f->e));
    FAILS(NOENT, meta_rollup_put(f->m, "w2", "s1", NULL, 0, &f->e));
    OK(meta_fleet_put(
        f->m, "w2",
        &(struct meta_fleet_state){
            .hosts = &(struct meta_host){.name = "a", .seen = 70}, .host_count = 1, .gpu_count = 0},
        &f->e));
    OK(meta_fleet_forget(f->m, "w2", INT64_MAX, &f->e));
    OK(meta_alert_put(f->m, "w2", &(struct meta_alert){.id = "a1", .kind = "insight"}, &f->e));
    OK(meta_firing_put(ASK(f, "w2"), &closed, NULL, &out));
    OK(meta_alert_remove(f->m, "w2", "a1", 60, &f->e));
    OK(meta_retention_put(f->m, "w2", &(struct meta_retention){1, 1, 1}, &f->e));
    digest(f, "w1", &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
    buf_fini(&after);
    buf_fini(&before);
}

/* A turn belongs to a workspace, even if sessions have the same name. */
static void test_turns_of_others(void **state)
{
    struct fixture *f = *state;
    struct meta_turn a = {"s1", "A", 100, 200, 150, false, true};
    struct meta_turn b = {"s1", "B", 100, 200, 150, false, true};
    OK(meta_turn_take(f->m, "w1", &a, &f->e));
    assert_true(a.mine);
    a.until = 900;
    OK(meta_turn_keep(f->m, "w2", &a, &f->e));
    assert_false(a.mine);
    a.now = 110;
    OK(meta_turn_give(f->m, "w2", &a, &f->e));
    assert_false(a.mine);
    OK(meta_turn_take(f->m, "w2", &b, &f->e));
    assert_true(b.mine && !b.seized);
    OK(meta_turn_give(f->m, "w1", &a, &f->e));
    assert_true(a.mine);
}

int meta_tenant_cases(void)
{
    const struct CMUnitTest tests[] = {CASE(test_strangers), CASE(test_same_ids),
                                       CASE(test_turns_of_others)};
    return cmocka_run_group_tests_name("tenants", tests, NULL, NULL);
}
