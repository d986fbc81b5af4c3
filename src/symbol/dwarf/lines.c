/* lines.c - reads units, their functions, and the inlined calls in these. */
#include "symbol/dwarf/lines.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

#define DEBUG_BYTES_MAX (2ull << 30) /* bytes of all sections: libdw holds them in memory */
#define STEPS_MAX       100000000    /* entries visited: seconds */

enum {
    UNITS_MAX = 1 << 22,
    RANGES_MAX = 1 << 20, /* ranges of an entry */
    HOPS_MAX = 16,        /* steps from a function to the declaration that names it */
    PARENTS_MAX = 64,
    NAME_MAX_BYTES = 4096,
    NAMES_MAX = 1 << 20,
    NAMES_BYTES = 256 << 20,
    FUNCTION_DEPTH = 32, /* depth of namespaces, or of functions in functions */
    BLOCK_DEPTH = 64,    /* depth of blocks in blocks */
};

/* ---- entries --------------------------------------------------------------------------- */

/* Goes to the first child (or, in the next function, to the next sibling), only forward in the
 * file. False: there is none, or the file is damaged. */
static bool first_child(struct dwarf_lines *d, struct dw_die *parent, struct dw_die *child)
{
    return d->steps-- > 0 && d->dw->dwarf_haschildren(parent) == 1 &&
           d->dw->dwarf_child(parent, child) == 0 && (char *)child->addr > (char *)parent->addr;
}

static bool next_sibling(struct dwarf_lines *d, struct dw_die *die)
{
    void *before = die->addr;
    return d->steps-- > 0 && d->dw->dwarf_siblingof(die, die) == 0 &&
           (char *)die->addr > (char *)before;
}

static const char *text_of(const struct dwarf_lines *d, struct dw_die *die, unsigned at)
{
    struct dw_attr a;
    const char *text = d->dw->dwarf_attr(die, at, &a) ? d->dw->dwarf_formstring(&a) : NULL;
    return text && *text ? text : NULL;
}

static uint64_t number_of(const struct dwarf_lines *d, struct dw_die *die, unsigned at)
{
    struct dw_attr a;
    uint64_t v;
    return d->dw->dwarf_attr(die, at, &a) && d->dw->dwarf_formudata(&a, &v) == 0 ? v : 0;
}

static bool refers(const struct dwarf_lines *d, struct dw_die *die, unsigned at,
                   struct dw_die *target)
{
    struct dw_attr a;
    return d->dw->dwarf_attr(die, at, &a) && d->dw->dwarf_formref_die(&a, target);
}

/* Returns the size in bytes of the entry's range around an address; 0: no range has it. */
static uint64_t range_around(struct dwarf_lines *d, struct dw_die *die, uint64_t address)
{
    uint64_t base, begin, end;
    ptrdiff_t at = 0;
    for (int i = 0; i < RANGES_MAX; i++) {
        at = d->dw->dwarf_ranges(die, at, &base, &begin, &end);
        if (at <= 0)
            break;
        d->steps--;
        if (begin <= address && address < end)
            return end - begin;
    }
    return 0;
}

/* Adds an entry's ranges. Ranges at address 0 are those of code that the linker dropped. */
static int add_ranges(struct dwarf_lines *d, struct address_map *m, struct dw_die *die, void *value)
{
    uint64_t base, begin, end;
    ptrdiff_t at = 0;
    int rc = 0;
    for (int i = 0; i < RANGES_MAX && !rc && d->steps-- > 0; i++) {
        at = d->dw->dwarf_ranges(die, at, &base, &begin, &end);
        if (at <= 0)
            break;
        if (begin)
            rc = address_map_add(m, begin, end, value);
    }
    return rc;
}

/* ---- names ----------------------------------------------------------------------------- */

/* Returns the name of an entry as a scope of entries inside it, in the form of the demangler; NULL:
 * it is not a scope with a name. */
static const char *scope_name(struct dwarf_lines *d, struct dw_die *die, const char *inside)
{
    const char *name = text_of(d, die, DW_AT_NAME);
    switch (d->dw->dwarf_tag(die)) {
    case DW_TAG_NAMESPACE:
        return name ? name : "(anonymous namespace)";
    case DW_TAG_CLASS:
    case DW_TAG_STRUCTURE:
    case DW_TAG_UNION:
        return name ? name : strcmp(inside, "operator()") ? "'unnamed'" : "'lambda'";
    case DW_TAG_SUBPROGRAM:
    case DW_TAG_MODULE:
        return name;
    default:
        return NULL;
    }
}

/* Replaces *die by the child that is the target or contains it; false: there is none. */
static bool step_towards(struct dwarf_lines *d, struct dw_die *die, const void *target)
{
    struct dw_die child, last;
    if (!first_child(d, die, &child) || (char *)child.addr > (const char *)target)
        return false;
    do
        last = child;
    while ((const char *)last.addr < (const char *)target && next_sibling(d, &child) &&
           (const char *)child.addr <= (const char *)target);
    *die = last;
    return true;
}

/* Finds the declaration to which a function's code refers: it shows the scopes. */
static bool declaration(struct dwarf_lines *d, struct dw_die *die, struct dw_die *declared)
{
    return refers(d, die, DW_AT_ABSTRACT_ORIGIN, declared) ||
           refers(d, die, DW_AT_SPECIFICATION, declared);
}

/* Puts the names of the scopes that an entry is declared in, each with "::"; false: the entry was
 * not found. inside: the entry's name. */
static bool put_scopes(struct dwarf_lines *d, struct dw_die *die, const char *inside,
                       struct buf *out, int hop)
{
    struct dw_die at, declared;
    const char *name;
    if (!d->dw->dwarf_diecu(die, &at, NULL, NULL))
        return false;
    for (int depth = 0; depth < PARENTS_MAX && step_towards(d, &at, die->addr); depth++) {
        if (at.addr == die->addr)
            return true;
        name = scope_name(d, &at, inside);
        if (d->dw->dwarf_tag(&at) == DW_TAG_SUBPROGRAM && hop < HOPS_MAX &&
            declaration(d, &at, &declared)) {
            buf_clear(out);
            name = text_of(d, &declared, DW_AT_NAME);
            if (name && !put_scopes(d, &declared, name, out, hop + 1))
                return false;
        }
        if (name) {
            buf_str(out, name);
            buf_str(out, "::");
        }
    }
    return false;
}

static bool has_scopes(struct dwarf_lines *d, struct dw_die *die)
{
    struct dw_die unit;
    switch (d->dw->dwarf_diecu(die, &unit, NULL, NULL) ? number_of(d, &unit, DW_AT_LANGUAGE) : 0) {
    case DW_LANG_ISO_C89:
    case DW_LANG_PLAIN_C:
    case DW_LANG_ISO_C99:
    case DW_LANG_ISO_C11:
    case DW_LANG_ISO_C17:
        return false;
    default:
        return true;
    }
}

/* Returns the entry's name with its scopes before it. Finding the scopes takes a walk through the
 * unit, so the last names are remembered. */
static const char *qualified_name(struct dwarf_lines *d, struct dw_die *die, const char *name)
{
    size_t slot = ((uintptr_t)die->addr * 0x9e3779b97f4a7c15u >> 32) % DWARF_NAMES;
    struct buf out;
    uint32_t id = 0;
    if (d->lately[slot].die == die->addr)
        return d->lately[slot].name;
    if (!has_scopes(d, die))
        return name;
    buf_init(&out, NAME_MAX_BYTES);
    if (put_scopes(d, die, name, &out, 0)) {
        buf_str(&out, name);
        id = buf_error(&out) ? 0 : intern_id(d->names, out.data, out.len);
    }
    buf_fini(&out);
    d->lately[slot].die = die->addr;
    d->lately[slot].name = id ? intern_text(d->names, id, NULL) : name;
    return d->lately[slot].name;
}

/* Returns a function's name: its linkage name, from any entry between the code and the declaration;
 * else `named`, if that is mangled; else the name with its scopes. */
static const char *function_name(struct dwarf_lines *d, const struct dw_die *function,
                                 const char *named)
{
    struct dw_die die = *function, next, namer = die;
    const char *name = NULL;
    for (int hop = 0; hop < HOPS_MAX; hop++) {
        const char *linkage = text_of(d, &die, DW_AT_LINKAGE_NAME);
        if (!linkage)
            linkage = text_of(d, &die, DW_AT_MIPS_LINKAGE_NAME);
        if (linkage)
            return linkage;
        const char *own = text_of(d, &die, DW_AT_NAME);
        if (own)
            name = own;
        namer = die;
        if (!declaration(d, &die, &next))
            break;
        die = next;
    }
    if (named && (!name || !strncmp(named, "_Z", 2)))
        return named;
    return name ? qualified_name(d, &namer, name) : NULL;
}

/* ---- functions of a unit --------------------------------------------------------------- */

static bool may_hold_functions(int tag, bool deep)
{
    switch (tag) {
    case DW_TAG_NAMESPACE:
    case DW_TAG_MODULE:
        return true;
    case DW_TAG_CLASS:
    case DW_TAG_STRUCTURE:
    case DW_TAG_UNION:
    case DW_TAG_SUBPROGRAM:
    case DW_TAG_LEXICAL_BLOCK:
        return deep;
    default:
        return false;
    }
}

static int add_functions(struct dwarf_lines *d, struct dwarf_unit *u, struct dw_die *parent,
                         int depth)
{
    struct dw_die die;
    int rc = 0;
    if (depth == FUNCTION_DEPTH || !first_child(d, parent, &die))
        return 0;
    do {
        int tag = d->dw->dwarf_tag(&die);
        if (tag == DW_TAG_SUBPROGRAM)
            rc = add_ranges(d, &u->functions, &die, die.addr);
        if (!rc && may_hold_functions(tag, u->deep))
            rc = add_functions(d, u, &die, depth + 1);
    } while (!rc && next_sibling(d, &die));
    return rc;
}

/* Reads a unit's functions. If memory runs out, or a limit is reached, some addresses have no
 * function. */
static void read_functions(struct dwarf_lines *d, struct dwarf_unit *u, bool deep)
{
    struct dw_die split = {0};
    uint8_t type = 0;
    if (!u->read && d->dw->dwarf_cu_info(u->die.unit, NULL, &type, NULL, NULL, NULL, NULL, NULL))
        type = 0;
    if (!u->read)
        u->tree = u->die;
    if (!u->read && type == DW_UNIT_SKELETON &&
        !d->dw->dwarf_cu_info(u->die.unit, NULL, NULL, NULL, &split, NULL, NULL, NULL) &&
        split.addr)
        u->tree = split;
    if (!u->read)
        u->lacks = type == DW_UNIT_SKELETON && !split.addr;
    address_map_fini(&u->functions);
    u->read = true;
    u->deep = deep;
    struct dw_die root = u->tree;
    (void)add_functions(d, u, &root, 0);
    address_map_settle(&u->functions);
}

/* Finds the function around an address. Functions in functions are searched only if no other
 * function has the address, because that visits the whole unit. */
static bool find_function(struct dwarf_lines *d, struct dwarf_unit *u, uint64_t address,
                          struct dw_die *function)
{
    for (int pass = 0; pass < 2; pass++) {
        if (!u->read || (pass && !u->deep))
            read_functions(d, u, pass > 0);
        size_t at = SIZE_MAX;
        const struct address_range *r = address_map_next(&u->functions, address, &at);
        if (r) {
            *function = (struct dw_die){.addr = r->value, .unit = u->tree.unit};
            return true;
        }
    }
    return false;
}

/* ---- an address ------------------------------------------------------------------------ */

/* Holds the entry around an address, inside another entry. */
struct inside {
    struct dw_die die;
    uint64_t size; /* bytes of the range; 0: none found */
    int tag;       /* INLINED or SUBPROGRAM */
};

/* Finds the outermost inlined call or function around an address, also inside blocks. Optimizers
 * may leave several: the one with the smallest range is taken. */
static void look_inside(struct dwarf_lines *d, struct dw_die *parent, uint64_t address,
                        struct inside *best, int depth)
{
    struct dw_die child;
    if (depth == BLOCK_DEPTH || !first_child(d, parent, &child))
        return;
    do {
        int tag = d->dw->dwarf_tag(&child);
        if (tag != DW_TAG_INLINED && tag != DW_TAG_LEXICAL_BLOCK && tag != DW_TAG_SUBPROGRAM)
            continue;
        uint64_t size = range_around(d, &child, address);
        if (size && tag == DW_TAG_LEXICAL_BLOCK)
            look_inside(d, &child, address, best, depth + 1);
        else if (size && (!best->size || size < best->size))
            *best = (struct inside){child, size, tag};
    } while (next_sibling(d, &child));
}

/* Finds the function and the inlined calls around an address, outermost first; 0: too deep. */
static size_t find_chain(struct dwarf_lines *d, uint64_t address, struct dw_die *chain)
{
    struct inside in = {.die = chain[0], .size = 1};
    size_t n = 1;
    for (int depth = 0; depth < 2 * DWARF_LEVELS; depth++) {
        struct dw_die parent = in.die;
        in.size = 0;
        look_inside(d, &parent, address, &in, 0);
        if (!in.size)
            return n;
        n = in.tag == DW_TAG_SUBPROGRAM ? 0 : n;
        if (n == DWARF_LEVELS)
            return 0;
        chain[n++] = in.die;
    }
    return 0;
}

static void put_line(struct dwarf_lines *d, struct dwarf_unit *u, uint64_t address,
                     struct dwarf_level *level)
{
    struct dw_line *line = d->dw->dwarf_getsrc_die(&u->die, address);
    int number = 0;
    if (!line || d->dw->dwarf_lineno(line, &number) || number <= 0)
        return;
    level->file = d->dw->dwarf_linesrc(line, NULL, NULL);
    level->dir = text_of(d, &u->die, DW_AT_COMP_DIR);
    level->line = level->file ? number : 0;
}

/* Writes where an inlined function was called. */
static void put_call(struct dwarf_lines *d, struct dwarf_unit *u, struct dw_die *call,
                     struct dwarf_level *level)
{
    struct dw_files *files;
    size_t count;
    uint64_t file = number_of(d, call, DW_AT_CALL_FILE), line = number_of(d, call, DW_AT_CALL_LINE);
    if (!line || line > INT32_MAX || d->dw->dwarf_getsrcfiles(&u->tree, &files, &count) ||
        file >= count)
        return;
    level->file = d->dw->dwarf_filesrc(files, file, NULL, NULL);
    level->dir = text_of(d, &u->die, DW_AT_COMP_DIR);
    level->line = level->file ? (int64_t)line : 0;
}

static size_t find_in(struct dwarf_lines *d, struct dwarf_unit *u, uint64_t address,
                      const char *named, struct dwarf_level *levels)
{
    struct dw_die chain[DWARF_LEVELS];
    bool found = find_function(d, u, address, &chain[0]);
    size_t n = found ? find_chain(d, address, chain) : 0;
    memset(levels, 0, (n ? n : 1) * sizeof *levels);
    put_line(d, u, address, &levels[0]);
    for (size_t i = 0; i < n; i++) {
        size_t from = n - 1 - i; /* in the chain */
        levels[i].function = function_name(d, &chain[from], from ? NULL : named);
        if (i)
            put_call(d, u, &chain[from + 1], &levels[i]);
    }
    if (!n && levels[0].line) {
        levels[0].function = found || u->lacks ? NULL : named;
        levels[0].split = !found && u->lacks;
    }
    return n ? n : levels[0].line != 0;
}

size_t dwarf_lines_find(struct dwarf_lines *d, uint64_t address, const char *named,
                        struct dwarf_level levels[DWARF_LEVELS])
{
    const struct address_range *r;
    size_t at = SIZE_MAX, n = 0;
    while (!n && d->steps > 0 && (r = address_map_next(&d->extents, address, &at)))
        n = find_in(d, r->value, address, named, levels);
    return d->steps > 0 ? n : 0;
}

/* ---- open and close -------------------------------------------------------------------- */

static int read_units(struct dwarf_lines *d)
{
    struct dw_unit *unit = NULL;
    struct dw_die die;
    int rc = 0;
    while (!rc && d->steps-- > 0 &&
           d->dw->dwarf_get_units(d->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        int tag = die.addr ? d->dw->dwarf_tag(&die) : 0;
        if (tag != DW_TAG_COMPILE_UNIT && tag != DW_TAG_SKELETON_UNIT)
            continue;
        rc = mem_grow(&d->units, &d->unit_cap, d->unit_count + 1, sizeof *d->units, UNITS_MAX);
        if (!rc)
            d->units[d->unit_count++] = (struct dwarf_unit){.die = die};
    }
    return rc;
}

/* Adds a unit. If it has no ranges of its own, those of its functions are used. */
static int add_unit(struct dwarf_lines *d, struct dwarf_unit *u)
{
    size_t before = d->extents.count;
    int rc = add_ranges(d, &d->extents, &u->die, u);
    if (rc || d->extents.count > before)
        return rc;
    read_functions(d, u, false);
    for (size_t i = 0; i < u->functions.count && !rc; i++)
        rc =
            address_map_add(&d->extents, u->functions.items[i].begin, u->functions.items[i].end, u);
    return rc;
}

int dwarf_lines_open(struct dwarf_lines *d, const struct dw *dw, const struct elf_file *f)
{
    memset(d, 0, sizeof *d);
    d->dw = dw;
    int rc = debug_image_open(&d->image, f, DEBUG_BYTES_MAX);
    if (rc)
        return rc;
    d->steps = STEPS_MAX;
    d->elf = dw->elf_memory(d->image.base, d->image.size);
    d->dwarf = d->elf ? dw->dwarf_begin_elf(d->elf, DW_READ, NULL) : NULL;
    rc = d->dwarf ? intern_open(&d->names, NAMES_MAX, NAMES_BYTES) : GPUFL_E_CORRUPT;
    rc = rc ? rc : read_units(d);
    for (size_t i = 0; i < d->unit_count && !rc; i++)
        rc = add_unit(d, &d->units[i]);
    address_map_settle(&d->extents);
    if (!rc && !d->extents.count)
        rc = GPUFL_E_NOENT;
    if (rc)
        dwarf_lines_close(d);
    return rc;
}

void dwarf_lines_close(struct dwarf_lines *d)
{
    for (size_t i = 0; i < d->unit_count; i++)
        address_map_fini(&d->units[i].functions);
    mem_free(d->units);
    address_map_fini(&d->extents);
    if (d->names)
        intern_close(d->names);
    if (d->dwarf)
        d->dw->dwarf_end(d->dwarf);
    if (d->elf)
        d->dw->elf_end(d->elf);
    debug_image_close(&d->image);
    memset(d, 0, sizeof *d);
}
