/* setting.c - see setting.h. */
#include "backend/common/setting.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

void setting_text(struct sink *s, const char *engine, uint32_t device, const char *name,
                  const char *value)
{
    struct setting_row row = {.time = clock_mono(),
                              .device = device,
                              .engine = s->ops->name(s, engine),
                              .name = s->ops->name(s, name),
                              .value = s->ops->name(s, value)};
    s->ops->row(s, RECORD_setting, &row);
}

void setting_number(struct sink *s, const char *engine, uint32_t device, const char *name,
                    int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    setting_text(s, engine, device, name, text);
}
