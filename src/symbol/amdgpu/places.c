/* places.c - see places.h. */
#include "symbol/amdgpu/places.h"

#include "symbol/dwarf/dw.h"

#include <stdio.h>

void places_open(struct places *p, const struct elf_file *f)
{
    const struct dw *dw = dw_open(NULL);
    p->known = dw && dwarf_lines_open(&p->lines, dw, f) == 0;
}

void places_close(struct places *p)
{
    if (p->known)
        dwarf_lines_close(&p->lines);
    p->known = false;
}

static void put_place(char *file, const struct dwarf_level *level, struct disassembled_place *out)
{
    bool joined = level->file && *level->file != '/' && level->dir;
    int n = snprintf(file, PLACES_FILE_ROOM, "%s%s%s", joined ? level->dir : "", joined ? "/" : "",
                     level->file ? level->file : "");
    if (n < 0 || n >= PLACES_FILE_ROOM)
        *file = '\0';
    *out = (struct disassembled_place){file, level->line};
}

void places_find(struct places *p, uint64_t address, struct disassembled *d)
{
    struct dwarf_level levels[DWARF_LEVELS];
    size_t n = p->known ? dwarf_lines_find(&p->lines, address, NULL, levels) : 0;
    d->place_count = n < DISASSEMBLE_LEVELS ? n : DISASSEMBLE_LEVELS;
    for (size_t i = 0; i < d->place_count; i++)
        put_place(p->files[i], &levels[i], &d->places[i]);
}
