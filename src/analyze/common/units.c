/* units.c - writes numbers for people. */
#include "analyze/common/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *units_count(char text[UNITS_TEXT], int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n), out = 0;
    for (int i = 0; i < len; i++) {
        if (i && digits[i - 1] != '-' && (len - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

/* Writes three significant digits: 3.41, 34.1, 341. */
static char *three(char text[UNITS_TEXT], double v, const char *unit)
{
    double size = fabs(v);
    int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    snprintf(text, UNITS_TEXT, "%.*f %s", decimals, v, unit);
    return text;
}

char *units_samples(char text[UNITS_TEXT], uint64_t n)
{
    units_count(text, (int64_t)n);
    size_t len = strlen(text);
    snprintf(text + len, UNITS_TEXT - len, " sample%s", n == 1 ? "" : "s");
    return text;
}

char *units_time(char text[UNITS_TEXT], int64_t ns)
{
    const int64_t second = 1000000000, minute = 60 * second, hour = 60 * minute;
    int64_t size = ns < 0 ? -(ns + 1) : ns;
    if (size < 1000)
        snprintf(text, UNITS_TEXT, "%" PRId64 " ns", ns);
    else if (size < 999500)
        three(text, (double)ns / 1e3, "us");
    else if (size < 999500000)
        three(text, (double)ns / 1e6, "ms");
    else if (size < 10 * minute)
        three(text, (double)ns / 1e9, "s");
    else if (size < hour)
        snprintf(text, UNITS_TEXT, "%" PRId64 " min %02" PRId64 " s", ns / minute,
                 size % minute / second);
    else
        snprintf(text, UNITS_TEXT, "%" PRId64 " h %02" PRId64 " min", ns / hour,
                 size % hour / minute);
    return text;
}

char *units_time_range(char text[UNITS_TEXT], int64_t least, int64_t most)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    const char *unit = strrchr(units_time(high, most), ' ');
    char *same = strrchr(units_time(low, least), ' ');
    bool plain = strchr(low, ' ') == same && strchr(high, ' ') == unit;
    if (plain && !strcmp(same, unit))
        *same = '\0';
    if (!strncmp(low, high, strlen(low)) && (high[strlen(low)] == ' ' || !high[strlen(low)]))
        return units_time(text, most);
    if (snprintf(text, UNITS_TEXT, "%s to %s", low, high) >= UNITS_TEXT)
        return units_time(text, most);
    return text;
}

char *units_time_short(char text[UNITS_TEXT], int64_t ns)
{
    static const struct {
        int64_t from;
        const char *unit;
    } steps[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (ns >= steps[i].from) {
            snprintf(text, UNITS_TEXT, "%.2f%s", (double)ns / (double)steps[i].from, steps[i].unit);
            return text;
        }
    snprintf(text, UNITS_TEXT, "%" PRId64 "ns", ns);
    return text;
}

char *units_bytes(char text[UNITS_TEXT], int64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    if (bytes > -1024 && bytes < 1024) {
        snprintf(text, UNITS_TEXT, "%" PRId64 " B", bytes);
        return text;
    }
    int unit = -1;
    do {
        v /= 1024;
        unit++;
    } while (fabs(v) >= 1023.5 && unit < 5);
    return three(text, v, names[unit]);
}

char *units_percent(char text[UNITS_TEXT], double part, double whole)
{
    double v = whole > 0 ? 100 * part / whole : NAN;
    if (!isfinite(v))
        snprintf(text, UNITS_TEXT, "-");
    else
        snprintf(text, UNITS_TEXT, v > 0 && v < 0.05 ? "<0.1 %%" : "%.1f %%", v);
    return text;
}

char *units_percent_short(char text[UNITS_TEXT], double part, double whole)
{
    char *space = strchr(units_percent(text, part, whole), ' ');
    if (space)
        memmove(space, space + 1, strlen(space));
    return text;
}

char *units_rate(char text[UNITS_TEXT], int64_t bytes, int64_t ns)
{
    if (ns <= 0) {
        snprintf(text, UNITS_TEXT, "-");
        return text;
    }
    double rate = (double)bytes / (double)ns; /* bytes/ns = GB/s */
    return rate < 0.1 ? three(text, rate * 1e3, "MB/s") : three(text, rate, "GB/s");
}

char *units_energy(char text[UNITS_TEXT], double joules)
{
    return joules < 1000 ? three(text, joules, "J") : three(text, joules / 1000, "kJ");
}

char *units_epoch(char text[UNITS_TEXT], int64_t epoch_ns)
{
    time_t t = (time_t)(epoch_ns / 1000000000);
    struct tm tm;
    if (epoch_ns <= 0 || !gmtime_r(&t, &tm) || !strftime(text, UNITS_TEXT, "%F %T UTC", &tm))
        snprintf(text, UNITS_TEXT, "-");
    return text;
}
