/* test_code_copies.c - device code is kept once; code is not kept if it is too large, if there is
 * no room, no checksum, or no place to write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvidia/record/cubins.h"
#include "tests/test.h"

static int kept_files, messages, crc_result;
static bool full;
static char last_file[64], last_text[512];

static uint32_t keep(struct sink *s, const char *file, const void *bytes, size_t size)
{
    (void)s, (void)bytes, (void)size;
    if (full)
        return 0;
    snprintf(last_file, sizeof last_file, "%s", file);
    return (uint32_t)++kept_files;
}

__attribute__((format(printf, 4, 5))) static void message(struct sink *s, enum severity severity,
                                                          const char *code, const char *fmt, ...)
{
    va_list args;
    (void)s, (void)severity;
    assert_string_equal(code, "code.not_kept");
    va_start(args, fmt);
    vsnprintf(last_text, sizeof last_text, fmt, args);
    va_end(args);
    messages++;
}

static int crc(struct pc_crc_params *p)
{
    p->crc = 0;
    for (size_t i = 0; i < p->bytes && i < 64; i++)
        p->crc = p->crc * 31 + ((const unsigned char *)p->cubin)[i];
    return crc_result;
}

static const struct sink_ops ops = {.keep = keep, .message = message};
static struct sink sink = {.ops = &ops};

static int begin(void **state)
{
    (void)state;
    code_copies_begin();
    kept_files = messages = crc_result = 0;
    full = false;
    return 0;
}

TEST(each_once)
{
    char code[300];
    memset(code, 1, sizeof code);
    for (int i = 0; i < 10; i++)
        code_copies_loaded(code, sizeof code);
    code[299] = 2; /* a change that this test's checksum does not see */
    code_copies_loaded(code, sizeof code);
    code[0] = 'a';
    code_copies_loaded(code, sizeof code);
    code_copies_loaded(NULL, 5);
    code_copies_loaded(code, 0);
    cubins_drain(crc, &sink);
    assert_int_equal(kept_files, 2); /* the second has the first one's checksum */
    assert_int_equal(messages, 0);
    struct pc_crc_params p = {.bytes = sizeof code, .cubin = code};
    crc(&p);
    const struct code_copy *found = code_copies_find(p.crc);
    assert_non_null(found);
    assert_int_equal(found->size, sizeof code);
    assert_int_equal(found->file, 2);
    assert_null(code_copies_find(p.crc + 1));
    code_copies_begin();
    assert_null(code_copies_find(p.crc));
}

/* The memory of a module of 2 GiB is not read. */
TEST(too_large)
{
    code_copies_loaded("x", (size_t)2 << 30);
    cubins_drain(crc, &sink);
    assert_int_equal(kept_files, 0);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(last_text, "1 module too large"));
    code_copies_loaded("x", (size_t)2 << 30);
    cubins_drain(crc, &sink);
    assert_int_equal(messages, 1); /* reported once a session */
}

TEST(no_room)
{
    size_t size = (size_t)CODE_COPY_MOST / 2;
    char *code = calloc(1, size);
    assert_non_null(code);
    for (int i = 0; i < 3; i++) {
        code[0] = (char)i;
        code_copies_loaded(code, size); /* the second one does not fit next to the first */
    }
    free(code);
    cubins_drain(crc, &sink);
    assert_int_equal(kept_files, 1);
    assert_non_null(strstr(last_text, "2 modules for lack of room"));
}

TEST(cannot_be_written_or_read)
{
    full = true;
    code_copies_loaded("one", 3);
    cubins_drain(crc, &sink);
    full = false;
    crc_result = CUPTI_E_UNKNOWN;
    code_copies_loaded("two", 3);
    cubins_drain(crc, &sink);
    assert_int_equal(kept_files, 0);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(last_text, "1 module that could not be written or read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_once, begin),
        cmocka_unit_test_setup(too_large, begin),
        cmocka_unit_test_setup(no_room, begin),
        cmocka_unit_test_setup(cannot_be_written_or_read, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
