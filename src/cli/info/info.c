/* info.c - `gpufl info`: shows what this machine has and what can be captured here.
 *
 * The facts are the backends' own (backend.h, probe): this file only prints them in columns or as
 * JSON, so that they are what a capture will find. Called by one thread only. */
#include "cli/cmd.h"

#include "analyze/common/words.h"
#include "backend/backend.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/packed/ungz.h"
#include "capture/options/options.h"
#include "cli/info/engines.h"
#include "cli/info/metrics.h"
#include "cli/info/summary.h"
#include "cli/trace/program/place.h"
#include "symbol/device/disassembler.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { OUTPUT_MAX = 8 << 20, DEVICES_MAX = 256, DOC_INDENT = 6, NAME_COLUMNS = 22 };

static const struct cmd_text text = {
    .name = "info",
    .synopsis = "[--json] [--engines | --metrics | --options]\n",
    .about = "Shows what can be captured on this machine: GPUs, driver, CUPTI, and which\n"
             "engines work. Where something is missing, it says what to do.\n",
    .more = "Examples:\n"
            "  gpufl info             what works here, and what to do\n"
            "  gpufl info --json      the same for a program, and the tables of --engines\n"
            "  gpufl info --engines   what each engine records, needs, excludes and costs\n"
            "  gpufl info --metrics   the hardware counters of this machine's GPUs\n"
            "  gpufl info --options   every option of the capture library\n",
};

/* Lists the texts of a device, by the column of the device record that refers to them. */
static const struct {
    const char *column;
    size_t offset; /* in struct device_text */
} device_texts[] = {
    {"name", offsetof(struct device_text, name)},
    {"uuid", offsetof(struct device_text, uuid)},
    {"vendor", offsetof(struct device_text, vendor)},
    {"pci", offsetof(struct device_text, pci)},
    {"arch", offsetof(struct device_text, arch)},
    {"driver", offsetof(struct device_text, driver)},
};

static const char *device_text_of(const struct device_text *t, const char *column)
{
    for (size_t i = 0; i < sizeof device_texts / sizeof device_texts[0]; i++)
        if (strcmp(device_texts[i].column, column) == 0)
            return (const char *)t + device_texts[i].offset;
    return "";
}

/* ---- devices ----------------------------------------------------------------------------- */

/* Writes every column of the device record that the driver answered, except the session's id. */
static void device_json(struct buf *b, const struct device_row *row, const struct device_text *t)
{
    const struct record *r = &records[RECORD_device];
    const char *separator = "";
    buf_char(b, '{');
    for (unsigned i = COL_device_id + 1; i < r->column_count; i++) {
        int64_t cell = ((const int64_t *)row)[i];
        const struct column *c = &r->columns[i];
        const char *value = c->ref == RECORD_name ? device_text_of(t, c->name) : NULL;
        if (value ? !*value : cell == CELL_NULL)
            continue;
        buf_printf(b, "%s\"%s\":", separator, c->name);
        if (value)
            buf_json_str(b, value);
        else
            buf_i64(b, cell);
        separator = ",";
    }
    buf_char(b, '}');
}

static void device_line(struct buf *b, const struct device_row *row, const struct device_text *t)
{
    buf_printf(b, "  GPU %" PRId64 "  %s", row->index, *t->name ? t->name : "(no name)");
    if (row->memory_total != CELL_NULL)
        buf_printf(b, ", %.1f GiB", (double)row->memory_total / (1 << 30));
    const struct words *w = words_of_device(t->vendor, t->arch);
    if (row->sm_count != CELL_NULL)
        buf_printf(b, ", %" PRId64 " %s", row->sm_count, w ? w->sms : words_of("")->sms);
    if (*t->arch)
        buf_printf(b, ", %s", t->arch);
    if (*t->pci)
        buf_printf(b, ", %s", t->pci);
    buf_printf(b, "\n         %s\n", t->uuid);
}

/* Appends the devices of a backend, in JSON or as lines. */
static void put_devices(struct buf *b, const struct backend *backend, bool json)
{
    struct devices *d = NULL;
    struct err e = {0};
    if (!backend->devices)
        return;
    if (backend->devices->open(&d, &e)) {
        if (!json)
            buf_printf(b, "  devices: %s\n", e.text);
        return;
    }
    int count = backend->devices->count(d);
    const char *separator = "";
    for (int i = 0; i < count && i < DEVICES_MAX; i++) {
        struct device_row row = {0};
        struct device_text t = {0};
        if (backend->devices->describe(d, i, &row, &t))
            continue;
        row.index = i;
        if (json) {
            buf_str(b, separator);
            device_json(b, &row, &t);
            separator = ",";
        } else {
            device_line(b, &row, &t);
        }
    }
    backend->devices->close(d);
}

/* ---- facts ------------------------------------------------------------------------------- */

/* Says how text is printed: colours and columns of the terminal. */
struct look {
    bool color;
    int width;
};

static void put_facts_text(struct buf *b, const struct probe *p, const struct look *look)
{
    for (int i = 0; i < p->fact_count; i++) {
        const struct probe_fact *f = &p->facts[i];
        const char *mark = f->works ? "ok" : "no";
        const char *paint = !look->color ? "" : f->works ? "\033[32m" : "\033[31m";
        buf_printf(b, "  %s%s%s  %-*s ", paint, mark, look->color ? "\033[0m" : "", NAME_COLUMNS,
                   f->name);
        cmd_wrap(b, f->value, DOC_INDENT + NAME_COLUMNS + 1, look->width);
        if (f->works || !*f->advice)
            continue;
        buf_printf(b, "%*s", DOC_INDENT, "");
        cmd_wrap(b, f->advice, DOC_INDENT, look->width);
    }
}

static void put_facts_json(struct buf *b, const struct probe *p)
{
    for (int i = 0; i < p->fact_count; i++) {
        const struct probe_fact *f = &p->facts[i];
        buf_printf(b, "%s{\"name\":", i ? "," : "");
        buf_json_str(b, f->name);
        buf_printf(b, ",\"works\":%s,\"value\":", f->works ? "true" : "false");
        buf_json_str(b, f->value);
        buf_str(b, ",\"advice\":");
        buf_json_str(b, f->advice);
        buf_char(b, '}');
    }
}

/* Writes a backend. look: NULL for JSON. */
static void put_backend(struct buf *b, const struct backend *backend, const struct look *look)
{
    struct probe p = {0};
    backend->probe(&p);
    if (!look) {
        buf_printf(b, "{\"name\":\"%s\",\"simulated\":%s,\"usable\":%s,\"facts\":[", backend->name,
                   backend->simulated ? "true" : "false", p.usable ? "true" : "false");
        put_facts_json(b, &p);
        buf_str(b, "],\"devices\":[");
        if (p.usable)
            put_devices(b, backend, true);
        buf_str(b, "]}");
        return;
    }
    buf_printf(b, "\n%s%s: %s\n", backend->name, backend->simulated ? " (simulated)" : "",
               p.usable ? "can be used" : "cannot be used here");
    if (p.usable && !backend->simulated)
        put_devices(b, backend, false);
    put_facts_text(b, &p, look);
}

/* ---- tools -------------------------------------------------------------------------------- */

/* Appends the programs that reports run, as facts like those of a backend; they are searched for as
 * reports do. The program of a vendor is listed if the vendor's device files are here, or the
 * program is found. */
static void probe_tool(struct probe *p, const struct vendor *v, bool wanted)
{
    const struct vendor_disassembler *d = &v->disassembler;
    char path[PATH_MAX];
    struct err e = {0};
    bool works = disassembler_find(d, path, sizeof path, &e) == GPUFL_OK;
    if (p->fact_count == PROBE_FACTS_MAX || (!works && !wanted))
        return;
    struct probe_fact *f = &p->facts[p->fact_count++];
    snprintf(f->name, sizeof f->name, "%s", d->program);
    f->works = works;
    snprintf(f->value, sizeof f->value, "%.*s", (int)sizeof f->value - 1,
             works ? path : "cannot be run: device code has lines, but no instructions");
    if (!works)
        snprintf(f->advice, sizeof f->advice, "%.*s", (int)sizeof f->advice - 1, e.text);
}

/* Returns true if a device file of the vendor's is here. */
static bool has_device(const struct vendor *v)
{
    bool any = false;
    for (const char *const *at = v->devices; at && *at && !any; at++)
        any = access(*at, F_OK) == 0;
    return any;
}

/* Names the library that reads compressed sessions, which the build has chosen. */
static void probe_gzip(struct probe *p)
{
    if (p->fact_count == PROBE_FACTS_MAX)
        return;
    struct probe_fact *f = &p->facts[p->fact_count++];
    snprintf(f->name, sizeof f->name, "gzip");
    snprintf(f->value, sizeof f->value, "%s", ungz_library());
    f->works = ungz_is_fast();
    if (!f->works)
        snprintf(f->advice, sizeof f->advice,
                 "this build reads compressed sessions with zlib, several times slower than with "
                 "ISA-L: install libisal-dev, and build again");
}

/* Returns the value of GPUFL_BACKEND; NULL: none, or Auto. */
static const char *backend_setting(void)
{
    const char *name = getenv("GPUFL_BACKEND");
    return name && *name && strcasecmp(name, "auto") != 0 ? name : NULL;
}

/* Returns the backend that GPUFL_BACKEND names; NULL: none, or Auto. */
static const struct backend *named_backend(void)
{
    const char *name = backend_setting();
    for (const struct backend *const *at = backends; name && *at; at++)
        if (strcasecmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

/* Returns the backend that sessions take. */
static const struct backend *taken_backend(void)
{
    const struct backend *named = named_backend();
    return named ? named : backend_select(GPUFL_BACKEND_AUTO, NULL);
}

/* Returns true for the backend of a vendor. A vendor may have metrics of its GPUs alone, and no
 * engines. */
static bool is_of_vendor(const struct backend *b)
{
    return b->vendor && !b->simulated;
}

/* A machine with none of the vendors' GPUs may read sessions of other machines, so all tools are
 * shown there, unless sessions take a vendor's backend. */
static void probe_tools(struct probe *p)
{
    const struct backend *named = named_backend(), *found = taken_backend();
    const struct vendor *taken = is_of_vendor(found) ? found->vendor : NULL;
    bool any = taken != NULL;
    for (const struct vendor *const *v = vendors; *v; v++)
        any |= has_device(*v);
    for (const struct vendor *const *v = vendors; *v; v++) {
        bool wanted = !any || taken == *v || (!(named && is_of_vendor(named)) && has_device(*v));
        if ((*v)->disassembler.program)
            probe_tool(p, *v, wanted);
    }
    probe_gzip(p);
}

static void put_tools(struct buf *b, const struct look *look)
{
    struct probe p = {0};
    probe_tools(&p);
    buf_str(b, look ? "\ntools\n" : ",\"tools\":[");
    if (look) {
        put_facts_text(b, &p, look);
        return;
    }
    put_facts_json(b, &p);
    buf_char(b, ']');
}

/* Returns the vendor's backend that sessions take. If they take none, the backend whose facts say
 * why: that of the vendor whose GPUs Auto finds or whose device files are here, else the first. */
static const struct backend *vendor_of(const struct backend *taken)
{
    const struct backend *found = backend_select(GPUFL_BACKEND_AUTO, NULL);
    if (is_of_vendor(taken) || is_of_vendor(found))
        return is_of_vendor(taken) ? taken : found;
    for (const struct backend *const *at = backends; *at; at++)
        if (is_of_vendor(*at) && has_device((*at)->vendor))
            return *at;
    return backends[0];
}

static void put_summary(struct buf *b, const struct look *look)
{
    struct place place = {0};
    struct err e = {0};
    struct probe gpu = {0}, tools = {0};
    const struct backend *taken = taken_backend();
    const struct backend *other = is_of_vendor(taken) ? backend_other(taken) : NULL;
    bool found = place_find_library(&place, &e) == GPUFL_OK;
    vendor_of(taken)->probe(&gpu);
    probe_tools(&tools);
    const struct info_found f = {.library = found ? place.library : NULL,
                                 .library_advice = e.text,
                                 .backend = taken->name,
                                 .setting = backend_setting(),
                                 .named = named_backend() != NULL,
                                 .simulated = taken->simulated,
                                 .other = other ? other->name : NULL,
                                 .gpu = &gpu,
                                 .tools = &tools};
    info_summary(b, &f, look->color, look->width);
}

static void put_engines(struct buf *b, const struct look *look)
{
    for (const struct backend *const *at = backends; *at; at++)
        put_backend(b, *at, look);
    put_tools(b, look);
    info_engines_text(b, vendor_of(taken_backend()), look->width);
}

static void put_info_json(struct buf *b)
{
    struct place place = {0};
    struct err e = {0};
    const struct backend *taken = taken_backend();
    bool found = place_find_library(&place, &e) == GPUFL_OK;
    buf_printf(b, "{\"version\":\"%s\",\"library\":", GPUFL_VERSION);
    if (found)
        buf_json_str(b, place.library);
    else
        buf_str(b, "null");
    buf_printf(b, ",\"backend\":\"%s\",\"backends\":[", taken->name);
    for (const struct backend *const *at = backends; *at; at++) {
        buf_str(b, at == backends ? "" : ",");
        put_backend(b, *at, NULL);
    }
    buf_char(b, ']');
    put_tools(b, NULL);
    info_engines_json(b, vendor_of(taken));
    buf_str(b, "}\n");
}

/* ---- options ----------------------------------------------------------------------------- */

static void put_options_text(struct buf *b, const struct look *look)
{
    cmd_wrap(b,
             "Options of the capture library. Set one with `gpufl trace --option NAME=VALUE`, the "
             "environment variable GPUFL_<NAME>, the file that config_file names, or in code if "
             "marked *. A later source takes precedence: default, remote_config_name, config_file, "
             "environment, code, gpufl trace.",
             0, look->width);
    buf_char(b, '\n');
    for (const struct option *o = option_table; o < option_table + OPT_COUNT; o++) {
        buf_printf(b, "%s %s = %s", o->field ? "*" : " ", o->name,
                   *o->fallback ? o->fallback : "\"\"");
        if (*o->unit)
            buf_printf(b, " %s", o->unit);
        buf_printf(b, "\n%*s", DOC_INDENT, "");
        cmd_wrap(b, o->doc, DOC_INDENT, look->width);
    }
}

static void put_text_json(struct buf *b, const char *separator, const char *key, const char *value)
{
    buf_printf(b, "%s\"%s\":", separator, key);
    buf_json_str(b, value);
}

static void put_options_json(struct buf *b)
{
    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option *o = &option_table[id];
        char allowed[160];
        option_allowed((enum option_id)id, allowed, sizeof allowed);
        put_text_json(b, id ? ",{" : "[{", "name", o->name);
        put_text_json(b, ",", "values", allowed);
        put_text_json(b, ",", "default", o->fallback);
        put_text_json(b, ",", "unit", o->unit);
        buf_printf(b, ",\"in_code\":%s", o->field ? "true" : "false");
        put_text_json(b, ",", "doc", o->doc);
        buf_char(b, '}');
    }
    buf_str(b, "]\n");
}

int cmd_info(int argc, char **argv)
{
    bool json = false, engines = false, metrics = false, options = false;
    const struct opt table[] = {
        {"json", 0, OPT_FLAG, &json, NULL, NULL, "Print JSON."},
        {"engines", 0, OPT_FLAG, &engines, NULL, NULL,
         "Print every fact about this machine, and what each engine records, needs, excludes and "
         "costs."},
        {"metrics", 0, OPT_FLAG, &metrics, NULL, NULL,
         "Print the hardware counters that the GPUs offer, and in how many passes."},
        {"options", 0, OPT_FLAG, &options, NULL, NULL,
         "Print every option of the capture library."},
        {0},
    };
    int operands = 0;
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands)
        return cmd_usage("info", "takes no operands, but got '%s'", argv[1]);
    if (engines + metrics + options > 1)
        return cmd_usage("info", "--engines, --metrics and --options exclude each other: give one");
    const struct look look = {cmd_color(stdout), cmd_width(stdout)};
    struct buf b;
    buf_init(&b, OUTPUT_MAX);
    if (options && json)
        put_options_json(&b);
    else if (options)
        put_options_text(&b, &look);
    else if (metrics)
        (void)info_metrics(&b, json, look.width); /* b keeps the error */
    else if (json)
        put_info_json(&b);
    else if (engines)
        put_engines(&b, &look);
    else
        put_summary(&b, &look);
    fputs(buf_cstr(&b), stdout);
    rc = buf_error(&b) ? cmd_fail("info", "out of memory") : cmd_finish_output("info");
    buf_fini(&b);
    return rc;
}
