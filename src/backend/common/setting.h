/* setting.h - writes a row of the record `setting`: how an engine was set up. */
#ifndef GPUFL_BACKEND_COMMON_SETTING_H
#define GPUFL_BACKEND_COMMON_SETTING_H

#include "backend/backend.h"

/* Report a setting of an engine. device: the sink's id; 0: all devices. [collector] */
void setting_text(struct sink *s, const char *engine, uint32_t device, const char *name,
                  const char *value);
void setting_number(struct sink *s, const char *engine, uint32_t device, const char *name,
                    int64_t value);

#endif
