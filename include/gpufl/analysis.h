/* analysis.h - declares the public C11 API of libgpufl-analysis.so, which reads sessions.
 *
 * Reads session logs of this project and of the public GPUFlight client.
 * Nothing here runs inside the traced program, except when the program calls
 * gpufl_generate_report. Calls are independent of each other and may run concurrently
 * on several threads; struct gpufl_tables says what holds for it. Strings are the
 * caller's and read during the call. Functions that return int return 0 or a negative
 * enum gpufl_error: NOENT: no session is there; CORRUPT: nothing in the log can be read;
 * IO, PERM, FULL: a file could not be read or written; INVAL; NOMEM. */
#ifndef GPUFL_ANALYSIS_H
#define GPUFL_ANALYSIS_H

#include <gpufl/gpufl.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gpufl_report_format {
    GPUFL_REPORT_TEXT,
    GPUFL_REPORT_JSON,
    GPUFL_REPORT_FLAME, /* collapsed stacks, "outer;inner ns": for flamegraph.pl and speedscope */
    GPUFL_REPORT_PPROF, /* the same stacks as a profile.proto, which `go tool pprof` reads */
    GPUFL_REPORT_SPEEDSCOPE, /* the same stacks as speedscope's JSON */
};

struct gpufl_report_options {
    size_t size; /* sizeof of the caller's struct, set by gpufl_report_options_init */
    enum gpufl_report_format format;
    int top;       /* most rows of the kernel and scope tables; default 10, 0: all */
    bool color;    /* ANSI colours in text */
    int width;     /* columns of text; default 100 */
    bool progress; /* report on stderr how far a long read is, if stderr is a terminal */
    bool brief;    /* text: where the time went in sentences, and the session */
    bool stacks;   /* text: the stacks of lines that wait */
    /* A part of kernels' names. Text: only the instructions of these kernels, next to their
     * source; JSON: these instructions, too (member code). NULL or "": not asked for. */
    const char *kernel;
    /* Receives true if damage of the log makes kernels, copies or another kind unknown; the
     * report is written all the same, and says so. NULL: not asked for. */
    bool *damaged;
    bool full; /* text: the first screen and all sections */
    /* Names of sections, separated by commas. Text: these sections alone; JSON: the answer and
     * these members. NULL or "": not asked for. An unknown name is INVAL, and error then lists all
     * names. */
    const char *sections;
    /* Text: the path, quoted for a shell, for the next command below the first screen. NULL or "":
     * no such line. */
    const char *shown;
    /* Only the session of this name: its folder's name, or in the flat layout its prefix (name in
     * struct gpufl_session). NULL or "": all sessions under the path. */
    const char *session;
};

/* Fills *o with the defaults. size: sizeof *o as the caller compiled it. */
GPUFL_API void gpufl_report_options_init(struct gpufl_report_options *o, size_t size);

/* Writes the report on path to out. path: a session directory, one part of a log, or a
 * directory of sessions, which are put together. Text is one screen unless the options
 * ask for more. o: NULL for defaults. out is flushed, not closed. error: receives a
 * sentence on failure, NUL-terminated and cut at error_size bytes; may be NULL.
 * The result is 0 also if lines were damaged: the report counts them, and if a whole kind
 * of rows is unknown because of them, o->damaged is set and error says which. */
GPUFL_API int gpufl_report(const char *path, const struct gpufl_report_options *o, FILE *out,
                           char *error, size_t error_size);

/* Holds what gpufl_symbolize did, over all sessions under the path. */
struct gpufl_symbolized {
    size_t size;        /* sizeof of the caller's struct, set by the caller */
    uint64_t sessions;  /* sessions that were read */
    uint64_t frames;    /* addresses of native code in their stacks */
    uint64_t known;     /* frames that were looked up before this call */
    uint64_t lines;     /* frames looked up now: a source line was found, */
    uint64_t functions; /* … only a function, */
    uint64_t unknown;   /* … neither */
    uint64_t sources;   /* source files whose text was kept */
    bool written;       /* all that was found is in the sessions now */
    char note[384];     /* why there are no lines, or why something was not written; "": nothing */
};

enum {
    GPUFL_SYMBOLIZE_ENDED = 1,     /* the programs have ended, whatever their logs say */
    GPUFL_SYMBOLIZE_STATUS = 2,    /* flags hold their wait status: */
    GPUFL_SYMBOLIZE_PROGRESS = 4,  /* report progress on stderr, if stderr is a terminal */
    GPUFL_SYMBOLIZE_UNWRITTEN = 8, /* the sessions ended, but their logs could not record that */
    GPUFL_SYMBOLIZE_STATUS_AT = 8  /* … 16 bits of waitpid's status, shifted left by this */
};

/* Looks up the native code in the stacks of the sessions under path: functions, files and lines,
 * inlined functions included. The call needs the files that the programs ran from, so it has to run
 * on their host. What is found is appended to the sessions, with the text of the source files if
 * the program's options allow that. A report looks up what is missing by itself, and also uses what
 * could not be written. flags: a sum of the values above. result and error may be NULL. The result
 * is 0 also if nothing was found. */
GPUFL_API int gpufl_symbolize(const char *path, int flags, struct gpufl_symbolized *result,
                              char *error, size_t error_size);

/* Writes the sessions under path in the public GPUFlight client's format below
 * dir, which is created: dir/<session>/<channel>.1.log.gz. error: as in gpufl_report.
 * GPUFL_E_STATE: a session is there already; nothing is overwritten. The result is 0 also if parts
 * of a log are damaged: the rest is written, and error says so; otherwise error is "". */
GPUFL_API int gpufl_export_gpuflight(const char *path, const char *dir, char *error,
                                     size_t error_size);

/* ---- rows as columns ------------------------------------------------------------------------ */

/* Stands for a session that was read. One thread at a time may use it. Texts and data obtained from
 * it are valid until gpufl_tables_close and must not be changed. */
struct gpufl_tables;

/* Holds what a session says of itself. Times are ns since the Unix epoch; if the log has no clock
 * row, they are on CLOCK_MONOTONIC of the program's host. */
struct gpufl_session {
    size_t size; /* sizeof of the caller's struct, set by the caller */
    char id[128], app[256], engine[64], backend[64];
    bool simulated;
    bool ended;       /* an end was written; end_ns is 0 otherwise */
    bool epoch_known; /* times are ns since the Unix epoch */
    int64_t pid, start_ns, end_ns;
    uint64_t damaged_lines, unknown_lines; /* lines that were left out */
    uint64_t damaged_parts;                /* files that could not be read to their end */
    uint64_t missing_parts; /* gaps in the numbers of the files, and channels without any file */
    char name[256];         /* name of its folder; in the flat layout its prefix */
    char dir[4096];         /* folder of its files, relative if the path was */
};

enum gpufl_column_type {
    GPUFL_COLUMN_INT64,  /* int64_t; GPUFL_UNKNOWN: unknown */
    GPUFL_COLUMN_DOUBLE, /* double; NaN: unknown */
    GPUFL_COLUMN_TEXT,   /* int32_t: number of a text; -1: unknown */
    GPUFL_COLUMN_INT32,  /* int32_t; GPUFL_UNKNOWN_INT32: unknown */
    GPUFL_COLUMN_FLOAT,  /* float; NaN: unknown */
};

#define GPUFL_UNKNOWN       INT64_MIN
#define GPUFL_UNKNOWN_INT32 INT32_MIN

/* Describes a column of a table. */
struct gpufl_column {
    size_t size; /* sizeof of the caller's struct, set by the caller */
    const char *name, *unit;
    enum gpufl_column_type type;
    int64_t rows;
    int64_t nulls;               /* cells that are unknown */
    const void *data;            /* rows cells */
    int64_t text_count;          /* GPUFL_COLUMN_TEXT: number of distinct texts */
    const int32_t *text_offsets; /* where each begins in texts, and where the last one ends */
    const char *texts;           /* UTF-8, one after the other */
};

/* Reads one session below path with all its parts, of this project or of the public client.
 * session: the name of its folder, in the flat layout its prefix; NULL or "": the session that was
 * written last. The caller closes *out. error: as in gpufl_report. The result is 0 also if parts
 * are damaged: gpufl_tables_session counts them. NOENT: no session, or none of that name. */
GPUFL_API int gpufl_tables_open(const char *path, const char *session, struct gpufl_tables **out,
                                char *error, size_t error_size);

/* Frees the session. What gpufl_tables_arrow exported stays valid until it is released. NULL is
 * ignored. */
GPUFL_API void gpufl_tables_close(struct gpufl_tables *t);

/* Fills those members of *out that out->size covers. */
GPUFL_API void gpufl_tables_session(const struct gpufl_tables *t, struct gpufl_session *out);

/* Returns the name of the table with this index, from 0; NULL after the last. Static storage. All
 * sessions have the same tables. */
GPUFL_API const char *gpufl_tables_name(size_t index);

/* Returns the name of the table's column with this index, from 0; NULL after the last, and for an
 * unknown table. Static storage. */
GPUFL_API const char *gpufl_tables_column_name(const char *table, size_t index);

/* Fills *out with a column. The column is made at its first use. INVAL: the table or the index does
 * not exist; NOMEM; FULL: the texts take 2 GiB or more. */
GPUFL_API int gpufl_tables_column(struct gpufl_tables *t, const char *table, size_t index,
                                  struct gpufl_column *out);

/* Exports a table as a stream of Apache Arrow's C interface, with one batch. Integers and doubles
 * share the memory of gpufl_tables_column, texts are dictionaries. stream: the caller's struct
 * ArrowArrayStream. The caller releases it with its own function, on any thread, also after
 * gpufl_tables_close. The result is as in gpufl_tables_column. */
struct ArrowArrayStream;
GPUFL_API int gpufl_tables_arrow(struct gpufl_tables *t, const char *table,
                                 struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif
#endif
