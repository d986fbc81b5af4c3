/* gpus.c - see gpus.h. */
#include "cli/monitor/gpus.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    WHOLE = 1000,      /* a share */
    HOT = 85,          /* degrees from which a temperature is highlighted */
    ALMOST_FULL = 900, /* of memory */
    LABEL = 10,        /* columns before a bar of a panel */
    WIDE = 120,        /* columns from which a line has further values */
    NARROW_NAME = 14,
    WIDE_NAME = 24,
};

/* ---- bars ---------------------------------------------------------------------------------- */

static int64_t share(int64_t part, int64_t whole)
{
    if (part == CELL_NULL || whole == CELL_NULL || whole <= 0 || part < 0)
        return CELL_NULL;
    double s = (double)part / (double)whole * WHOLE;
    return s > WHOLE ? WHOLE : (int64_t)s;
}

/* Writes "[#### ]" over `width` columns; unknown: "[ ? ]". */
static void put_bar(struct canvas *c, int row, int column, int width, int64_t s, enum style style)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int inner = width - 2;
    if (inner < 1)
        return;
    (void)canvas_text(c, row, column, 1, STYLE_DIM, "[");
    (void)canvas_text(c, row, column + width - 1, 1, STYLE_DIM, "]");
    if (s == CELL_NULL) {
        (void)canvas_text(c, row, column + width / 2, 1, STYLE_DIM, "?");
        return;
    }
    int parts = (int)(s * inner * 8 / WHOLE), whole = c->utf8 ? parts / 8 : (parts + 4) / 8;
    for (int i = 0; i < whole; i++)
        (void)canvas_text(c, row, column + 1 + i, 1, style, c->utf8 ? "█" : "|");
    if (c->utf8 && whole < inner)
        (void)canvas_text(c, row, column + 1 + whole, 1, style, eighths[parts % 8]);
}

/* Appends the past values of the use over `width` columns, the newest at the right end. */
static void put_past(struct canvas *c, int row, int column, int width, const struct past *past)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    int n = past->count < width ? past->count : width;
    for (int i = 0; i < n; i++) {
        int use = (int)past->use[past->count - n + i], level = use >= 100 ? 7 : use * 8 / 100;
        if (use >= 0)
            (void)canvas_text(c, row, column + width - n + i, 1, STYLE_GOOD,
                              c->utf8 ? blocks[level] : ascii[level]);
    }
}

static enum style memory_style(int64_t s)
{
    return s != CELL_NULL && s >= ALMOST_FULL ? STYLE_WARN : STYLE_GOOD;
}

/* ---- text of a line ----------------------------------------------------------------------- */

/* Appends words, with two columns before them; nothing if they do not fit. */
__attribute__((format(printf, 5, 6))) static void go_on(struct canvas *c, int row, int *column,
                                                        enum style style, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int n = canvas_columns(c, text);
    if (*column + n > c->columns)
        return;
    (void)canvas_text(c, row, *column, n, style, text);
    *column += n + 2;
}

static const char *degrees(const struct canvas *c)
{
    return c->utf8 ? "°C" : "C";
}

static void put_number(const struct seen_gpu *g, struct canvas *c, int row, int column)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, g->index);
    canvas_right(c, row, column, 2, STYLE_HEAD, g->index == CELL_NULL ? "-" : text);
}

static void put_state(const struct seen_gpu *g, struct canvas *c, int row, int *at)
{
    char text[160];
    const struct device_metric_row *r = &g->row;
    if (!g->up)
        go_on(c, row, at, STYLE_BAD, "%s", g->index == CELL_NULL ? "is gone" : "does not answer");
    words_throttle(r->throttle, g->vendor, text, sizeof text);
    if (*text)
        go_on(c, row, at, STYLE_WARN, "throttled: %s", text);
    if (g->xids == 1 && g->last_xid >= 0)
        go_on(c, row, at, STYLE_BAD, "XID error %" PRId64, g->last_xid);
    else if (g->xids && g->last_xid >= 0)
        go_on(c, row, at, STYLE_BAD, "%" PRId64 " XID errors, such as %" PRId64, g->xids,
              g->last_xid);
    else if (g->xids)
        go_on(c, row, at, STYLE_BAD, "%" PRId64 " XID error%s", g->xids, words_plural(g->xids));
    if (r->ecc_uncorrected != CELL_NULL && r->ecc_uncorrected > 0)
        go_on(c, row, at, STYLE_BAD, "%" PRId64 " uncorrected memory error%s", r->ecc_uncorrected,
              words_plural(r->ecc_uncorrected));
    if (g->parts > 0)
        go_on(c, row, at, STYLE_PLAIN, "%" PRId64 " part%s (MIG)", g->parts,
              words_plural(g->parts));
}

static void put_power(const struct device_metric_row *r, struct canvas *c, int row, int *at)
{
    if (r->power != CELL_NULL && r->power_limit != CELL_NULL)
        go_on(c, row, at, STYLE_PLAIN, "%3.0f of %.0f W", (double)r->power * 1e-3,
              (double)r->power_limit * 1e-3);
    else if (r->power != CELL_NULL)
        go_on(c, row, at, STYLE_PLAIN, "%3.0f W", (double)r->power * 1e-3);
}

/* ---- four lines ---------------------------------------------------------------------------- */

static void panel_head(const struct seen_gpu *g, struct canvas *c, int row)
{
    const struct device_metric_row *r = &g->row;
    int at = 7, name = c->columns >= WIDE ? 2 * WIDE_NAME : WIDE_NAME;
    (void)canvas_text(c, row, 0, 3, STYLE_HEAD, "GPU");
    put_number(g, c, row, 4);
    (void)canvas_text(c, row, at, name, STYLE_HEAD, words_name(g));
    at += canvas_columns(c, words_name(g)) < name ? canvas_columns(c, words_name(g)) : name;
    at += 3;
    if (r->temperature != CELL_NULL)
        go_on(c, row, &at, r->temperature >= HOT ? STYLE_WARN : STYLE_PLAIN, "%" PRId64 " %s",
              r->temperature, degrees(c));
    put_power(r, c, row, &at);
    if (r->clock_sm != CELL_NULL)
        go_on(c, row, &at, STYLE_PLAIN, "%s %" PRId64 " MHz", words_clock(g), r->clock_sm);
    if (r->clock_mem != CELL_NULL)
        go_on(c, row, &at, STYLE_PLAIN, "memory %" PRId64 " MHz", r->clock_mem);
    if (r->fan != CELL_NULL)
        go_on(c, row, &at, STYLE_PLAIN, "fan %" PRId64 " %%", r->fan);
}

static void panel_rates(const struct seen_gpu *g, struct canvas *c, int row, int *at)
{
    const struct device_metric_row *r = &g->row;
    char in[32], out[32];
    if (r->pcie_rx != CELL_NULL || r->pcie_tx != CELL_NULL) {
        words_rate(r->pcie_rx, in, sizeof in);
        words_rate(r->pcie_tx, out, sizeof out);
        go_on(c, row, at, STYLE_PLAIN, "PCIe in %s, out %s", in, out);
    }
    if (r->nvlink_rx != CELL_NULL || r->nvlink_tx != CELL_NULL) {
        words_rate(r->nvlink_rx, in, sizeof in);
        words_rate(r->nvlink_tx, out, sizeof out);
        go_on(c, row, at, STYLE_PLAIN, "%s in %s, out %s", words_link(g), in, out);
    }
    if (r->sm_active != CELL_NULL)
        go_on(c, row, at, STYLE_PLAIN, "SM active %.0f %%", (double)r->sm_active * 0.01);
    if (r->tensor_active != CELL_NULL)
        go_on(c, row, at, STYLE_PLAIN, "tensor %.0f %%", (double)r->tensor_active * 0.01);
    if (r->dram_active != CELL_NULL)
        go_on(c, row, at, STYLE_PLAIN, "DRAM %.0f %%", (double)r->dram_active * 0.01);
}

void gpu_panel(const struct seen_gpu *g, const struct past *past, struct canvas *c, int row)
{
    char text[64];
    const struct device_metric_row *r = &g->row;
    int bar = c->columns * 2 / 5, after = LABEL + bar + 1, at = 2;
    int64_t full = share(r->memory_used, r->memory_total);
    panel_head(g, c, row);
    (void)canvas_text(c, row + 1, 2, LABEL, STYLE_PLAIN, "use");
    put_bar(c, row + 1, LABEL, bar, share(r->gpu_util, 100), STYLE_GOOD);
    snprintf(text, sizeof text, "%" PRId64 " %%", r->gpu_util);
    canvas_right(c, row + 1, after, 5, STYLE_PLAIN, r->gpu_util == CELL_NULL ? "?" : text);
    put_past(c, row + 1, after + 7, c->columns - after - 8, past);
    (void)canvas_text(c, row + 2, 2, LABEL, STYLE_PLAIN, "memory");
    put_bar(c, row + 2, LABEL, bar, full, memory_style(full));
    words_memory(r->memory_used, r->memory_total, text, sizeof text);
    (void)canvas_text(c, row + 2, after + 1, 20, STYLE_PLAIN, text);
    after += 22;
    if (c->columns >= WIDE)
        panel_rates(g, c, row + 2, &after);
    put_state(g, c, row + 3, &at);
    if (c->columns < WIDE)
        panel_rates(g, c, row + 3, &at);
}

/* ---- one line ------------------------------------------------------------------------------ */

/* Writes a letter for each state that a line has no room to name. */
static void put_letters(const struct seen_gpu *g, struct canvas *c, int row, int column)
{
    char throttled[160];
    words_throttle(g->row.throttle, g->vendor, throttled, sizeof throttled);
    if (*throttled)
        (void)canvas_text(c, row, column, 1, STYLE_WARN, "T");
    if (g->xids || (g->row.ecc_uncorrected != CELL_NULL && g->row.ecc_uncorrected > 0))
        (void)canvas_text(c, row, column + 1, 1, STYLE_BAD, "E");
}

static void line_memory(const struct device_metric_row *r, struct canvas *c, int row, int column)
{
    char text[48];
    if (r->memory_used == CELL_NULL || r->memory_total == CELL_NULL)
        snprintf(text, sizeof text, "?");
    else
        snprintf(text, sizeof text, "%.1f/%.0fG", (double)r->memory_used / (1 << 30),
                 (double)r->memory_total / (1 << 30));
    canvas_right(c, row, column, 10, STYLE_PLAIN, text);
}

static void line_rest(const struct seen_gpu *g, struct canvas *c, int row, int at)
{
    char text[32];
    const struct device_metric_row *r = &g->row;
    snprintf(text, sizeof text, "%" PRId64 " %s", r->temperature, degrees(c));
    canvas_right(c, row, at, 5, r->temperature >= HOT ? STYLE_WARN : STYLE_PLAIN,
                 r->temperature == CELL_NULL ? "?" : text);
    snprintf(text, sizeof text, "%.0f W", (double)r->power * 1e-3);
    canvas_right(c, row, at + 6, 6, STYLE_PLAIN, r->power == CELL_NULL ? "?" : text);
    at += 13;
    if (c->columns < WIDE) {
        put_letters(g, c, row, at);
        return;
    }
    if (r->clock_sm != CELL_NULL)
        go_on(c, row, &at, STYLE_PLAIN, "%4" PRId64 " MHz", r->clock_sm);
    put_state(g, c, row, &at);
}

void gpu_line(const struct seen_gpu *g, const struct past *past, struct canvas *c, int row)
{
    const struct device_metric_row *r = &g->row;
    bool wide = c->columns >= WIDE;
    int name = wide ? WIDE_NAME : NARROW_NAME, at = name + 4, bar = wide ? 22 : 12;
    int64_t full = share(r->memory_used, r->memory_total);
    char text[32];
    put_number(g, c, row, 0);
    (void)canvas_text(c, row, 3, name, STYLE_PLAIN, words_name(g));
    if (!g->up) {
        put_state(g, c, row, &at);
        return;
    }
    put_bar(c, row, at, bar, share(r->gpu_util, 100), STYLE_GOOD);
    snprintf(text, sizeof text, "%" PRId64 " %%", r->gpu_util);
    canvas_right(c, row, at + bar, 6, STYLE_PLAIN, r->gpu_util == CELL_NULL ? "?" : text);
    at += bar + 7;
    put_past(c, row, at, bar / 2, past);
    at += bar / 2 + 1;
    put_bar(c, row, at, bar / 2 + 3, full, memory_style(full));
    line_memory(r, c, row, at + bar / 2 + 3);
    line_rest(g, c, row, at + bar / 2 + 14);
}
