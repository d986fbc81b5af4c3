/* shown.c - keeps the library files that a report points at.
 *
 * A report shows one line of a stack, the user's if there is one (symbol/fold.h). A library's file
 * is kept only if a report shows one of its lines, for a stack without a line of the user's, such
 * as that of a framework's thread.
 *
 * A stack with children was almost never captured itself, so only the leaves of the tree are
 * examined. Parents come before their children, so the kind of a stack is found from its parent's
 * kind. Work and memory are bounded. */
#include "analyze/symbolize/inside.h"

#include "base/alloc.h"

#include <string.h>

enum {
    STEPS_MAX = 1024,      /* functions of a stack; it is cut there */
    STEPS_ALL = 1 << 20,   /* frames walked in all stacks; further stacks keep no library file */
    LEVELS_MOST = 1 << 20, /* inlined functions that are kept */
};

/* Names the kind of a frame; for a stack, whether it has a frame of the user's. */
enum { UNKNOWN = 0, USER, NOT_USER };

struct shown {
    struct symbolize *z;
    uint8_t *frames, *stacks; /* owned: by index, a kind */
    bool *inner;              /* owned: by index of stack: it is the parent of others */
    struct fold_frame steps[STEPS_MAX];
    uint32_t files[STEPS_MAX]; /* numbers of the steps' files */
    size_t count;
    int64_t left; /* rest of STEPS_ALL */
};

int symbolize_level(struct symbolize *z, const int64_t cells[SYMBOLIZE_LEVEL_CELLS])
{
    bool added;
    if (cells[0] <= 0 || z->levels.row_count >= LEVELS_MOST)
        return 0;
    int64_t *row = rowset_put(&z->levels, cells, &added);
    if (!row)
        return GPUFL_E_NOMEM;
    memcpy(row, cells, SYMBOLIZE_LEVEL_CELLS * sizeof *cells);
    return 0;
}

static void put_step(struct shown *s, enum fold_language language, const char *module,
                     uint32_t function, uint32_t file, int64_t line)
{
    if (s->count == STEPS_MAX)
        return;
    s->files[s->count] = file;
    s->steps[s->count++] = (struct fold_frame){.language = language,
                                               .function = symbolize_text(s->z, function),
                                               .module = module,
                                               .file = symbolize_text(s->z, file),
                                               .line = line == CELL_NULL ? 0 : line};
}

/* Writes the functions of a frame, innermost first. */
static void put_frame(struct shown *s, const int64_t *frame)
{
    struct symbolize *z = s->z;
    const int64_t *module = rowset_find(&z->modules, &frame[COL_frame_module]);
    const char *path =
        module ? symbolize_text(z, symbolize_name_number(z, module[COL_module_path])) : "";
    int64_t key[2] = {frame[0], 0}, *level;
    if (frame[COL_frame_kind] == FOLD_NATIVE)
        for (; (level = rowset_find(&z->levels, key)); key[1]++)
            put_step(s, FOLD_NATIVE, path, (uint32_t)level[2], (uint32_t)level[3], level[4]);
    if (!key[1])
        put_step(s, (enum fold_language)frame[COL_frame_kind], path,
                 symbolize_name_number(z, frame[COL_frame_function]),
                 symbolize_name_number(z, frame[COL_frame_file]), frame[COL_frame_line]);
}

static bool is_users_frame(struct shown *s, const int64_t *frame)
{
    uint8_t *is = &s->frames[rowset_index(&s->z->frames, frame)];
    if (*is == UNKNOWN) {
        *is = NOT_USER;
        s->count = 0;
        put_frame(s, frame);
        for (size_t i = 0; i < s->count; i++)
            if (fold_classify(&s->steps[i]) <= FOLD_GENERATED)
                *is = USER;
    }
    return *is == USER;
}

/* Finds the kind of a stack from its frame and its parent's kind, and marks its parent as inner. */
static void judge(struct shown *s, uint32_t i)
{
    const int64_t *stack = s->z->stacks.rows + (size_t)i * s->z->stacks.width;
    const int64_t *parent = rowset_find(&s->z->stacks, &stack[COL_stack_parent]);
    const int64_t *frame = rowset_find(&s->z->frames, &stack[COL_stack_frame]);
    bool user = frame && is_users_frame(s, frame);
    if (parent && parent[0] < stack[0]) {
        uint32_t p = rowset_index(&s->z->stacks, parent);
        s->inner[p] = true;
        user |= s->stacks[p] == USER;
    }
    s->stacks[i] = user ? USER : NOT_USER;
}

/* Marks the file of the line that is shown for this stack as wanted. */
static void show(struct shown *s, const int64_t *stack)
{
    struct symbolize *z = s->z;
    s->count = 0;
    while (stack && s->count < STEPS_MAX && s->left > 0) {
        size_t before = s->count;
        const int64_t *frame = rowset_find(&z->frames, &stack[COL_stack_frame]);
        if (frame)
            put_frame(s, frame);
        s->left -= 1 + (int64_t)(s->count - before);
        const int64_t *parent = rowset_find(&z->stacks, &stack[COL_stack_parent]);
        stack = parent && parent[0] < stack[0] ? parent : NULL;
    }
    size_t at = s->left > 0 ? fold_user(s->steps, s->count) : FOLD_NONE;
    if (at != FOLD_NONE && s->steps[at].line > 0 && s->files[at])
        z->text[s->files[at]].shown = true;
}

int symbolize_show(struct symbolize *z)
{
    const struct rowset *stacks = &z->stacks;
    struct shown *s = mem_zalloc(sizeof *s);
    if (!s)
        return GPUFL_E_NOMEM;
    s->z = z;
    s->left = STEPS_ALL;
    s->frames = mem_zalloc((size_t)z->frames.row_count + 1);
    s->stacks = mem_zalloc((size_t)stacks->row_count + 1);
    s->inner = mem_zalloc(((size_t)stacks->row_count + 1) * sizeof *s->inner);
    bool room = s->frames && s->stacks && s->inner;
    for (uint32_t i = 0; room && i < stacks->row_count; i++)
        judge(s, i);
    for (uint32_t i = 0; room && i < stacks->row_count; i++)
        if (!s->inner[i] && s->stacks[i] == NOT_USER)
            show(s, stacks->rows + (size_t)i * stacks->width);
    mem_free(s->frames);
    mem_free(s->stacks);
    mem_free(s->inner);
    mem_free(s);
    return room ? 0 : GPUFL_E_NOMEM;
}
