/* sections.c - reads the list of sections in options.sections: names with commas between them. */
#include "analyze/report/report.h"

#include <string.h>

enum { NAMES_MAX = 300 };

bool report_has_sections(const struct report *r)
{
    return r->options.sections && *r->options.sections;
}

/* Finds the next name of a list, and what follows it. Returns the name's length; 0 at the end. */
static size_t next_name(const char **list, const char **name)
{
    *name = *list + strspn(*list, ", ");
    size_t len = strcspn(*name, ", ");
    *list = *name + len;
    return len;
}

static bool is_name(const char *name, size_t len, const char *of)
{
    return strlen(of) == len && memcmp(name, of, len) == 0;
}

bool report_has_section(const struct report *r, const char *name)
{
    const char *list = r->options.sections, *at;
    for (size_t len; (len = next_name(&list, &at)) > 0;)
        if (is_name(at, len, name))
            return true;
    return false;
}

static bool is_known(const char *name, size_t len, const char *(*section)(size_t i))
{
    for (size_t i = 0; section(i); i++)
        if (is_name(name, len, section(i)))
            return true;
    return false;
}

int report_check_sections(const struct gpufl_report_options *o, struct err *e)
{
    bool json = o->format == GPUFL_REPORT_JSON;
    const char *(*section)(size_t) = json ? report_json_section : report_text_section;
    const char *list = o->sections ? o->sections : "", *name;
    char all[NAMES_MAX];
    int at = 0;
    size_t len;
    while ((len = next_name(&list, &name)) > 0 && is_known(name, len, section))
        ;
    if (!len)
        return 0;
    len = len < 40 ? len : 40;
    if (json)
        return err_set(e, GPUFL_E_INVAL, "no member '%.*s'; docs/report.md has the keys of JSON",
                       (int)len, name);
    for (size_t i = 0; section(i) && at < NAMES_MAX; i++)
        at += snprintf(all + at, NAMES_MAX - (size_t)at, "%s%s", i ? ", " : "", section(i));
    return err_set(e, GPUFL_E_INVAL, "no section '%.*s'; there are: %s", (int)len, name, all);
}
