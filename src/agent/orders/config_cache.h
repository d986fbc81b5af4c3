/* config_cache.h - the server's configurations as files of this host, NAME.json each, where the
 * library reads them (schema/options.def, remote_config_dir).
 *
 * A file is replaced as a whole, and has the name, the version and the options. A file of a
 * configuration that the server no longer has is removed; while the server cannot be reached all
 * files stay. Files in the folder that this module did not write are neither replaced nor removed.
 * Called by one thread at a time. */
#ifndef GPUFL_AGENT_ORDERS_CONFIG_CACHE_H
#define GPUFL_AGENT_ORDERS_CONFIG_CACHE_H

#include "base/err.h"

#include <stddef.h>

/* Makes the folder, and removes the remains of an interrupted write. */
int config_cache_open(const char *dir, struct err *e);

/* Makes the folder's files those of the server's answer, {"rows": [{"id", "version", "options"}]}.
 * GPUFL_E_CORRUPT: the answer is no such list, and nothing was changed. */
int config_cache_take(const char *dir, const char *json, size_t len, struct err *e);

#endif
