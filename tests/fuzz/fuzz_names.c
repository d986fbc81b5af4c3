/* fuzz_names.c - feeds any bytes as the names of a table, a line each: short names fit their width,
 * no two different names are shown alike, and a rule makes one line. The first byte is the
 * width. */
#include "symbol/names/kinds.h"
#include "symbol/names/rules.h"
#include "symbol/names/shorten.h"
#include "tests/fuzz/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 32, LEAST = 16, TEXT_MAX = 64 << 20 };

static size_t columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void check_rule(const char *name)
{
    struct buf out;
    buf_init(&out, TEXT_MAX);
    buf_str(&out, "before ");
    bool ruled = rules_put(&out, name);
    const char *text = buf_cstr(&out);
    CHECK(!strncmp(text, "before ", 7) && (ruled ? text[7] && text[7] != ' ' : !text[7]));
    for (const char *c = text; *c; c++)
        CHECK((unsigned char)*c >= ' ');
    buf_fini(&out);
    uint32_t kinds = kinds_of(name);
    CHECK(!(kinds >> 16) == !kinds_library(kinds));
}

static void check_table(const char *const *names, size_t count, size_t width)
{
    struct buf out;
    const char *shown[ROWS];
    buf_init(&out, TEXT_MAX);
    CHECK(!shorten_rows(&out, names, count, width));
    const char *at = out.data;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
        shown[i] = at;
        CHECK(columns(at) <= width);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(shown[k], at) != 0 || !strcmp(names[k], names[i]));
    }
    CHECK(!count || at == out.data + out.len);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *names[ROWS];
    size_t count = 0;
    if (size < 2)
        return 0;
    char *text = malloc(size);
    CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *at = text; at && count < ROWS;) {
        char *end = strchr(at, '\n');
        if (end)
            *end++ = '\0';
        names[count++] = at;
        at = end;
    }
    for (size_t i = 0; i < count; i++)
        check_rule(names[i]);
    check_table(names, count, LEAST + data[0] % 128);
    free(text);
    return 0;
}
