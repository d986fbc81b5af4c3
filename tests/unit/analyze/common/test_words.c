/* test_words.c - a vendor's words are used only for its GPUs, and texts
 * about both vendors name both. */
#include "analyze/common/words.h"
#include "tests/test.h"

#include <stdbool.h>
#include <string.h>

/* Words of CUDA that HIP's programs do not have, or have for something else. */
static const char *const foreign[] = {"thread",     "warp", "CUDA",  "cuda",    "SASS",   "PTX",
                                      "SM ",        "SMs",  "an SM", "NVLink",  "nvidia", "NVIDIA",
                                      "shared mem", "XID",  "Xid",   "Context", "context"};

static void expect_none(const char *what, const char *text)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const char *at = strstr(text, foreign[i]);
        bool torch = at && at - text >= 6 && !strncmp(at - 6, "torch.", 6); /* its own name */
        if (at && !torch)
            fail_msg("%s: '%s' in '%s'", what, foreign[i], text);
    }
}

TEST(test_amd_has_words_of_its_own)
{
    const struct words *w = words_of("gfx942");
    const char *const all[] = {w->listing,     w->thread,        w->clock_short,   w->link,
                               w->empty_cache, w->threads,       w->warps,         w->warp,
                               w->sms,         w->an_sm,         w->blocks,        w->block,
                               w->shared,      w->graphs,        w->graph,         w->shared_short,
                               w->local,       w->local_short,   w->clock,         w->api,
                               w->alone,       w->load_next,     w->context,       w->wait_all,
                               w->waits_all,   w->throttle_slow, w->throttle_heat, w->throttle_hot};
    assert_ptr_not_equal(w, words_of("sm_90"));
    assert_true(w->shader_clock && !w->tf32);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_none("word", all[i]);
    expect_none("pinned_back", w->pinned_back);
    assert_string_equal(w->thread, "work-item");
    assert_string_equal(w->waves, "rounds"); /* AMD's waves are wavefronts */
    assert_string_equal(w->clock, "shader clock");
    assert_string_equal(w->wait_all, "DeviceSynchronize");
    assert_string_equal(w->throttle_heat, "too hot");
}

/* Rules whose step is about threads of the host, or that need counts of instructions, which AMD's
 * GPUs do not have. */
static bool is_host_or_nvidia(const char *rule)
{
    static const char *const rules[] = {"late_launch", "idle_cause",  "cpu_limit",
                                        "divergence",  "uncoalesced", "bank_conflicts"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i], rule))
            return true;
    return false;
}

static bool has_any(const char *text, const char *const *words)
{
    bool any = false;
    for (; *words && !any; words++)
        any = strstr(text, *words) != NULL;
    return any;
}

/* The insights' next steps have the vendor's words, and those of both if the vendor is unknown, as
 * the page of the rules has them. */
TEST(test_steps)
{
    static const char *const rules[] = {
#define INSIGHT(id, ...) #id,
#include "analyze/insight/insight.def"
    };
    static const char *const own[] = {
#define INSIGHT(id, category, bound, fires, severity, gives_back, next) next,
#include "analyze/insight/insight.def"
    };
    static const char *const of_nvidia[] = {"CUDA", "cudaM", "Xid", "nvidia-smi", "nvcc", NULL};
    static const char *const of_amd[] = {"HIP", "hipM", "amdgpu", "amd-smi", "amdclang", NULL};
    const struct words *amd = words_of("gfx90a"), *nvidia = words_of("sm_90");
    int with_vendor = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *step = words_next(amd, rules[i]), *other = words_next(nvidia, rules[i]);
        assert_null(words_next(words_join(amd, nvidia), rules[i]));
        assert_int_equal(step != NULL, other != NULL);
        if (has_any(own[i], of_nvidia) != has_any(own[i], of_amd))
            fail_msg("%s names one vendor: %s", rules[i], own[i]);
        if (step || !is_host_or_nvidia(rules[i]))
            expect_none(rules[i], step ? step : own[i]);
        if (has_any(other ? other : own[i], of_amd))
            fail_msg("%s has AMD's words for NVIDIA: %s", rules[i], other ? other : own[i]);
        with_vendor += step != NULL;
    }
    assert_int_equal(with_vendor, 8);
    assert_string_equal(words_next(nvidia, "throttle_power"),
                        "Raise the power limit (as root: nvidia-smi -pl), or expect that speed.");
}

TEST(test_words_of_both)
{
    const struct words *amd = words_of("gfx1100"), *nvidia = words_of("sm_90");
    assert_ptr_equal(words_of(""), nvidia);
    assert_ptr_equal(words_join(NULL, amd), amd);
    assert_ptr_equal(words_join(amd, amd), amd);
    assert_true(nvidia->tf32 && !nvidia->shader_clock);
    assert_ptr_equal(words_join(words_join(amd, nvidia), amd), words_join(nvidia, amd));
    assert_ptr_not_equal(words_join(amd, nvidia), nvidia);
    assert_ptr_not_equal(words_join(amd, nvidia), amd);
    assert_string_equal(nvidia->thread, "thread");
    assert_string_equal(words_join(nvidia, amd)->clock, "SM or shader clock");
}

/* The vendor decides if it is one of the two; otherwise the architecture decides. */
TEST(test_words_of_a_device)
{
    const struct words *amd = words_of("gfx1100"), *nvidia = words_of("sm_90");
    assert_ptr_equal(words_of_device("amd", ""), amd);
    assert_ptr_equal(words_of_device("AMD", "gfx942"), amd);
    assert_ptr_equal(words_of_device("nvidia", ""), nvidia);
    assert_ptr_equal(words_of_device("sim", "gfx90a"), amd);
    assert_ptr_equal(words_of_device("", "sm_100"), nvidia);
    assert_null(words_of_device("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amd_has_words_of_its_own),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_words_of_both),
        cmocka_unit_test(test_words_of_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
