/* metrics_text.c - see metrics_page.h. */
#include "net/server/metrics_page.h"

void metrics_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_printf(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_put(out, text, 1);
    }
}

void metrics_sample(struct buf *out, const char *name, const struct metrics_label *labels,
                    size_t count, double value)
{
    bool any = false;
    buf_printf(out, "%s", name);
    for (size_t i = 0; i < count; i++) {
        if (!labels[i].value || !*labels[i].value)
            continue;
        buf_printf(out, "%s%s=\"", any ? "," : "{", labels[i].name);
        put_escaped(out, labels[i].value);
        buf_printf(out, "\"");
        any = true;
    }
    buf_printf(out, "%s %.17g\n", any ? "}" : "", value);
}
