/* frames.c - turns native frames of a session into symbol rows.
 *
 * Rows are put in groups. Before a group come the frames and modules that it refers to, and their
 * names, so that the part can be read alone. */
#include "analyze/symbolize/inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/file/spelling.h"
#include "base/order.h"
#include "symbol/elf/debug_file.h"
#include "symbol/symbolizer.h"
#include "wire/kept_module.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_FRAMES = 512, SYMBOLS_MAX = GROUP_FRAMES * DWARF_LEVELS };

/* Holds rows that wait for their group. */
struct group {
    int64_t (*frames)[COL_frame_COUNT];   /* owned: GROUP_FRAMES */
    int64_t (*symbols)[COL_symbol_COUNT]; /* owned */
    size_t frame_count, symbol_count, symbol_cap;
    int64_t module; /* the module whose row was put last */
};

/* Sorts frames of one module together, so that its file is opened once. */
static int by_place(const void *a, const void *b)
{
    const int64_t *x = *(int64_t *const *)a, *y = *(int64_t *const *)b;
    if (x[COL_frame_module] != y[COL_frame_module])
        return x[COL_frame_module] < y[COL_frame_module] ? -1 : 1;
    uint64_t ox = (uint64_t)x[COL_frame_offset], oy = (uint64_t)y[COL_frame_offset];
    if (ox != oy)
        return ox < oy ? -1 : 1;
    return ORDER(x[0], y[0]);
}

/* Lists the native frames without symbols, in the order of looking up. The caller frees the
 * list. */
static int64_t **find_open(struct symbolize *z, size_t *count)
{
    int64_t **open = mem_array((size_t)z->frames.row_count + 1, sizeof *open);
    *count = 0;
    for (uint32_t i = 0; open && i < z->frames.row_count; i++) {
        int64_t *row = z->frames.rows + (size_t)i * z->frames.width;
        if (row[COL_frame_kind] != FOLD_NATIVE)
            continue;
        z->stats.frames++;
        bool known = rowset_find(&z->known, row) != NULL;
        z->stats.known += known;
        bool defined =
            row[COL_frame_module] <= 0 || rowset_find(&z->modules, &row[COL_frame_module]) != NULL;
        if (!known && defined && row[COL_frame_offset] != CELL_NULL)
            open[(*count)++] = row;
    }
    if (open && *count)
        qsort(open, *count, sizeof *open, by_place);
    return open;
}

/* ---- groups ---------------------------------------------------------------------------- */

static void put_module(struct symbolize *z, struct group *g, const int64_t *module)
{
    int64_t row[COL_module_COUNT];
    if (!module || module[0] == g->module)
        return;
    memcpy(row, module, sizeof row);
    row[COL_module_path] = symbolize_put_name(z, symbolize_name_number(z, module[COL_module_path]));
    row[COL_module_build_id] =
        symbolize_put_name(z, symbolize_name_number(z, module[COL_module_build_id]));
    encode_rows(&z->lines, RECORD_module, row, 1);
    g->module = module[0];
}

static void put_group(struct symbolize *z, struct group *g)
{
    if (g->frame_count) {
        encode_rows(&z->lines, RECORD_frame, *g->frames, g->frame_count);
        encode_rows(&z->lines, RECORD_symbol, *g->symbols, g->symbol_count);
    }
    g->frame_count = g->symbol_count = 0;
    symbolize_end_batch(z, false);
}

/* Returns the number of a text from the symbolizer; 0 for NULL, or if there is no room. */
static uint32_t number_of(struct symbolize *z, const char *text)
{
    uint32_t number = text && *text ? symbolize_text_number(z, text, strlen(text)) : 0;
    if (text && *text && (!number || intern_overflows(z->texts)))
        z->code = GPUFL_E_FULL;
    return number;
}

static int add_answer(struct symbolize *z, struct group *g, const int64_t *frame,
                      const struct symbol_level *levels, size_t count)
{
    int rc = mem_grow(&g->symbols, &g->symbol_cap, g->symbol_count + count, sizeof *g->symbols,
                      SYMBOLS_MAX);
    if (rc)
        return rc;
    memcpy(g->frames[g->frame_count++], frame, sizeof *g->frames);
    for (size_t i = 0; i < count; i++) {
        char text[SPELLING_ROOM];
        uint32_t file = number_of(z, levels[i].file ? spelling_of(levels[i].file, text) : NULL);
        uint32_t function = number_of(z, levels[i].function);
        const int64_t level[SYMBOLIZE_LEVEL_CELLS] = {frame[0], (int64_t)i, function, file,
                                                      levels[i].line};
        symbolize_want(z, file, FOLD_NATIVE);
        if (symbolize_level(z, level))
            return GPUFL_E_NOMEM;
        int64_t *row = g->symbols[g->symbol_count++];
        row[COL_symbol_frame] = frame[0];
        row[COL_symbol_level] = (int64_t)i;
        row[COL_symbol_function] = symbolize_put_name(z, function);
        row[COL_symbol_file] = symbolize_put_name(z, file);
        row[COL_symbol_line] = levels[i].line > 0 ? levels[i].line : CELL_NULL;
        row[COL_symbol_status] = levels[i].status;
    }
    bool line = levels[0].status == SYMBOL_LINE || levels[0].status == SYMBOL_SPLIT;
    z->stats.lines += line;
    z->stats.functions += levels[0].status == SYMBOL_FUNCTION;
    z->stats.unknown += !line && levels[0].status > SYMBOL_FUNCTION;
    return 0;
}

/* ---- looking up ------------------------------------------------------------------------ */

static int look_up(struct symbolize *z, struct symbolizer *s, struct group *g, const int64_t *frame)
{
    static const struct symbol_level nowhere = {.status = SYMBOL_NOTHING};
    const struct symbol_level *levels = &nowhere;
    size_t count = 1;
    const int64_t *module =
        frame[COL_frame_module] > 0 ? rowset_find(&z->modules, &frame[COL_frame_module]) : NULL;
    int rc = 0;
    if (module) {
        char name[KEPT_MODULE_ROOM], kept[PATH_MAX], path[PATH_MAX];
        kept_module_name(name, module[0]);
        bool has = !path_join(kept, sizeof kept, z->session->dir, name) && file_is_regular(kept);
        struct symbol_module m = {
            .kept = has ? kept : NULL,
            .path = spelling_path(
                symbolize_text(z, symbolize_name_number(z, module[COL_module_path])), path),
            .build_id = symbolize_text(z, symbolize_name_number(z, module[COL_module_build_id])),
            .kind = module[COL_module_kind],
            .size = module[COL_module_size],
            .mtime = module[COL_module_mtime],
        };
        rc = symbolizer_find(s, &m, (uint64_t)frame[COL_frame_offset], &levels, &count);
    }
    put_module(z, g, module);
    return rc ? rc : add_answer(z, g, frame, levels, count);
}

static int look_up_all(struct symbolize *z, int64_t **open, size_t count, char *lacks)
{
    struct symbolizer *s = NULL;
    struct group g = {0};
    const char *root = getenv(DEBUG_ROOT_VARIABLE);
    int rc = symbolizer_open(&s, root && *root ? root : DEBUG_ROOT);
    g.frames = mem_array(GROUP_FRAMES, sizeof *g.frames);
    if (!rc && !g.frames)
        rc = GPUFL_E_NOMEM;
    for (size_t i = 0; i < count && !rc && !z->code; i++) {
        symbolize_progress_say(z, "frame", i, count);
        rc = look_up(z, s, &g, open[i]);
        if (g.frame_count == GROUP_FRAMES)
            put_group(z, &g);
    }
    put_group(z, &g);
    if (!rc && symbolizer_lacks(s))
        snprintf(lacks, sizeof z->stats.note, "%s", symbolizer_lacks(s));
    symbolizer_close(s);
    mem_free(g.frames);
    mem_free(g.symbols);
    return rc;
}

int symbolize_frames(struct symbolize *z, char *lacks)
{
    size_t count;
    int64_t **open = find_open(z, &count);
    int rc = open ? 0 : GPUFL_E_NOMEM;
    *lacks = '\0';
    if (!rc && count)
        rc = look_up_all(z, open, count, lacks);
    mem_free(open);
    return rc;
}
