/* rows.c - writes rows with meta_json; see rows.h. */
#include "server/request/rows.h"

void rows_send(struct call *c, enum meta_row_id row, const void *rows, size_t count,
               const char *next)
{
    struct json_out j;
    const char *at = rows;
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_array(&j, "rows");
    for (size_t i = 0; i < count; i++, at += meta_rows[row].size) {
        if (i)
            buf_char(&j.buf, ',');
        meta_json(&j.buf, row, at);
    }
    json_out_close_array(&j);
    if (next)
        json_out_text(&j, "next", next);
    else
        json_out_null(&j, "next");
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}

void rows_send_one(struct call *c, enum meta_row_id row, const void *from)
{
    struct json_out j;
    call_json(c, &j);
    meta_json(&j.buf, row, from);
    call_json_send(c, &j, 200);
}

void rows_list_begin(struct rows_list *l, struct call *c)
{
    *l = (struct rows_list){.c = c};
    region_init(&l->mem, ROWS_MEMORY);
    l->ask = call_ask(c, &l->mem, &l->e);
}

void rows_list_end(struct rows_list *l, int rc, enum meta_row_id row, const void *rows,
                   const char *next)
{
    if (rc)
        call_fail(l->c, rc, "list", &l->e);
    else
        rows_send(l->c, row, rows, l->count, next);
    region_fini(&l->mem);
}
