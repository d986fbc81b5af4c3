/* functions.c - see functions.h: open addressing, doubled at half full.
 *
 * The table is not a struct keyed (base/keyed.h), which compares keys as bytes: the name is part of
 * the key. */
#include "backend/nvidia/record/functions.h"

#include "backend/common/code_copies.h"
#include "backend/nvidia/devices.h"
#include "base/alloc.h"

#include <string.h>

enum { SLOTS_FIRST = 1024 };

void functions_init(struct functions *f)
{
    memset(f, 0, sizeof *f);
}

void functions_fini(struct functions *f)
{
    for (size_t i = 0; i < f->count; i++)
        mem_free(f->items[i].name);
    mem_free(f->items);
    mem_free(f->slots);
    functions_init(f);
}

static uint64_t hash_of(uint64_t crc, uint32_t index)
{
    uint64_t h = crc * 31 + index;
    h = (h ^ h >> 31) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static void put_slot(struct functions *f, uint32_t number)
{
    size_t mask = f->slot_count - 1;
    size_t at = (size_t)hash_of(f->items[number].crc, f->items[number].index) & mask;
    while (f->slots[at])
        at = (at + 1) & mask;
    f->slots[at] = number + 1;
}

static bool grow(struct functions *f)
{
    size_t slots = f->slot_count ? f->slot_count * 2 : SLOTS_FIRST;
    uint32_t *more = mem_array(slots, sizeof *more);
    if (!more)
        return false;
    mem_free(f->slots);
    f->slots = more;
    f->slot_count = slots;
    for (size_t i = 0; i < f->count; i++)
        put_slot(f, (uint32_t)i);
    return true;
}

uint32_t functions_put(struct functions *f, uint64_t crc, uint32_t index, const char *name)
{
    if (f->count * 2 >= f->slot_count && !grow(f))
        return UINT32_MAX;
    name = name ? name : "";
    size_t mask = f->slot_count - 1, at = (size_t)hash_of(crc, index) & mask;
    for (; f->slots[at]; at = (at + 1) & mask) {
        const struct function *known = &f->items[f->slots[at] - 1];
        if (known->crc == crc && known->index == index && strcmp(known->name, name) == 0)
            return f->slots[at] - 1;
    }
    if (mem_grow(&f->items, &f->cap, f->count + 1, sizeof *f->items, FUNCTIONS_MAX))
        return UINT32_MAX;
    char *copy = mem_strdup(name);
    if (!copy)
        return UINT32_MAX;
    f->items[f->count] = (struct function){.crc = crc, .index = index, .name = copy};
    put_slot(f, (uint32_t)f->count);
    return (uint32_t)f->count++;
}

uint32_t functions_define(struct function *f, uint32_t device, struct sink *s, uint64_t *codeless)
{
    const struct code_copy *cubin = code_copies_find(f->crc);
    struct device_row row;
    struct device_text text;
    if (f->defined)
        return f->defined;
    *codeless += !cubin;
    nvidia_device_describe((int)device, &row, &text);
    struct code_object_row object = {.crc = (int64_t)f->crc,
                                     .arch = s->ops->name(s, text.arch),
                                     .size = cubin ? cubin->size : CELL_NULL,
                                     .file = cubin ? cubin->file : 0};
    struct function_row function = {.object = s->ops->define(s, RECORD_code_object, &object),
                                    .name = s->ops->name(s, f->name),
                                    .index = f->index ? f->index : CELL_NULL};
    return f->defined = s->ops->define(s, RECORD_function, &function);
}
