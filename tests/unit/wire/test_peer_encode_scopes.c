/* test_peer_encode_scopes.c - scopes of ours as begins, ends and paths of the public
 * client's format. */
#include "tests/test.h"
#include "tests/unit/support/peer_ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCOPES(id, base)                                                                           \
    "{\"version\":3,\"type\":\"scope_event_batch\"," SESSION ",\"batch_id\":" id                   \
    ",\"base_time_ns\":" base ",\"columns\":[\"dt_ns\",\"scope_instance_id\",\"name_id\","         \
    "\"event_type\",\"depth\",\"repeat\",\"warmup\",\"original_start_ns\"],\"rows\":"

TEST(test_scopes)
{
    struct peer_encoder *e = peer_ours_running();
    ROWS(e, scope,
         {.start = 950, .duration = 50, .instance = 2, .parent = 1, .name = NAME_INNER, .depth = 1},
         {.start = 900,
          .duration = 4000,
          .instance = 1,
          .name = NAME_OUTER,
          .repeat = 5,
          .warmup = 1},
         {.start = CELL_NULL, .duration = CELL_NULL, .instance = 9, .name = NAME_OUTER});
    EXPECT(e, PEER_SCOPE,
           "{\"version\":1,\"type\":\"dictionary_update\"," SESSION
           ",\"scope_name_dict\":{\"1\":\"outer\",\"2\":\"in\\\"n\"}}\n" SCOPES(
               "1", "1900") "[[0,1,1,0,0,5,1,1900],[50,2,2,0,1,0,0,1950],[100,2,2,1,1,0,0,1950],"
                            "[4000,1,1,1,0,0,0,1900]]}\n");
    peer_encoder_close(e);
}

/* In that format a scope's parent is the open scope one level up, in the order of the rows. Our
 * rows follow when scopes end. So the begin of an outer scope is written before its first inner
 * one, batches before its end. */
TEST(test_begins_come_outside_in)
{
    struct peer_encoder *e = peer_ours_running();
    const struct scope_row outer = {.start = 900,
                                    .duration = 4000,
                                    .instance = 1,
                                    .name = NAME_OUTER,
                                    .repeat = 5,
                                    .warmup = 1};
    assert_int_equal(peer_encoder_learn_rows(e, RECORD_scope, (const int64_t *)&outer, 1), 0);
    for (int i = 0; i < 2; i++)
        ROWS(e, scope,
             {.start = 950 + i * 100,
              .duration = 50,
              .instance = 2 + i,
              .parent = 1,
              .name = NAME_INNER,
              .depth = 1});
    assert_int_equal(peer_encoder_rows(e, RECORD_scope, (const int64_t *)&outer, 1), 0);
    EXPECT(e, PEER_SCOPE,
           "{\"version\":1,\"type\":\"dictionary_update\"," SESSION
           ",\"scope_name_dict\":{\"1\":\"outer\",\"2\":\"in\\\"n\"}}\n" SCOPES(
               "1", "1900") "[[0,1,1,0,0,5,1,1900],[50,2,2,0,1,0,0,1950],"
                            "[100,2,2,1,1,0,0,1950]]}\n" SCOPES(
                                "2", "2050") "[[0,3,2,0,1,0,0,2050],[50,3,2,1,1,0,0,2050]]}"
                                             "\n" SCOPES("3", "5900") "[[0,1,1,1,0,0,0,1900]]}\n");
    peer_encoder_close(e);
}

/* In a damaged log scopes may be inside of each other: each begins once. */
TEST(test_scopes_in_a_circle)
{
    struct peer_encoder *e = peer_ours_running();
    ROWS(e, scope_open, {.start = 10, .instance = 1, .parent = 1, .name = NAME_OUTER},
         {.start = 11, .instance = 2, .parent = 3, .name = NAME_OUTER},
         {.start = 12, .instance = 3, .parent = 2, .name = NAME_OUTER});
    const char *rows = strstr(peer_ours_lines(e, PEER_SCOPE), "\"rows\":[");
    int begins = 0;
    assert_non_null(rows);
    for (const char *at = rows + 8; (at = strchr(at, '[')); at++)
        begins++;
    assert_int_equal(begins, 3);
    peer_encoder_close(e);
}

/* A limited number of ended scopes is kept for kernels that come late. */
TEST(test_ended_scopes_are_forgotten)
{
    struct peer_encoder *e;
    const struct peer_encode_config c = {.scopes_kept = 2};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    assert_int_equal(peer_encoder_header(e, &peer_ours_header), 0);
    assert_int_equal(peer_encoder_name(e, NAME_OUTER, "outer", 5), 0);
    ROWS(e, config, {.id = 1, .name = NAME_OUTER});
    for (int64_t i = 1; i <= 3; i++)
        ROWS(e, scope, {.start = i, .duration = 1, .instance = i, .name = NAME_OUTER});
    for (int64_t i = 1; i <= 3; i++) {
        peer_ours_drain(e);
        ROWS(e, kernel, {.start = 1, .config = 1, .correlation = i, .scope = i});
        assert_non_null(strstr(peer_ours_lines(e, PEER_DEVICE),
                               i == 1 ? "\"user_scope\":\"global\"" : "\"user_scope\":\"outer\""));
    }
    peer_encoder_close(e);
}

/* An open scope gets one begin, and its end when its row comes. */
TEST(test_open_scopes)
{
    struct peer_encoder *e = peer_ours_running();
    for (int i = 0; i < 2; i++)
        ROWS(e, scope_open, {.start = 100, .instance = 4, .name = NAME_OUTER, .repeat = 3});
    assert_non_null(
        strstr(peer_ours_lines(e, PEER_SCOPE), SCOPES("1", "1100") "[[0,4,1,0,0,3,0,1100]]}\n"));
    assert_null(strstr(peer_ours_lines(e, PEER_SCOPE), "\"batch_id\":2"));
    peer_ours_drain(e);
    ROWS(e, kernel, {.start = 1, .config = 1, .correlation = 1, .scope = 4});
    assert_non_null(strstr(peer_ours_lines(e, PEER_DEVICE), "\"user_scope\":\"outer\""));
    ROWS(e, scope, {.start = 100, .duration = 7, .instance = 4, .name = NAME_OUTER, .repeat = 3});
    assert_non_null(
        strstr(peer_ours_lines(e, PEER_SCOPE), SCOPES("2", "1107") "[[0,4,1,1,0,0,0,1100]]}\n"));
    peer_encoder_close(e);
}

static bool find_scope(void *arg, int64_t instance, int64_t *name, int64_t *parent)
{
    (void)arg;
    *name = instance == 70 ? NAME_OUTER : NAME_WARPS;
    *parent = instance - 1;
    return instance >= 70 && instance < 500;
}

TEST(test_scope_callback)
{
    struct peer_encoder *e;
    const struct peer_encode_config c = {.scope = find_scope};
    assert_int_equal(peer_encoder_open(&e, &c), 0);
    assert_int_equal(peer_encoder_header(e, &peer_ours_header), 0);
    assert_int_equal(peer_encoder_name(e, NAME_OUTER, "outer", 5), 0);
    assert_int_equal(peer_encoder_name(e, NAME_WARPS, "w", 1), 0);
    ROWS(e, config, {.id = 1, .name = NAME_OUTER});
    ROWS(e, kernel, {.start = 1, .config = 1, .correlation = 1, .scope = 71},
         {.start = 2, .config = 1, .correlation = 2, .scope = 600},
         {.start = 3, .config = 1, .correlation = 3, .scope = 400});
    const char *text = peer_ours_lines(e, PEER_DEVICE);
    assert_non_null(strstr(text, "\"corr_id\":1,"));
    assert_non_null(strstr(text, "\"user_scope\":\"outer|w\""));
    assert_non_null(strstr(text, "\"user_scope\":\"global\""));
    assert_non_null(strstr(text, "\"user_scope\":\"w|w|"));
    peer_encoder_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_begins_come_outside_in),
        cmocka_unit_test(test_scopes_in_a_circle),
        cmocka_unit_test(test_ended_scopes_are_forgotten),
        cmocka_unit_test(test_open_scopes),
        cmocka_unit_test(test_scope_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
