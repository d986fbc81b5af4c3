/* options.h - reads the options of a session: one table, eight sources (ADR 19).
 *
 * Each option takes its value from the highest source that has a good one: default < what `gpufl
 * trace` does by itself < remote_config_name < config_file < GPUFL_* < code < GPUFL_FORCE_ENGINE <
 * flags of `gpufl trace`. The launcher passes both of its sources in GPUFL_TRACE_OPTIONS:
 * name=value, one a line, with a question mark before its own defaults. A value that is not valid
 * is reported in a sentence and skipped. Called by the owner's thread only, except where a tag says
 * otherwise. */
#ifndef GPUFL_CAPTURE_OPTIONS_OPTIONS_H
#define GPUFL_CAPTURE_OPTIONS_OPTIONS_H

#include "backend/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_TRACE_VARIABLE "GPUFL_TRACE_OPTIONS"
#define OPTIONS_MARK_SOCKET                                                                        \
    "gpufl-trace-%s" /* abstract; of the run's id: see capture/session/mark.h */
#define OPTIONS_DISABLE_VARIABLE "GPUFL_DISABLED"
#define OPTIONS_FORCE_VARIABLE   "GPUFL_FORCE_ENGINE"
enum { OPTIONS_REMOTE_NAME = 64 /* bytes of the name of a configuration */ };

#define OPTIONS_REMOTE_VARIABLE "GPUFL_REMOTE_CONFIG" /* sets remote_config_name, too */

enum option_source {
    SOURCE_DEFAULT,
    SOURCE_TRACE_DEFAULT, /* what `gpufl trace` does by itself */
    SOURCE_REMOTE_CONFIG, /* the configuration that remote_config_name names */
    SOURCE_CONFIG_FILE,
    SOURCE_ENVIRONMENT,
    SOURCE_CODE,
    SOURCE_FORCED, /* GPUFL_FORCE_ENGINE */
    SOURCE_TRACE,  /* flags of `gpufl trace` */
};

enum option_kind { OPTION_STR, OPTION_BOOL, OPTION_INT, OPTION_BACKEND, OPTION_ENGINE };

/* Numbers the rows of option_table, as OPT_app_name and so on. */
enum option_id {
#define OPTION(kind, name, fallback, unit, range, field, doc) OPT_##name,
#include "schema/options.def"
#undef OPTION
    OPT_COUNT
};

#define OPTION_TYPE_STR     char * /* owned, never NULL after options_resolve */
#define OPTION_TYPE_BOOL    bool
#define OPTION_TYPE_INT     int64_t
#define OPTION_TYPE_BACKEND enum gpufl_backend
#define OPTION_TYPE_ENGINE  enum gpufl_engine

struct options {
#define OPTION(kind, name, fallback, unit, range, field, doc) OPTION_TYPE_##kind name;
#include "schema/options.def"
#undef OPTION
    unsigned char source[OPT_COUNT]; /* enum option_source of each */
    bool traced;                     /* `gpufl trace` started this program */
    char *trace_dir;                 /* owned: where it looks for sessions; NULL: not traced */
    int64_t remote_version; /* of the configuration that remote_config_name names; 0: none */
    char remote_name[OPTIONS_REMOTE_NAME + 1]; /* its own name, even if @host was given */
};

struct option {
    const char *name;
    enum option_kind kind;
    const char *fallback; /* the default as text */
    const char *unit;
    const char *doc;
    int64_t least, most;  /* of an OPTION_INT */
    bool field;           /* also in struct gpufl_options */
    size_t offset;        /* in struct options */
    size_t public_offset; /* in struct gpufl_options, where field */
};

extern const struct option option_table[OPT_COUNT];
extern const char *const option_engines[];  /* by enum gpufl_engine, NULL-terminated */
extern const char *const option_backends[]; /* by enum gpufl_backend, NULL-terminated */
extern const char *const option_sources[];  /* by enum option_source */

/* Takes one sentence about an option. */
struct options_say {
    void (*fn)(void *arg, enum severity severity, const char *code, const char *text);
    void *arg;
};

/* Returns true if GPUFL_DISABLED is set to 1, true, yes or on. [any] */
bool options_disabled(void);

/* Fills *o from all sources and applies the rules between options. code: may be
 * NULL. injected: the defaults are another engine, Trace, and the program's name.
 * 0, GPUFL_E_NOMEM, or GPUFL_E_INVAL for a struct of impossible size. */
int options_resolve(struct options *o, const struct gpufl_options *code, bool injected,
                    const struct options_say *say);
void options_free(struct options *o);

/* Returns true if a person or the program set the option, in a file, environment, code or flags.
 * [any] */
bool option_asked(const struct options *o, enum option_id id);

/* Fills out with "name=value, …" for the options that code sets and that differ in the session that
 * runs already; "" if there are none. True if the engine is one of them. [owner] */
bool options_missed(const struct options *o, const struct gpufl_options *code, char *out,
                    size_t size);

/* Returns the option of that name, or -1; *near gets a similar name, or NULL. [any] */
int option_find(const char *name, const char **near);

/* Checks whether the option would accept the text: 0, or GPUFL_E_INVAL and a sentence. [any] */
int option_check(enum option_id id, const char *text, struct err *e);

/* Writes the values that the option accepts, for a sentence: "true or false". [any] */
void option_allowed(enum option_id id, char *out, size_t size);

/* Returns the engines that serve an option: enum engine_bit, of which one suffices, and their names
 * for a sentence. 0: every engine. */
unsigned option_engines_of(enum option_id id, const char **names);

/* Writes the value as the log has it, cut at size; the key of a server only as "set" or "". */
void options_text(const struct options *o, enum option_id id, char *out, size_t size);

#endif
