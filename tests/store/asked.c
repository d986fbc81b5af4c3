/* asked.c - see asked.h. Each chunk of an answer is checked for the rules that hold for every
 * answer. */
#include "asked.h"

#include "wire/event_name.h"

#include "base/alloc.h"

enum { LIMIT = 1 << 20 };

static int param_of(const struct asked *a, const char *name)
{
    const struct store_query_def *d = &store_queries[a->query];
    for (unsigned i = 0; i < d->param_count; i++)
        if (!strcmp(d->params[i].name, name))
            return (int)i;
    return -1;
}

void asked_init(struct asked *a, enum store_query q)
{
    memset(a, 0, sizeof *a);
    a->query = q;
    for (unsigned i = 0; i < STORE_PARAMS_MAX; i++)
        a->args[i].null = true;
    if (param_of(a, "limit") >= 0)
        asked_int(a, "limit", LIMIT);
    if (param_of(a, "offset") >= 0)
        asked_int(a, "offset", 0);
}

void asked_fini(struct asked *a)
{
    for (size_t i = 0; i < a->rows * store_queries[a->query].column_count; i++)
        mem_free(a->cells[i].text);
    mem_free(a->cells);
    a->cells = NULL;
    a->rows = 0;
}

static struct store_value *value_of(struct asked *a, const char *param)
{
    int i = param_of(a, param);
    if (i < 0)
        fail_msg("%s has no parameter %s", store_queries[a->query].id, param);
    a->args[i].null = false;
    return &a->args[i];
}

void asked_int(struct asked *a, const char *param, int64_t v)
{
    value_of(a, param)->i = v;
}

void asked_text(struct asked *a, const char *param, const char *v)
{
    value_of(a, param)->text = (struct store_text){v, strlen(v)};
}

void asked_list(struct asked *a, const char *param, const int64_t *v, size_t n)
{
    struct store_value *value = value_of(a, param);
    value->list = v;
    value->list_count = n;
}

static void take_cell(struct asked_cell *c, const struct store_vec *v, size_t row)
{
    memset(c, 0, sizeof *c);
    c->known = store_known(v, row);
    if (!c->known)
        return;
    if (v->type == STORE_INT)
        c->i = v->ints[row];
    else if (v->type == STORE_REAL)
        c->r = v->reals[row];
    else
        c->text = mem_strndup(v->texts[row].at, c->len = v->texts[row].len);
}

static int take_chunk(void *arg, const struct store_chunk *c)
{
    struct asked *a = arg;
    const struct store_query_def *d = &store_queries[a->query];
    assert_int_equal(c->column_count, d->column_count);
    assert_true(c->rows > 0);
    a->cells = mem_realloc(a->cells, (a->rows + c->rows) * d->column_count * sizeof *a->cells);
    for (size_t i = 0; i < c->rows; i++, a->rows++)
        for (unsigned k = 0; k < d->column_count; k++) {
            assert_int_equal(c->columns[k].type, d->columns[k].type);
            take_cell(&a->cells[a->rows * d->column_count + k], &c->columns[k], i);
        }
    return 0;
}

int asked_try(struct asked *a, struct store_session *ss, struct err *e)
{
    asked_fini(a);
    return suite.ops->query(
        suite.store, &(struct store_question){"w", ss, a->query, a->args},
        &(struct store_visitor){.arg = a, .chunk = take_chunk, .readable = a->readable}, e);
}

void asked_run(struct asked *a, struct store_session *ss)
{
    struct err e = {0};
    int rc = asked_try(a, ss, &e);
    if (rc)
        fail_msg("%s: %s: %s", store_queries[a->query].id, err_name(rc), e.text);
}

const struct asked_cell *asked_cell(const struct asked *a, size_t row, const char *column)
{
    const struct store_query_def *d = &store_queries[a->query];
    assert_true(row < a->rows);
    for (unsigned i = 0; i < d->column_count; i++)
        if (!strcmp(d->columns[i].name, column))
            return &a->cells[row * d->column_count + i];
    fail_msg("%s has no column %s", d->id, column);
    return NULL;
}

int64_t asked_get(const struct asked *a, size_t row, const char *column)
{
    const struct asked_cell *c = asked_cell(a, row, column);
    if (!c->known)
        fail_msg("%s of row %zu is unknown", column, row);
    return c->i;
}

double asked_real(const struct asked *a, size_t row, const char *column)
{
    const struct asked_cell *c = asked_cell(a, row, column);
    assert_true(c->known);
    return c->r;
}

void asked_is_name(const struct asked *a, size_t row, const char *column, const struct fixture *f,
                   int64_t id)
{
    const struct asked_cell *c = asked_cell(a, row, column);
    const char *ours = event_name_text(id);
    if (ours) {
        assert_true(c->known && c->len == strlen(ours));
        assert_memory_equal(c->text, ours, c->len);
        return;
    }
    bool known = id > 0 && (size_t)id < f->name_count && f->names[id].text;
    assert_int_equal(c->known, known);
    if (!known)
        return;
    assert_int_equal(c->len, f->names[id].len);
    assert_memory_equal(c->text, f->names[id].text, c->len);
}
