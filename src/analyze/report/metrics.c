/* metrics.c - writes samples of devices, of the host and of the process, as text. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/shortage.h"
#include "analyze/report/page.h"

#include <string.h>

enum { SHORTAGE_MAX = 4096 };

/* The unit of a metric decides how it is shown. */
enum unit { UNIT_PERCENT, UNIT_CENTI, UNIT_BYTES, UNIT_RATE, UNIT_WATT, UNIT_PLAIN };

struct metric_line {
    const char *name; /* NULL: the vendor's word for the clock */
    unsigned column;
    enum unit unit;
    const char *suffix;
};

/* The graphics clock of some vendors is the shader clock, which has its own line. */
static const char GRAPHICS[] = "graphics clock";

static const struct metric_line device_lines[] = {
    {"GPU utilization", COL_device_metric_gpu_util, UNIT_PERCENT, ""},
    {"memory utilization", COL_device_metric_mem_util, UNIT_PERCENT, ""},
    {"memory used", COL_device_metric_memory_used, UNIT_BYTES, ""},
    {"power", COL_device_metric_power, UNIT_WATT, ""},
    {"temperature", COL_device_metric_temperature, UNIT_PLAIN, " C"},
    {"memory temperature", COL_device_metric_temperature_memory, UNIT_PLAIN, " C"},
    {"hot spot", COL_device_metric_temperature_junction, UNIT_PLAIN, " C"},
    {NULL, COL_device_metric_clock_sm, UNIT_PLAIN, " MHz"},
    {GRAPHICS, COL_device_metric_clock_gfx, UNIT_PLAIN, " MHz"},
    {"memory clock", COL_device_metric_clock_mem, UNIT_PLAIN, " MHz"},
    {"PCIe in", COL_device_metric_pcie_rx, UNIT_RATE, ""},
    {"PCIe out", COL_device_metric_pcie_tx, UNIT_RATE, ""},
    {"PCIe both ways", COL_device_metric_pcie_total, UNIT_RATE, ""},
    {"fan", COL_device_metric_fan, UNIT_PERCENT, ""},
    {"voltage", COL_device_metric_voltage, UNIT_PLAIN, " mV"},
    {"corrected ECC errors", COL_device_metric_ecc_corrected, UNIT_PLAIN, ""},
    {"uncorrected ECC errors", COL_device_metric_ecc_uncorrected, UNIT_PLAIN, ""},
    {"processes", COL_device_metric_processes, UNIT_PLAIN, ""},
};

static const struct metric_line host_lines[] = {
    {"CPU of the host", COL_host_metric_cpu, UNIT_CENTI, ""},
    {"RAM used", COL_host_metric_memory_used, UNIT_BYTES, ""},
    {"CPU of the process, of a core", COL_host_metric_process_cpu, UNIT_CENTI, ""},
    {"RAM of the process", COL_host_metric_process_rss, UNIT_BYTES, ""},
    {"CPU limit of its group, of a core", COL_host_metric_cpu_limit, UNIT_CENTI, ""},
    {"some thread waited for memory", COL_host_metric_memory_waits, UNIT_CENTI, ""},
};

static void put_value(struct grid *g, const struct metric_line *l, double v)
{
    char a[UNITS_TEXT];
    switch (l->unit) {
    case UNIT_PERCENT:
        grid_put(g, "%.1f %%", v);
        break;
    case UNIT_CENTI:
        grid_put(g, "%.1f %%", v / 100);
        break;
    case UNIT_BYTES:
        grid_put(g, "%s", units_bytes(a, cells_whole(v)));
        break;
    case UNIT_RATE:
        grid_put(g, "%s", units_rate(a, cells_whole(v), 1000000000));
        break;
    case UNIT_WATT:
        grid_put(g, "%.1f W", v / 1e3);
        break;
    default:
        grid_put(g, "%.0f%s", v, l->suffix);
    }
}

static void put_metrics(struct page *p, const struct metric_line *lines, size_t count,
                        const struct metric_sum *sums)
{
    static const struct grid_column columns[] = {
        {"", GRID_LEFT}, {"mean", GRID_RIGHT}, {"peak", GRID_RIGHT}, {"least", GRID_RIGHT}};
    struct grid g;
    grid_init(&g, columns, 4);
    for (size_t i = 0; i < count; i++) {
        const struct metric_sum *s = &sums[lines[i].column];
        bool again = lines[i].name == GRAPHICS && model_words(p->model)->shader_clock;
        if (!s->count || again)
            continue;
        grid_put(&g, "%s", lines[i].name ? lines[i].name : model_words(p->model)->clock);
        put_value(&g, &lines[i], sum_metrics_mean(s));
        put_value(&g, &lines[i], (double)s->max);
        put_value(&g, &lines[i], (double)s->min);
    }
    if (g.cells)
        page_grid(p, &g);
    else
        grid_fini(&g);
}

static void put_throttle(const struct page *p, const struct device_metrics *d,
                         const struct words *w)
{
    char list[512] = "", a[UNITS_TEXT];
    size_t at = 0;
    for (int i = 0; i < THROTTLE_BITS; i++)
        if (d->throttled[i] && sum_metrics_throttle_bad(i))
            at += (size_t)snprintf(
                list + at, sizeof list - at, "%s%s in %s of the samples", at ? ", " : "",
                sum_metrics_throttle(i, w),
                units_percent(a, (double)d->throttled[i], (double)d->throttle_known));
    if (at)
        page_text(p, "Clocks were held down: %s.", list);
}

static void put_device(struct page *p, uint32_t i)
{
    const struct device_metrics *d = &p->model->metrics.devices[i];
    char name[160], a[UNITS_TEXT];
    double joules;
    bool counter;
    page_text(p, "%s, %s sample%s", findings_device(p->model, i, name, sizeof name),
              units_count(a, (int64_t)d->samples), d->samples == 1 ? "" : "s");
    put_metrics(p, device_lines, sizeof device_lines / sizeof *device_lines, d->metrics);
    if (sum_metrics_energy(d, &joules, &counter))
        page_text(p, "Energy: %s (%s).", units_energy(a, joules),
                  counter ? "by the device's counter" : "power over time");
    put_throttle(p, d, model_device_words(p->model, &p->model->devices.items[i].row));
}

/* Puts what the host was short of, if it was. */
static void put_shortage(struct page *p)
{
    const struct metric_sum *h = p->model->metrics.host;
    char a[UNITS_TEXT];
    struct buf text;
    buf_init(&text, SHORTAGE_MAX);
    if (h[COL_host_metric_cpu_throttled].count && h[COL_host_metric_cpu_throttled].sum > 0)
        insight_put_stopped(p->model, &text);
    else if (h[COL_host_metric_cpu_throttled].count)
        buf_printf(&text, "No CPU limit stopped the program, in %s samples.",
                   units_count(a, (int64_t)h[COL_host_metric_cpu_throttled].count));
    if (h[COL_host_metric_faults_major].sum > 0 || h[COL_host_metric_swap_in].sum > 0)
        (void)insight_put_paging(p->model, &text);
    if (text.len)
        page_text(p, "%s", buf_cstr(&text) + (*buf_cstr(&text) == ' '));
    p->code = p->code ? p->code : buf_error(&text);
    buf_fini(&text);
}

void page_metrics(struct page *p)
{
    const struct sum_metrics *s = &p->model->metrics;
    char a[UNITS_TEXT];
    bool any = s->host_samples || s->process_samples;
    page_heading(p, "System metrics");
    for (uint32_t i = 0; i < s->device_count; i++)
        if (s->devices[i].samples) {
            any = true;
            put_device(p, i);
        }
    if (s->host_samples || s->process_samples) {
        int64_t n = (int64_t)(s->host_samples ? s->host_samples : s->process_samples);
        page_text(p, "%s, %s sample%s", s->host_samples ? "Host" : "Process", units_count(a, n),
                  n == 1 ? "" : "s");
        put_metrics(p, host_lines, sizeof host_lines / sizeof *host_lines, s->host);
        put_shortage(p);
    }
    page_shared(p);
    const char *why = findings_why_none(p->model, "device_metrics");
    if (!any && !strcmp(why, findings_status("not_requested")))
        page_text(p, "Samples were not asked for. The options system_sample_rate_ms (50 to 100 is "
                     "usual) and continuous_system_sampling=true record them. Both can be set "
                     "in code, or in the environment as GPUFL_SYSTEM_SAMPLE_RATE_MS and "
                     "GPUFL_CONTINUOUS_SYSTEM_SAMPLING.");
    else if (!any)
        page_none(p, "device_metrics");
}
