/* session_list.c - makes lists of sessions: filtered, sorted, in pages; and the values by which
 * they can be filtered. There is one statement for each order, ascending and descending
 * (META_SESSION_SORTS).
 */
#include "meta/inside.h"

#include <string.h>

struct sort {
    enum meta_statement_id down, up;
    enum meta_kind kind;
};

static const struct sort SORTS[META_SORT_COUNT] = {
#define X(key, expression, type)                                                                   \
    {META_S_session_page_##key##_down, META_S_session_page_##key##_up, META_KIND_##type},
    META_SESSION_SORTS(X)
#undef X
};

/* Returns the value by which a list is sorted, as the expressions of META_SESSION_SORTS compute
 * it. */
static struct meta_value sort_key(enum meta_session_sort sort, const struct meta_session *s)
{
    struct meta_value v = {.kind = SORTS[sort].kind, .at = ""};
    switch (sort) {
    case META_SORT_started:
        v.i = s->started;
        break;
    case META_SORT_duration:
        v.i = (s->ended > 0 ? s->ended : s->received) - s->started;
        break;
    case META_SORT_kernels:
        v.i = s->kernels == META_NONE ? -1 : s->kernels;
        break;
    case META_SORT_records:
        v.i = s->records;
        break;
    case META_SORT_bytes:
        v.i = s->bytes;
        break;
    case META_SORT_busy:
        v.r = isnan(s->busy) ? -1 : s->busy;
        break;
    case META_SORT_app:
        v.at = s->app;
        break;
    case META_SORT_host:
        v.at = s->host;
        break;
    case META_SORT_COUNT:
        break;
    }
    v.len = strlen(v.at);
    return v;
}

/* Adds parameters ?2 to ?15 of SESSION_FILTER. */
static void filter(struct meta_args *a, const struct meta_session_query *q)
{
    meta_arg_text(a, q->app);
    meta_arg_text(a, q->host);
    meta_arg_text(a, q->engine);
    meta_arg_text(a, q->state);
    meta_arg_text(a, q->account);
    meta_arg_int(a, q->from);
    meta_arg_int(a, q->to ? q->to : INT64_MAX);
    meta_arg_text(a, q->gpu);
    meta_arg_text(a, q->label);
    meta_arg_text(a, q->label_value);
    meta_arg_words(a, q->text);
}

/* Adds four parameters, NULL if there are fewer words; their texts are in the args. */
void meta_arg_words(struct meta_args *a, const char *text)
{
    size_t used = 0;
    if (text && strlen(text) >= sizeof a->words) {
        if (!a->error.code)
            err_set(&a->error, GPUFL_E_INVAL, "a search has at most %zu bytes",
                    sizeof a->words - 1);
        text = NULL;
    }
    for (unsigned i = 0; i < META_WORDS_MAX; i++) {
        size_t skip = text ? strspn(text, " \t\r\n") : 0;
        size_t len = text ? strcspn(text + skip, " \t\r\n") : 0;
        if (len == 0) {
            meta_arg_text(a, NULL);
            continue;
        }
        char *word = a->words + used;
        memcpy(word, text + skip, len);
        word[len] = '\0';
        meta_lower(word, len);
        meta_arg_text(a, word);
        used += len + 1;
        text += skip + len;
    }
}

int meta_session_list(const struct meta_ask *ask, const struct meta_session_query *q,
                      struct meta_page *page, struct meta_session **rows, size_t *count)
{
    if ((unsigned)q->sort >= META_SORT_COUNT)
        return err_set(ask->e, GPUFL_E_INVAL, "no such order of sessions");
    const struct sort *sort = &SORTS[q->sort];
    struct meta_args a = {0};
    filter(&a, q);
    struct meta_cursor *c = NULL;
    int rc = meta_page_begin(ask, page, sort->kind, q->ascending, &c);
    if (rc)
        return rc;
    a.v[a.n++] = c->key;
    meta_arg_text(&a, c->id);
    meta_arg_int(&a, meta_page_limit(page->limit) + 1);
    rc = meta_list(ask, q->ascending ? sort->up : sort->down, &a, META_ROW_session, rows, count);
    if (rc || !meta_page_more(page, count))
        return rc;
    const struct meta_session *last = &(*rows)[*count - 1];
    const struct meta_value key = sort_key(q->sort, last);
    return meta_page_end(ask, page, &key, last->id, 0);
}

int meta_session_count(struct meta *m, const char *workspace, const struct meta_session_query *q,
                       int64_t *count, struct err *e)
{
    struct meta_args a = {0};
    filter(&a, q);
    return meta_number(m, workspace, META_S_session_count, &a, count, e);
}

int meta_session_names(const struct meta_ask *ask, enum meta_by by, unsigned limit,
                       struct meta_name_count **rows, size_t *count)
{
    static const enum meta_statement_id statements[META_BY_COUNT] = {
        [META_BY_APP] = META_S_session_names_app,
        [META_BY_HOST] = META_S_session_names_host,
        [META_BY_GPU] = META_S_session_names_gpu,
        [META_BY_ENGINE] = META_S_session_names_engine,
    };
    struct meta_args a = {0};
    if ((unsigned)by >= META_BY_COUNT)
        return err_set(ask->e, GPUFL_E_INVAL, "no such grouping of sessions");
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_list(ask, statements[by], &a, META_ROW_name_count, rows, count);
}

int meta_session_silent(const struct meta_ask *ask, int64_t since, struct meta_session **rows,
                        size_t *count)
{
    struct meta_args a = {0};
    meta_arg_int(&a, since);
    return meta_list(ask, META_S_session_silent, &a, META_ROW_session, rows, count);
}

int meta_session_oldest(const struct meta_ask *ask, int64_t before, unsigned limit,
                        struct meta_session **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_int(&a, before);
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_list(ask, META_S_session_oldest, &a, META_ROW_session, rows, count);
}

int meta_session_bytes(struct meta *m, const char *workspace, int64_t *bytes, struct err *e)
{
    return meta_number(m, workspace, META_S_session_bytes, NULL, bytes, e);
}
