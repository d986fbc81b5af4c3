/* disassemble_text.c - reads the lines that nvdisasm prints.
 *
 *   	.section	.text.KERNEL,"ax",@progbits      offsets count from here
 *   NAME:                                           a function begins, the kernel or one it calls
 *   	//## File "a.h", line 3 inlined at "b.cu", line 7     innermost place of the next instructions
 *   	//## File "b.cu", line 7                               the place around it
 *           [0010]                   S2R R0, SR_TID.X ;    an instruction; its offset is printed
 *                                                        between the marks of a comment
 *
 * A place is valid until the next one. All other lines are skipped. */
#include "symbol/cubin/disassemble.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 8192, FILE_MAX_BYTES = 4096 };

struct disassembly {
    void (*fn)(void *arg, const struct disassembled *d);
    void *arg;
    char section[NAME_MAX_BYTES], function[NAME_MAX_BYTES]; /* "": none yet */
    bool begins;   /* the function's first instruction is still to come */
    bool placing;  /* the line before was a place */
    uint64_t base; /* offset of the function in its section */
    struct disassembled now;
    char files[DISASSEMBLE_LEVELS][FILE_MAX_BYTES];
};

struct disassembly *disassembly_open(void (*fn)(void *arg, const struct disassembled *d), void *arg)
{
    struct disassembly *r = mem_zalloc(sizeof *r);
    if (!r)
        return NULL;
    r->fn = fn;
    r->arg = arg;
    for (int i = 0; i < DISASSEMBLE_LEVELS; i++)
        r->now.places[i].file = r->files[i];
    return r;
}

void disassembly_close(struct disassembly *r)
{
    mem_free(r);
}

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool take_section(struct disassembly *r, const char *line)
{
    static const char word[] = ".section", text[] = ".text.";
    const char *at = blanks(line);
    if (strncmp(at, word, sizeof word - 1) != 0)
        return false;
    at = blanks(at + sizeof word - 1);
    size_t len = strcspn(at, ",");
    r->section[0] = r->function[0] = '\0';
    r->now.place_count = 0;
    if (strncmp(at, text, sizeof text - 1) == 0 && len < sizeof r->section)
        snprintf(r->section, sizeof r->section, "%.*s", (int)(len - (sizeof text - 1)),
                 at + sizeof text - 1);
    return true;
}

/* Takes a name and a colon at the line's beginning; local labels (.L_x_3) are not functions. */
static bool take_label(struct disassembly *r, const char *line)
{
    size_t len = strlen(line);
    if (len < 2 || len > sizeof r->function || line[len - 1] != ':' || strchr(" \t.", line[0]))
        return false;
    memcpy(r->function, line, len - 1);
    r->function[len - 1] = '\0';
    r->begins = true;
    r->now.place_count = 0;
    return true;
}

static bool take_place(struct disassembly *r, const char *line)
{
    static const char mark[] = "//## File \"", number[] = "\", line ";
    const char *at = blanks(line);
    if (strncmp(at, mark, sizeof mark - 1) != 0)
        return false;
    at += sizeof mark - 1;
    const char *end = strstr(at, number);
    if (!r->placing)
        r->now.place_count = 0;
    r->placing = true;
    if (!end || end - at >= FILE_MAX_BYTES || r->now.place_count == DISASSEMBLE_LEVELS)
        return true;
    size_t i = r->now.place_count++;
    memcpy(r->files[i], at, (size_t)(end - at));
    r->files[i][end - at] = '\0';
    r->now.places[i].line = strtoll(end + sizeof number - 1, NULL, 10);
    return true;
}

static void deliver(struct disassembly *r, const char *function, uint64_t offset)
{
    r->now.function = function;
    r->now.offset = offset;
    r->fn(r->arg, &r->now);
}

/* Takes the offset, blanks, and the text up to its semicolon; a line that has only the encoding has
 * no text. */
static void take_instruction(struct disassembly *r, char *line)
{
    char *at = line + strspn(line, " \t"), *end;
    if (strncmp(at, "/*", 2) != 0 || !*r->section)
        return;
    uint64_t offset = strtoull(at + 2, &end, 16);
    if (end == at + 2 || strncmp(end, "*/", 2) != 0)
        return;
    at = end + 2 + strspn(end + 2, " \t");
    char *semicolon = strchr(at, ';');
    if (!semicolon || semicolon == at || strncmp(at, "/*", 2) == 0)
        return;
    semicolon[1] = '\0';
    r->now.text = at;
    if (r->begins)
        r->base = offset;
    r->begins = false;
    deliver(r, r->section, offset);
    if (*r->function && strcmp(r->function, r->section) != 0 && offset >= r->base)
        deliver(r, r->function, offset - r->base);
}

void disassembly_line(struct disassembly *r, char *line)
{
    if (take_place(r, line))
        return;
    r->placing = false;
    if (!take_section(r, line) && !take_label(r, line))
        take_instruction(r, line);
}
