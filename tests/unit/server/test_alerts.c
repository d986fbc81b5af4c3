/* test_alerts.c - rules over a fleet, with a clock of the test's own: pending, firing, resolved,
 * the posts, filters, and unknown values. */
#include "server/watch/alerts.h"
#include "tests/test.h"

#include "base/buf.h"
#include "server/auth/secret.h"
#include "server/watch/webhooks.h"
#include "tests/unit/support/tmpdir.h"

#include <inttypes.h>
#include <stdio.h>

#include <string.h>

#define S(seconds) (INT64_C(1800000000000000000) + (int64_t)(seconds)*1000000000)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s", #call, f.e.text);                                                   \
    } while (0)

static struct {
    struct meta *m;
    struct region mem;
    struct err e;
    struct alerts_config config;
    unsigned reported, posts;
} f;

static void reported(void *arg, const char *workspace, const char *json, size_t len)
{
    (void)arg;
    assert_string_equal(workspace, "w");
    assert_true(len > 2 && json[0] == '{' && json[len - 1] == '}');
    f.reported++;
}

static void posts(void *arg)
{
    (void)arg;
    f.posts++;
}

static int up(void **state)
{
    memset(&f, 0, sizeof f);
    assert_int_equal(tmpdir_open(state), 0);
    assert_int_equal(auth_secret_init(), 0);
    const struct meta_config c = {.path = tmpdir_path("meta.db"), .migrate = true, .relaxed = true};
    OK(meta_open(&f.m, &c, &f.e));
    OK(meta_workspace_add(f.m, &(struct meta_workspace){"w", "W", 1}, &f.e));
    region_init(&f.mem, 64 << 20);
    f.config =
        (struct alerts_config){.meta = f.m, .holder = "t", .event = reported, .posts = posts};
    return 0;
}

static int down(void **state)
{
    region_fini(&f.mem);
    meta_close(f.m);
    return tmpdir_close(state);
}

static void gpu(const char *uuid, const char *host, int number, double temperature, int64_t at)
{
    char state[256];
    snprintf(state, sizeof state,
             "{\"time\":\"%" PRId64
             "\",\"temperature\":%g,\"memory_used\":75,\"memory_total\":100}",
             at, temperature);
    OK(meta_gpu_put(f.m, "w",
                    &(struct meta_gpu){.uuid = uuid,
                                       .host = host,
                                       .number = number,
                                       .memory = META_NONE,
                                       .state = state,
                                       .seen = at},
                    &f.e));
    OK(meta_host_put(
        f.m, "w",
        &(struct meta_host){.name = host, .cpus = META_NONE, .memory = META_NONE, .seen = at},
        &f.e));
}

static void rule(struct meta_alert r)
{
    r.kind = r.kind ? r.kind : "metric";
    r.name = r.name ? r.name : r.id;
    r.subject = r.subject ? r.subject : "";
    r.host = r.host ? r.host : "";
    r.app = r.app ? r.app : "";
    r.url = r.url ? r.url : "";
    r.enabled = 1;
    OK(alerts_check(&r, &f.e));
    OK(meta_alert_put(f.m, "w", &r, &f.e));
}

static void look(int64_t now)
{
    OK(alerts_round(&f.config, now, &f.e));
}

static size_t open_now(struct meta_firing_now **rows)
{
    size_t n = 0;
    OK(meta_firing_now(&(struct meta_ask){f.m, "w", &f.mem, &f.e}, rows, &n));
    return n;
}

static struct meta_delivery *deliveries(size_t want)
{
    struct meta_delivery *rows = NULL;
    struct meta_page page = {.limit = 100};
    size_t n = 0;
    OK(meta_delivery_list(&(struct meta_ask){f.m, "w", &f.mem, &f.e}, &page, &rows, &n));
    assert_int_equal(n, want);
    return rows;
}

static void test_pending_firing_resolved(void **state)
{
    struct meta_firing_now *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    (void)state;
    rule((struct meta_alert){.id = "hot",
                             .subject = "gpu.temperature",
                             .above = 1,
                             .threshold = 85,
                             .hold = 30000000000,
                             .url = "https://hooks.example.org/a?b=c",
                             .secret = "0123456789abcdef"});
    gpu("GPU-1", "a", 0, 85, S(0));
    look(S(1));
    assert_int_equal(open_now(&rows), 0); /* above, not at */
    gpu("GPU-1", "a", 0, 91, S(10));
    gpu("GPU-2", "a", 1, 40, S(10));
    look(S(10));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].state, "pending");
    assert_string_equal(rows[0].subject, "GPU-1");
    assert_true(rows[0].started == S(10));
    look(S(39));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].state, "pending");
    deliveries(0);
    look(S(40));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].state, "firing");
    assert_true(rows[0].fired == S(40));
    assert_int_equal(f.reported, 1);
    assert_int_equal(f.posts, 1);
    const struct meta_delivery *d = deliveries(1);
    assert_string_equal(d[0].url, "https://hooks.example.org/a?b=c");
    assert_non_null(strstr(d[0].body, "\"event\":\"firing\""));
    assert_non_null(strstr(d[0].body, "gpu.temperature of GPU 0 of a is 91, above 85"));
    assert_null(strstr(d[0].body, "0123456789abcdef"));
    look(S(45));
    look(S(60));
    deliveries(1); /* sent once */
    gpu("GPU-1", "a", 0, 60, S(70));
    look(S(70));
    assert_int_equal(open_now(&rows), 0);
    assert_non_null(strstr(deliveries(2)[0].body, "\"event\":\"resolved\""));
    OK(meta_firing_list(&(struct meta_ask){f.m, "w", &f.mem, &f.e}, &page, &rows, &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].state, "resolved");
    assert_true(rows[0].ended == S(70));
    gpu("GPU-1", "a", 0, 95, S(80)); /* a short one is forgotten, and nobody is notified */
    look(S(80));
    gpu("GPU-1", "a", 0, 50, S(90));
    look(S(90));
    assert_int_equal(open_now(&rows), 0);
    deliveries(2);
    assert_int_equal(f.reported, 2);
}

TEST(test_unknown_holds_nothing)
{
    struct meta_firing_now *rows = NULL;
    rule((struct meta_alert){
        .id = "cold", .subject = "gpu.temperature", .above = 0, .threshold = 50});
    /* nobody reports the power */
    rule((struct meta_alert){
        .id = "power", .subject = "gpu.power", .above = 0, .threshold = 1000000});
    rule((struct meta_alert){
        .id = "full", .subject = "gpu.memory_share", .above = 1, .threshold = 0.74});
    rule((struct meta_alert){.id = "gone", .subject = "host.silent", .above = 1, .threshold = 300});
    gpu("GPU-1", "a", 0, 40, S(0));
    look(S(1));
    assert_int_equal(open_now(&rows), 2);
    look(S(121)); /* the sample is too old to say anything */
    assert_int_equal(open_now(&rows), 0);
    look(S(301));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].alert, "gone");
    assert_string_equal(rows[0].subject, "a");
    gpu("GPU-1", "a", 0, 60, S(302));
    look(S(303));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].alert, "full");
}

/* A host that goes silent while it is hot has not cooled down: the alert ends, and its text says
 * that nobody knows. One that reports again, below the threshold, ends as usual; so does one whose
 * rule was disabled. */
TEST(test_silence_is_no_cure)
{
    struct meta_firing_now *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    static const char unknown[] = "; no newer value came, so whether this still holds is not known";
    struct meta_alert hot = {.id = "hot",
                             .subject = "gpu.temperature",
                             .above = 1,
                             .threshold = 85,
                             .url = "https://hooks.example.org/"};
    rule(hot);
    gpu("GPU-1", "a", 0, 91, S(10));
    gpu("GPU-2", "a", 1, 92, S(10));
    look(S(11));
    deliveries(2);
    gpu("GPU-2", "a", 1, 40, S(100));
    look(S(101));
    assert_null(strstr(deliveries(3)[0].body, unknown));
    look(S(150));
    const char *body = deliveries(4)[0].body;
    assert_non_null(strstr(body, "\"text\":\"[resolved] hot: gpu.temperature of GPU 0 of a is 91, "
                                 "above 85; no newer value came"));
    assert_non_null(strstr(body, unknown));
    OK(meta_firing_list(&(struct meta_ask){f.m, "w", &f.mem, &f.e}, &page, &rows, &n));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].state, "resolved");
    assert_int_equal(!!strstr(rows[0].text, unknown) + !!strstr(rows[1].text, unknown), 1);
    gpu("GPU-1", "a", 0, 91, S(200));
    look(S(201));
    deliveries(5);
    OK(meta_alert_get(&(struct meta_ask){f.m, "w", &f.mem, &f.e}, "hot", &hot));
    hot.enabled = 0;
    OK(meta_alert_put(f.m, "w", &hot, &f.e));
    look(S(202));
    assert_null(strstr(deliveries(6)[0].body, unknown));
}

TEST(test_filters)
{
    struct meta_firing_now *rows = NULL;
    const struct meta_session s = {
        .id = "s1", .app = "train", .host = "b", .pid = 1, .started = S(0)};
    rule((struct meta_alert){
        .id = "by-host", .subject = "gpu.temperature", .above = 1, .threshold = 10, .host = "a"});
    rule((struct meta_alert){
        .id = "by-app", .subject = "gpu.temperature", .above = 1, .threshold = 10, .app = "train"});
    OK(meta_session_put(
        f.m, "w", &s,
        &(struct meta_session_gpus){&(struct meta_session_gpu){"GPU-2", "H", NULL}, 1}, NULL,
        &f.e));
    gpu("GPU-1", "a", 0, 40, S(0));
    gpu("GPU-2", "b", 0, 40, S(0));
    gpu("GPU-3", "b", 1, 40, S(0));
    look(S(1));
    assert_int_equal(open_now(&rows), 2);
    for (int i = 0; i < 2; i++)
        assert_string_equal(rows[i].subject,
                            strcmp(rows[i].alert, "by-host") == 0 ? "GPU-1" : "GPU-2");
    OK(meta_session_end(f.m, "w", "s1", "ended", S(2), &f.e));
    look(S(3));
    assert_int_equal(open_now(&rows), 1); /* nothing of that application runs */
    assert_string_equal(rows[0].alert, "by-host");
    OK(meta_alert_remove(f.m, "w", "by-host", S(4), &f.e));
    look(S(5));
    assert_int_equal(open_now(&rows), 0);
}

/* What a monitor reports beyond samples: the process or part that is the first to meet the
 * condition, and counts of its own. */
static const struct {
    const char *subject, *text; /* NULL: nothing fires */
    int64_t above;
    double threshold;
} of_a_monitor[] = {
    {"process.memory_used",
     "process.memory_used of process 12 on GPU 3 of node-m is 900, above 500", 1, 500},
    {"process.memory_used",
     "process.memory_used of process 11 on GPU 3 of node-m is 100, below 500", 0, 500},
    {"process.memory_used", NULL, 1, 900},
    {"process.sm_util", "process.sm_util of process 12 on GPU 3 of node-m is 3, below 5", 0, 5},
    {"process.mem_util", NULL, 1, 0}, /* nobody reported it */
    {"part.sm_active", "part.sm_active of part 9 on GPU 3 of node-m is 9000, above 8000", 1, 8000},
    {"part.sm_active", "part.sm_active of part 7 on GPU 3 of node-m is 50, below 100", 0, 100},
    {"part.memory_used", NULL, 1, 0},
    {"monitor.rows_lost", "monitor.rows_lost of node-m is 2, above 0", 1, 0},
    {"monitor.events_lost", NULL, 1, -1},
};

static void put_monitored(void)
{
    char text[512];
    gpu("GPU-m", "node-m", 3, 40, S(0));
    snprintf(text, sizeof text,
             "{\"time\":\"%" PRId64 "\",\"temperature\":40,"
             "\"process\":{\"memory_used\":[100,11,900,12],\"sm_util\":[3,12,80,11]},"
             "\"part\":{\"sm_active\":[50,7,9000,9]}}",
             S(1));
    struct meta_gpu g = {.uuid = "GPU-m", .host = "node-m", .number = 3, .memory = META_NONE};
    g.state = text;
    g.seen = S(1);
    OK(meta_gpu_put(f.m, "w", &g, &f.e));
    snprintf(text, sizeof text,
             "{\"time\":\"%" PRId64 "\",\"cpu\":1,\"monitor\":{\"rounds\":5,\"rows_lost\":2}}",
             S(1));
    struct meta_host h = {.name = "node-m", .cpus = META_NONE, .memory = META_NONE, .seen = S(1)};
    h.state = text;
    OK(meta_host_put(f.m, "w", &h, &f.e));
}

static void test_of_a_monitor(void **state)
{
    static const char *const wrong[] = {"process.pid",       "process.memory_share", "part.uuid",
                                        "part.gpu_instance", "monitor.silent",       "monitor.time",
                                        "gpu.device",        "parts.sm_active"};
    struct meta_firing_now *rows = NULL;
    (void)state;
    put_monitored();
    for (size_t i = 0; i < sizeof of_a_monitor / sizeof *of_a_monitor; i++) {
        rule((struct meta_alert){.id = "m",
                                 .subject = of_a_monitor[i].subject,
                                 .above = of_a_monitor[i].above,
                                 .threshold = of_a_monitor[i].threshold});
        look(S(2));
        assert_int_equal(open_now(&rows), of_a_monitor[i].text ? 1 : 0);
        if (of_a_monitor[i].text)
            assert_string_equal(rows[0].text, of_a_monitor[i].text);
        look(S(200)); /* too old */
        assert_int_equal(open_now(&rows), 0);
        OK(meta_alert_remove(f.m, "w", "m", S(201), &f.e));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(alerts_metric_known(wrong[i]));
}

static void test_insights(void **state)
{
    struct meta_firing_now *rows = NULL;
    const struct meta_session s = {
        .id = "s1", .app = "train", .host = "b", .pid = 1, .started = S(0)};
    const struct meta_analysis a = {.session = "s1", .kind = "report", .body = {"x", 1}};
    const struct meta_finding bad = {
        .session = "s1", .rule = "sync_line", .share = 0.3, .title = "Waits"};
    (void)state;
    rule((struct meta_alert){
        .id = "slow", .kind = "insight", .subject = "sync_line", .above = 1, .threshold = 0.2});
    rule((struct meta_alert){
        .id = "any", .kind = "insight", .above = 1, .threshold = 0.4, .app = "train"});
    OK(meta_session_put(f.m, "w", &s, NULL, NULL, &f.e));
    OK(meta_session_grow(f.m, "w", "s1",
                         &(struct meta_growth){
                             .records = 1, .kernels = 1, .bytes = 1, .busy = 0.5, .received = S(5)},
                         &f.e));
    OK(meta_analysis_put(f.m, "w", &a, &bad, 1, &f.e));
    look(S(6));
    assert_int_equal(open_now(&rows), 1);
    assert_string_equal(rows[0].state, "firing"); /* at once: hold is 0 */
    assert_string_equal(rows[0].text, "train on b: Waits");
    OK(meta_alert_remove(f.m, "w", "slow", S(6), &f.e));
    rule((struct meta_alert){
        .id = "failing", .kind = "insight", .subject = "gpu_failing", .above = 1, .threshold = 0});
    look(S(6));
    assert_int_equal(open_now(&rows), 0); /* no such finding */
    const struct meta_finding two[] = {
        bad, {.session = "s1", .number = 1, .rule = "gpu_failing", .share = 0, .title = "XID"}};
    OK(meta_analysis_put(f.m, "w", &a, two, 2, &f.e));
    look(S(6));
    assert_int_equal(open_now(&rows), 1); /* what gives back nothing is a finding, too */
    assert_string_equal(rows[0].text, "train on b: XID");
    OK(meta_alert_remove(f.m, "w", "failing", S(6), &f.e));
    rule((struct meta_alert){.id = "little",
                             .kind = "insight",
                             .subject = "gpu_failing",
                             .above = 1,
                             .threshold = 1e-9});
    look(S(6));
    assert_int_equal(open_now(&rows), 0);
    OK(meta_alert_remove(f.m, "w", "little", S(6), &f.e));
    rule((struct meta_alert){
        .id = "again", .kind = "insight", .subject = "sync_line", .above = 1, .threshold = 0.3});
    look(S(6));
    assert_int_equal(open_now(&rows), 1); /* as much as the threshold */
    OK(meta_session_end(f.m, "w", "s1", "ended", S(7), &f.e));
    look(S(3000));
    assert_int_equal(open_now(&rows), 1);
    look(S(3606));
    assert_int_equal(open_now(&rows), 0); /* an hour later it is history */
}

TEST(test_rules_are_checked)
{
    static const struct {
        struct meta_alert r;
        const char *says; /* NULL: the rule is valid */
    } cases[] = {
        {{.kind = "metric", .subject = "gpu.temperature", .url = ""}, NULL},
        {{.kind = "metric", .subject = "host.cpu", .url = "http://h:80/x?y=z"}, NULL},
        {{.kind = "insight", .subject = "", .above = 1, .url = ""}, NULL},
        {{.kind = "metric", .subject = "temperature", .url = ""}, "'subject'"},
        {{.kind = "metric", .subject = "gpu.device", .url = ""}, "'subject'"},
        {{.kind = "metric", .subject = "gpu.time", .url = ""}, "'subject'"},
        {{.kind = "metric", .subject = "host.temperature", .url = ""}, "'subject'"},
        {{.kind = "insight", .subject = "nonsense", .above = 1, .url = ""}, "'subject'"},
        {{.kind = "insight", .subject = "", .above = 0, .url = ""}, "'above'"},
        {{.kind = "metric", .subject = "host.cpu", .url = "ftp://h/x"}, "http"},
        {{.kind = "metric", .subject = "host.cpu", .url = "h/x"}, "http"},
        {{.kind = "metric", .subject = "host.cpu", .url = "http://a:b@h/x"}, "'url'"},
        {{.kind = "metric", .subject = "host.cpu", .url = "http://h/x y"}, "encoded"},
        {{.kind = "metric", .subject = "host.cpu", .url = "http://h/x\r\nHost: y"}, "encoded"},
        {{.kind = "metric", .subject = "host.cpu", .url = "http:///x"}, "'url'"},
        {{.kind = "metric", .subject = "host.cpu", .url = "http://h/x#y"}, "#"},
        {{.kind = "metric", .subject = "host.cpu", .url = "", .secret = "short"}, "'secret'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        int rc = alerts_check(&cases[i].r, &e);
        if (cases[i].says ? rc != GPUFL_E_INVAL || !strstr(e.text, cases[i].says) : rc)
            fail_msg("case %zu: %d %s", i, rc, e.text);
    }
}

/* The addresses that posts may go to, as far as a text shows them. */
TEST(test_where_posts_go)
{
    static const struct {
        const char *url;
        enum webhooks_reach least; /* the first that allows it */
    } cases[] = {
        {"", WEBHOOKS_OFF},
        {"https://hooks.example.org/x", WEBHOOKS_PUBLIC},
        {"https://8.8.8.8:8443/x", WEBHOOKS_PUBLIC},
        {"http://10.1.2.3", WEBHOOKS_PRIVATE},
        {"http://[fd00:1::1]:9/x", WEBHOOKS_PRIVATE},
        {"http://localhost:9/x", WEBHOOKS_ANY},
        {"http://LOCALHOST?x", WEBHOOKS_ANY},
        {"http://127.0.0.1/x", WEBHOOKS_ANY},
        {"http://127.1/x", WEBHOOKS_ANY},
        {"http://0x7f000001:80/x", WEBHOOKS_ANY},
        {"http://2130706433/x", WEBHOOKS_ANY},
        {"http://167838211/x", WEBHOOKS_PRIVATE},
        {"http://[::1]/x", WEBHOOKS_ANY},
        {"http://[::ffff:169.254.169.254]/x", WEBHOOKS_ANY},
        {"http://169.254.169.254/latest/meta-data", WEBHOOKS_ANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (enum webhooks_reach reach = WEBHOOKS_OFF; reach <= WEBHOOKS_ANY; reach++) {
            struct err e = {0};
            int rc = webhooks_check(&(struct webhooks_config){.reach = reach}, cases[i].url, &e);
            if ((rc == 0) != (reach >= cases[i].least))
                fail_msg("%s, %d: %s", cases[i].url, (int)reach, e.text);
        }
}

TEST(test_targets_that_the_operator_names)
{
    struct webhooks_config c = {.reach = WEBHOOKS_PUBLIC};
    static const struct {
        const char *url;
        bool ok;
    } cases[] = {
        {"http://10.0.0.5:9093/x", true},   {"http://10.0.0.5/x", false},
        {"http://10.0.0.6:9093/x", false},  {"https://10.1.2.3/x", true},
        {"https://10.1.2.3:8443/x", false}, {"http://[fd00::7]:443/x", true},
        {"http://[fd00::7]/x", false},      {"http://localhost:9/x", true},
        {"http://localhost:10/x", false},   {"https://example.org/x", true},
    };
    struct err e;
    assert_int_equal(
        webhooks_targets_read(&c.targets,
                              "10.0.0.5:9093, 10.1.0.0/16:443,[fd00::/8]:443,127.0.0.1:9", &e),
        0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if ((webhooks_check(&c, cases[i].url, &e) == 0) != cases[i].ok)
            fail_msg("%s", cases[i].url);
    c.reach = WEBHOOKS_OFF;
    assert_int_equal(webhooks_check(&c, "http://10.0.0.5:9093/x", &e), GPUFL_E_INVAL);
    static const char *const bad[] = {"10.0.0.5",   "10.0.0.5:",     "10.0.0.5:0", "10.0.0.5:65536",
                                      "node:80",    "10.0.0.1/8:80", ":80",        "10.0.0.5:80x",
                                      "[fd00::7:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(webhooks_targets_read(&c.targets, bad[i], &e), GPUFL_E_INVAL);
}

/* A signature is the one that Python's hmac computes. */
TEST(test_signature)
{
    char out[WEBHOOKS_SIGNATURE];
    webhooks_sign(out, "key", "1700000000", "{\"a\":1}");
    assert_string_equal(out,
                        "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        CASE(test_pending_firing_resolved),
        CASE(test_silence_is_no_cure),
        CASE(test_unknown_holds_nothing),
        CASE(test_filters),
        CASE(test_of_a_monitor),
        CASE(test_insights),
        cmocka_unit_test(test_rules_are_checked),
        cmocka_unit_test(test_where_posts_go),
        cmocka_unit_test(test_targets_that_the_operator_names),
        cmocka_unit_test(test_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
