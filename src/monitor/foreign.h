/* foreign.h - lists options of the public client's `gpufl monitor` that ours do not have, each with
 * what replaces it here: rows of struct opt, for the tables of gpufl-monitor and of `gpufl
 * monitor`. */
#ifndef GPUFL_MONITOR_FOREIGN_H
#define GPUFL_MONITOR_FOREIGN_H

#include "base/opt.h"

#define FOREIGN(name, letter, instead)                                                             \
    {                                                                                              \
        name, letter, OPT_FOREIGN, NULL, instead, NULL, NULL                                       \
    }

/* clang-format off: a row a line */
#define MONITOR_FOREIGN_OPTIONS                                                                    \
    FOREIGN("upload", 0,                                                                           \
            "gpufl-agent --source DIR --server URL sends the logs while they are written"),        \
        FOREIGN("backend-url", 0, "gpufl-agent sends the logs; its option is --server"),           \
        FOREIGN(                                                                                   \
            "api-key", 0,                                                                          \
            "gpufl-agent sends the logs, with the key of its --api-key-file or of GPUFL_API_KEY"), \
        FOREIGN("api-version", 0, "gpufl-agent sends the logs; its option is --api-path"),         \
        FOREIGN("agent-jar", 0, "gpufl-agent sends the logs, a program that needs no Java"),       \
        FOREIGN("agent-cursor", 0,                                                                 \
                "gpufl-agent sends the logs, and keeps its place in the folder of --state"),       \
        FOREIGN("log-types", 0,                                                                    \
                "a monitor's session has the channel `system` alone, and gpufl-agent sends every " \
                "channel"),                                                                        \
        FOREIGN("verbose", 'v',                                                                    \
                "what goes wrong is said in any case, and what is missed is counted, on /metrics " \
                "(gpufl-monitor --listen) and in the log")
/* clang-format on */

#endif
