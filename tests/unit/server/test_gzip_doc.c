/* test_gzip_doc.c - tests documents as gzip: read whole they are what was packed, for gzip(1) too;
 * read by members they have every member that is wanted; damage is found. */
#include "server/analysis/gzip_doc.h"
#include "tests/test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 << 20, SMALL = 40, BIG = 50000 };

struct given {
    struct region memory;
    struct buf text;
    struct meta_bytes packed;
};

/* Appends the member "KEYn" with a text of `size` letters. */
static void put_member(struct buf *b, const char *key, int n, size_t size)
{
    buf_printf(b, "%s\"%s%d\": \"", b->len > 1 ? ",\n " : "", key, n);
    for (size_t i = 0; i < size; i++)
        buf_char(b, (char)('a' + (i * i + (size_t)n) % 23));
    buf_char(b, '"');
}

static void begin(struct given *g)
{
    region_init(&g->memory, MOST);
    buf_init(&g->text, MOST);
    buf_char(&g->text, '{');
}

static int pack(struct given *g, bool pieces)
{
    z_stream z;
    assert_int_equal(gzip_doc_stream(&z), 0);
    int rc = gzip_doc_pack(&z, g->text.data, g->text.len, pieces, &g->memory, &g->packed);
    deflateEnd(&z);
    return rc;
}

/* Packs the object, and checks that it inflates to what it was. */
static void end(struct given *g, bool pieces)
{
    struct buf back;
    buf_str(&g->text, "}\n");
    assert_int_equal(buf_error(&g->text), 0);
    assert_int_equal(pack(g, pieces), 0);
    buf_init(&back, MOST);
    assert_int_equal(gzip_doc_open(&g->packed, &back), 0);
    assert_int_equal(back.len, g->text.len);
    assert_memory_equal(back.data, g->text.data, back.len);
    buf_fini(&back);
}

static void fini(struct given *g)
{
    buf_fini(&g->text);
    region_fini(&g->memory);
}

/* Wants the members whose key begins with `arg`. */
static bool wants(const char *key, const void *arg)
{
    return strncmp(key, arg, strlen(arg)) == 0;
}

static json_t *members(const struct given *g, const char *lead)
{
    struct buf back;
    json_error_t e;
    buf_init(&back, MOST);
    assert_int_equal(gzip_doc_open_members(&g->packed, wants, lead, &back), 0);
    json_t *read = json_loadb(back.data, back.len, JSON_REJECT_DUPLICATES, &e);
    if (!read)
        fail_msg("%s at %d: %.60s", e.text, e.position, back.data);
    buf_fini(&back);
    return read;
}

/* Checks the members that were read with those of the whole text: which are there, and their
 * values. */
static void check(const struct given *g, const char *lead, size_t count)
{
    json_t *all = json_loadb(g->text.data, g->text.len, 0, NULL), *read = members(g, lead), *value;
    const char *key;
    json_object_foreach(read, key, value) assert_true(json_equal(value, json_object_get(all, key)));
    json_object_foreach(all, key, value) if (json_string_length(value) <= SMALL || wants(key, lead))
        assert_non_null(json_object_get(read, key));
    assert_int_equal(json_object_size(read), count);
    json_decref(read);
    json_decref(all);
}

TEST(members_that_are_wanted)
{
    struct given g;
    begin(&g);
    put_member(&g.text, "answer", 0, SMALL);
    put_member(&g.text, "steps", 1, BIG);
    put_member(&g.text, "idle", 2, SMALL);
    put_member(&g.text, "kernels", 3, BIG);
    put_member(&g.text, "samples", 4, BIG);
    end(&g, true);
    check(&g, "-", 2);
    check(&g, "steps", 3);
    check(&g, "kernels", 3);
    check(&g, "samples", 3); /* the last one, with the object's end */
    check(&g, "", 5);
    fini(&g);
}

TEST(objects_of_any_form)
{
    struct given g;
    char longest[80];
    memset(longest, 'k', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    begin(&g);
    put_member(&g.text, "first", 0, BIG); /* with the object's brace: always there */
    put_member(&g.text, "next", 1, BIG);
    put_member(&g.text, longest, 2, BIG); /* too long for the list: always there */
    put_member(&g.text, "small", 3, SMALL);
    end(&g, true);
    check(&g, "-", 3);
    check(&g, "next", 4);
    fini(&g);

    begin(&g);
    for (int i = 0; i < 100; i++) /* more than the list has room for */
        put_member(&g.text, i % 2 ? "large" : "small", i, i % 2 ? BIG : SMALL);
    end(&g, true);
    check(&g, "", 100);
    json_t *read = members(&g, "-");
    assert_true(json_object_size(read) > 50 && json_object_size(read) < 100);
    json_decref(read);
    fini(&g);

    begin(&g);
    end(&g, true);
    check(&g, "", 0);
    fini(&g);
}

/* Documents of before, and those that are no object, have no pieces. */
TEST(documents_without_pieces)
{
    struct given g;
    begin(&g);
    put_member(&g.text, "steps", 0, BIG);
    put_member(&g.text, "kernels", 1, BIG);
    end(&g, false);
    check(&g, "-", 2);
    fini(&g);

    static const char *const wrong[] = {"", "[1]", "{\"a\": 1", "{\"a\": 1,, \"b\": 2}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(&g);
        buf_clear(&g.text);
        buf_str(&g.text, wrong[i]);
        struct buf back;
        buf_init(&back, MOST);
        assert_int_equal(pack(&g, true), 0);
        assert_int_equal(gzip_doc_open_members(&g.packed, wants, "-", &back), 0);
        assert_int_equal(back.len, g.text.len);
        assert_memory_equal(buf_cstr(&back), buf_cstr(&g.text), back.len);
        buf_fini(&back);
        fini(&g);
    }
}

/* A stream that has packed a document with pieces packs the next one without. */
TEST(one_stream_for_several_documents)
{
    struct given g;
    z_stream z;
    begin(&g);
    put_member(&g.text, "small", 0, SMALL);
    put_member(&g.text, "large", 1, BIG);
    buf_char(&g.text, '}');
    assert_int_equal(gzip_doc_stream(&z), 0);
    for (int i = 0; i < 4; i++) {
        struct buf back;
        assert_int_equal(
            gzip_doc_pack(&z, g.text.data, g.text.len, i % 2 == 0, &g.memory, &g.packed), 0);
        check(&g, "-", i % 2 == 0 ? 1 : 2);
        buf_init(&back, MOST);
        assert_int_equal(gzip_doc_open(&g.packed, &back), 0);
        assert_int_equal(back.len, g.text.len);
        buf_fini(&back);
    }
    deflateEnd(&z);
    fini(&g);
}

/* Reads a damaged document: an error, or what was stored. Returns true if it was an error. */
static bool refuses(const char *bytes, size_t len, const struct buf *right)
{
    const struct meta_bytes damaged = {bytes, len};
    struct buf back;
    buf_init(&back, MOST);
    int rc = gzip_doc_open_members(&damaged, wants, "large", &back);
    if (rc == 0) {
        assert_int_equal(back.len, right->len);
        assert_memory_equal(back.data, right->data, back.len);
    } else {
        assert_int_equal(rc, GPUFL_E_CORRUPT);
    }
    buf_fini(&back);
    return rc != 0;
}

TEST(damage_is_found)
{
    struct given g;
    struct buf right;
    size_t refused = 0;
    begin(&g);
    put_member(&g.text, "small", 0, SMALL);
    put_member(&g.text, "large", 1, BIG);
    put_member(&g.text, "after", 2, SMALL);
    end(&g, true);
    buf_init(&right, MOST);
    assert_int_equal(gzip_doc_open_members(&g.packed, wants, "large", &right), 0);
    for (size_t len = 0; len < g.packed.len - 8; len++) /* its last 8 bytes are gzip's own sums */
        assert_true(refuses(g.packed.data, len, &right));
    char *bytes = malloc(g.packed.len);
    assert_non_null(bytes);
    for (size_t i = 0; i < g.packed.len; i++) {
        memcpy(bytes, g.packed.data, g.packed.len);
        bytes[i] = (char)(bytes[i] ^ 0x55);
        refused += refuses(bytes, g.packed.len, &right);
    }
    /* Not found: the header's time, flags and system, and gzip's own sums. */
    assert_in_range(refused, g.packed.len - 20, g.packed.len);
    free(bytes);
    buf_fini(&right);
    fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_are_wanted),
        cmocka_unit_test(objects_of_any_form),
        cmocka_unit_test(documents_without_pieces),
        cmocka_unit_test(one_stream_for_several_documents),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
