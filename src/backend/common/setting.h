/* setting.h - one row of what an engine was set up to, or came to: see the record `setting`. */
#ifndef GPUFL_BACKEND_COMMON_SETTING_H
#define GPUFL_BACKEND_COMMON_SETTING_H

#include "backend/backend.h"

/* device: the sink's id, 0: none in particular. [collector] */
void setting_text(struct sink *s, const char *engine, uint32_t device, const char *name,
                  const char *value);
void setting_number(struct sink *s, const char *engine, uint32_t device, const char *name,
                    int64_t value);

#endif
