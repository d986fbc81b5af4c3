/* marks.c - see marks.h. */
#include "analyze/model/steps/marks.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 1 << 18, NAME_MOST = 200 };

void step_marks_init(struct step_marks *s)
{
    *s = (struct step_marks){0};
    keyed_init(&s->groups, sizeof(struct step_group), offsetof(struct step_group, count),
               GROUPS_MAX);
    keyed_init(&s->said, sizeof(struct step_said), offsetof(struct step_said, group), GROUPS_MAX);
}

void step_marks_fini(struct step_marks *s)
{
    mem_free(s->items);
    keyed_fini(&s->groups);
    keyed_fini(&s->said);
    step_marks_init(s);
}

/* ---- names ------------------------------------------------------------------------------- */

/* Copies the name in lower case, without digits and punctuation at its end. */
static size_t plain(const char *name, char *text)
{
    size_t len = 0;
    for (; name[len] && len < NAME_MOST; len++)
        text[len] = (char)tolower((unsigned char)name[len]);
    while (len && !isalpha((unsigned char)text[len - 1]))
        len--;
    text[len] = '\0';
    return len;
}

static bool ends_with(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && !memcmp(text + len - n, word, n);
}

enum step_word step_word(const char *name)
{
    static const char *const never[] = {"epoch",   "valid", "val_",    "eval", "test", "sanity",
                                        "predict", "warm",  "micro",   "save", "load", "checkpoint",
                                        "fit",     "main",  "schedul", "log"};
    static const char *const steps[] = {"step", "iteration", "iter", "batch"};
    char text[NAME_MOST + 1];
    size_t len = plain(name, text);
    if (!strcmp(text, "profilerstep"))
        return STEP_WORD_PROFILER;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (!len || strstr(text, never[i]))
            return STEP_WORD_NEVER;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (ends_with(text, len, steps[i]))
            return STEP_WORD_STEP;
    return STEP_WORD_ANY;
}

/* Finds what the name says. The name of a step's group has no number at its end. *found is NULL if
 * the scope is not a step. */
static int say(struct step_marks *s, struct intern *names, uint32_t name,
               const struct step_said **found)
{
    struct step_said key = {.name = name};
    uint32_t at;
    bool added;
    int rc = keyed_put(&s->said, &key, &at, &added);
    *found = NULL;
    if (rc || !at)
        return rc;
    struct step_said *said = keyed_at(&s->said, at);
    if (added) {
        size_t len = 0;
        const char *text = intern_text(names, name, &len);
        said->word = text ? step_word(text) : STEP_WORD_NEVER;
        said->group = name;
        while (text && len && isdigit((unsigned char)text[len - 1]))
            len--;
        if (said->word <= STEP_WORD_STEP && len && text[len])
            said->group = intern_id(names, text, len);
    }
    *found = said->word == STEP_WORD_NEVER || !said->group ? NULL : said;
    return 0;
}

/* ---- marks ------------------------------------------------------------------------------- */

/* Drops the groups with most marks until half of the room is free. */
static void drop_most(struct step_marks *s)
{
    size_t left = s->count, kept = 0;
    while (left > STEP_MARKS / 2) {
        struct step_group *most = NULL;
        for (size_t i = 1; i < s->groups.count; i++) {
            struct step_group *g = keyed_at(&s->groups, i);
            if (!g->dropped && (!most || g->count > most->count))
                most = g;
        }
        if (!most)
            break;
        most->dropped = 1;
        left -= most->count;
    }
    for (size_t i = 0; i < s->count; i++)
        if (!((struct step_group *)keyed_at(&s->groups, s->items[i].group))->dropped)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

int step_marks_add(struct step_marks *s, struct intern *names, uint32_t name, uint32_t thread,
                   const int64_t span[2])
{
    struct step_group key = {.thread = thread};
    const struct step_said *said;
    uint32_t at;
    int rc = say(s, names, name, &said);
    if (rc || !said)
        return rc;
    key.name = said->group;
    rc = keyed_put(&s->groups, &key, &at, NULL);
    if (rc || !at || ((struct step_group *)keyed_at(&s->groups, at))->dropped)
        return rc;
    ((struct step_group *)keyed_at(&s->groups, at))->word = said->word;
    if (s->count == STEP_MARKS)
        drop_most(s);
    rc = mem_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items, STEP_MARKS);
    if (rc)
        return rc;
    s->items[s->count++] = (struct step_mark){.start = span[0], .end = span[1], .group = at};
    ((struct step_group *)keyed_at(&s->groups, at))->count++;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct step_mark *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->start != y->start ? (x->start < y->start ? -1 : 1)
                                : (x->end > y->end) - (x->end < y->end);
}

void step_marks_sort(struct step_marks *s)
{
    if (s->count)
        qsort(s->items, s->count, sizeof *s->items, compare);
}
