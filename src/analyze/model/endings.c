/* endings.c - see endings.h. The texts come from symbolize/ending.c. A text of another version of
 * it is quoted. */
#include "analyze/model/endings.h"

#include "base/intern.h"

#include <string.h>

void endings_add(struct endings *e, uint32_t text, unsigned sessions)
{
    size_t i = 0;
    while (i < e->count && e->items[i].text != text)
        i++;
    if (i == ENDINGS_MOST)
        return;
    if (i == e->count)
        e->items[e->count++].text = text;
    e->items[i].sessions += sessions;
}

void endings_merge(struct endings *into, const struct endings *from)
{
    for (size_t i = 0; i < from->count; i++)
        endings_add(into, from->items[i].text, from->items[i].sessions);
}

/* Says how a text begins for a single session, and for one or several sessions in a list. */
static const struct {
    const char *text, *one, *several;
} forms[] = {
    {"the program was ended ", "process was ended ", "processes were ended "},
    {"the program ended ", "process ended ", "processes ended "},
    {"the process is over, and ran no exit handler: it called",
     "process is over, and ran no exit handler: it called",
     "processes are over, and ran no exit handler: each called"},
    {"the session ended, and its log could", "session ended, and its log could",
     "sessions ended, and their logs could"},
};

static void say_one(const char *text, unsigned n, struct buf *out)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t len = strlen(forms[i].text);
        if (strncmp(text, forms[i].text, len) == 0) {
            buf_printf(out, "%u %s%s", n, n == 1 ? forms[i].one : forms[i].several, text + len);
            return;
        }
    }
    buf_printf(out, "%u session%s: %s", n, n == 1 ? "" : "s", text);
}

void endings_say(const struct endings *e, struct intern *names, unsigned unclean, struct buf *out)
{
    unsigned said = 0;
    for (size_t i = 0; i < e->count; i++) {
        buf_str(out, i ? "; " : "");
        say_one(intern_text(names, e->items[i].text, NULL), e->items[i].sessions, out);
        said += e->items[i].sessions;
    }
    if (said < unclean)
        buf_printf(out, "%s%u %s killed, crashed or still running", said ? "; " : "",
                   unclean - said, unclean - said == 1 ? "was" : "were");
}
