/* test_quota.c - tests the limits of a day, sessions that may go on, and the next day. */
#include "server/api/quota.h"
#include "tests/test.h"

#include <string.h>

#define DAY 86400000000000LL

static struct quotas q;
static struct err e;

static int admit(const char *workspace, const char *key, const char *session, const char *host,
                 int64_t now)
{
    int64_t wait = 0;
    const struct quota_body b = {workspace, key, session, host, now};
    int rc = quota_admit(&q, &b, &wait, &e);
    assert_in_range(wait, 1, 86400);
    return rc;
}

static void sent(const char *workspace, const char *key, const char *session, const char *host,
                 int64_t now, int64_t bytes)
{
    assert_int_equal(admit(workspace, key, session, host, now), 0);
    quota_count(&q, &(struct quota_body){workspace, key, session, host, now}, bytes);
}

TEST(test_sessions_and_hosts)
{
    assert_int_equal(quotas_init(&q, "sessions=2,hosts=1", NULL, &e), 0);
    sent("w", "k", "one", "a", DAY, 10);
    sent("w", "k", "one", "a", DAY, 10);
    sent("w", "other", "two", NULL, DAY, 10);
    assert_int_equal(admit("w", "k", "three", "a", DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "the workspace has sent its 2 sessions"));
    assert_int_equal(admit("w", "k", NULL, "a", DAY), GPUFL_E_TIMEOUT);
    assert_int_equal(admit("w", "k", "two", "b", DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "1 hosts"));
    sent("v", "k", "three", "b", DAY, 10); /* another workspace */
    sent("w", "k", "one", "a", 2 * DAY - 1, 10);
    sent("w", "k", "three", "b", 2 * DAY, 10); /* the next day */
    quotas_fini(&q);
}

TEST(test_bytes_of_a_key)
{
    assert_int_equal(quotas_init(&q, NULL, "bytes=1k", &e), 0);
    sent("w", "k", "one", NULL, DAY, 1000);
    sent("w", "k", "one", NULL, DAY, 1000); /* a body that was begun is accepted */
    assert_int_equal(admit("w", "k", "one", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "the key has sent its 1024 bytes"));
    sent("w", "other", "one", NULL, DAY, 1000);
    sent("w", "", "one", NULL, DAY, 5000); /* a person has no key */
    sent("w", "", "one", NULL, DAY, 5000);
    assert_int_equal(quota_resets(DAY + 5), 2 * DAY);
    quotas_fini(&q);
}

/* The amount of a second is accepted at once; a body beyond it is accepted whole, and the next one
 * has to wait for it. */
TEST(test_rates)
{
    const int64_t second = 1000000000;
    int64_t wait = 0;
    const struct quota_body b = {"w", "k", "one", NULL, DAY};
    struct quota_body later = b;
    assert_int_equal(quotas_init(&q, "rate=1k", "bodies=2", &e), 0);
    sent("w", "k", "one", NULL, DAY, 1000);
    sent("w", "k", "one", NULL, DAY, 4096);
    assert_int_equal(quota_admit(&q, &b, &wait, &e), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "the workspace sends more than its 1024 bytes a second"));
    assert_int_equal(wait, 5);
    later.now += 3 * second;
    assert_int_equal(quota_admit(&q, &later, &wait, &e), GPUFL_E_TIMEOUT);
    assert_int_equal(wait, 2);
    later.now += 2 * second;
    assert_int_equal(quota_admit(&q, &later, &wait, &e), 0);
    later.now -= 2 * second; /* a clock that was set back gives nothing */
    assert_int_equal(quota_admit(&q, &later, &wait, &e), 0);
    sent("v", "k", "one", NULL, DAY + 9 * second, 1);
    sent("v", "k", "one", NULL, DAY + 9 * second, 1);
    assert_int_equal(admit("v", "k", "one", NULL, DAY + 9 * second), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "the key sends more than its 2 bodies a second"));
    assert_int_equal(admit("v", "k", "one", NULL, DAY + 10 * second), 0);
    quotas_fini(&q);
}

/* Limits of one workspace or key replace those of all, until they are removed. */
TEST(test_own_limits)
{
    assert_int_equal(quotas_init(&q, "sessions=1", NULL, &e), 0);
    sent("w", "k", "one", NULL, DAY, 10);
    assert_int_equal(admit("w", "k", "two", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_int_equal(quota_set(&q, QUOTA_WORKSPACE, "w", "sessions=2", &e), 0);
    sent("w", "k", "two", NULL, DAY, 10);
    assert_int_equal(admit("w", "k", "three", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "its 2 sessions"));
    sent("v", "k", "one", NULL, DAY, 10);
    assert_int_equal(admit("v", "k", "two", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_int_equal(quota_set(&q, QUOTA_WORKSPACE, "w", "sessions=x", &e), GPUFL_E_INVAL);
    assert_int_equal(admit("w", "k", "three", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_int_equal(quota_set(&q, QUOTA_WORKSPACE, "w", "bytes=1M", &e), 0);
    assert_int_equal(admit("w", "k", "three", NULL, DAY), 0);
    assert_int_equal(quota_set(&q, QUOTA_KEY, "k", "sessions=0,bytes=15", &e), 0);
    sent("w", "k", "three", NULL, DAY, 15);
    assert_int_equal(admit("w", "k", "three", NULL, DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "the key has sent its 15 bytes"));
    assert_int_equal(quota_set(&q, QUOTA_KEY, "k", "", &e), 0);
    assert_int_equal(quota_set(&q, QUOTA_WORKSPACE, "w", "", &e), 0);
    assert_int_equal(admit("w", "k", "three", NULL, DAY), GPUFL_E_TIMEOUT);
    quotas_fini(&q);
}

/* Writes what is not written to `stored`, as the small tables would keep it: names once. */
static void write_to(struct meta_quota_counts *stored, struct region *mem)
{
    struct quota_batch b;
    assert_int_equal(quota_unwritten(&q, mem, &b), 0);
    for (size_t i = 0; i < b.counts.day_count; i++)
        stored->days[stored->day_count++] = b.counts.days[i];
    for (size_t i = 0; i < b.counts.name_count; i++)
        stored->names[stored->name_count++] = b.counts.names[i];
    quota_wrote(&q, &b);
}

/* A count is given out once to be written. A server that begins with written counts, or reads those
 * of another server, goes on from there. */
TEST(test_counts_are_kept)
{
    struct meta_quota_day days[8], sum[2];
    struct meta_quota_name names[8];
    struct meta_quota_counts stored = {days, 0, names, 0}, read = {sum, 0, names, 0};
    struct region mem;
    region_init(&mem, 1 << 20);
    assert_int_equal(quotas_init(&q, "sessions=3,hosts=2,bytes=1M", "bytes=1M", &e), 0);
    sent("w", "k", "one", "a", DAY, 10);
    write_to(&stored, &mem);
    assert_int_equal(stored.day_count, 2); /* of the workspace and the key */
    assert_int_equal(stored.name_count, 2);
    write_to(&stored, &mem);
    assert_int_equal(stored.day_count, 2);
    sent("w", "k", "two", "a", DAY, 5);
    write_to(&stored, &mem);
    assert_int_equal(stored.day_count, 4);
    assert_int_equal(stored.name_count, 3);
    quotas_fini(&q);

    sum[0] = (struct meta_quota_day){1, "workspace", "w", days[0].bytes + days[2].bytes};
    sum[1] = (struct meta_quota_day){1, "key", "k", 15};
    assert_int_equal(sum[0].bytes, 15);
    read.day_count = 2;
    read.name_count = 3;
    assert_int_equal(quotas_init(&q, "sessions=3,hosts=2,bytes=20", "bytes=1M", &e), 0);
    sent("w", "k", "three", "b", DAY, 4); /* before the tables could be read */
    assert_int_equal(quota_recall(&q, 1, &read), 0);
    assert_int_equal(quota_recall(&q, 1, &read), 0); /* adds nothing */
    assert_int_equal(admit("w", "k", "four", "a", DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "its 3 sessions"));
    assert_int_equal(admit("w", "k", "one", "c", DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "its 2 hosts"));
    stored.day_count = stored.name_count = 0;
    write_to(&stored, &mem); /* only its own */
    assert_int_equal(stored.name_count, 2);
    assert_int_equal(stored.days[0].bytes, 4);
    sent("w", "k", "three", "b", DAY, 1);
    assert_int_equal(admit("w", "k", "one", "a", DAY), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "its 20 bytes"));
    sent("w", "k", "four", "c", 2 * DAY, 30); /* the next day */
    quotas_fini(&q);
    region_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sessions_and_hosts),
        cmocka_unit_test(test_bytes_of_a_key),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_own_limits),
        cmocka_unit_test(test_counts_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
