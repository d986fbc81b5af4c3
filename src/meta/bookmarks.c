/* bookmarks.c - keeps ranges of a session's time that users marked, with notes. [any] */
#include "meta/inside.h"

int meta_bookmark_add(struct meta *m, const char *workspace, const struct meta_bookmark *b,
                      struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_bookmark, b);
    return meta_change(m, workspace, META_S_bookmark_add, &a, NULL, e);
}

int meta_bookmark_list(const struct meta_ask *ask, const char *session, struct meta_bookmark **rows,
                       size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    return meta_list(ask, META_S_bookmark_list, &a, META_ROW_bookmark, rows, count);
}

int meta_bookmark_note(struct meta *m, const char *workspace, const struct meta_bookmark *b,
                       struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, b->session);
    meta_arg_text(&a, b->id);
    meta_arg_text(&a, b->note);
    return meta_change_one(m, workspace, META_S_bookmark_note, &a, "bookmark", e);
}

int meta_bookmark_remove(struct meta *m, const char *workspace, const char *session, const char *id,
                         struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    meta_arg_text(&a, id);
    return meta_change_one(m, workspace, META_S_bookmark_remove, &a, "bookmark", e);
}
