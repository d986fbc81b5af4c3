/* analysis.h - reading sessions: public C11 API of libgpufl-analysis.so.
 *
 * Reads session logs of GPUFlight and of the public GPUFlight client alike.
 * Nothing here runs inside the traced program, except when it calls
 * gpufl_generate_report. Calls are independent of each other and may run on
 * several threads. Strings are the caller's and read during the call. Functions
 * that return int return 0 or a negative enum gpufl_error:
 * NOENT no session there, CORRUPT nothing in it can be read, IO, PERM and FULL of
 * the files read or written, INVAL, NOMEM. */
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
    bool progress; /* say on stderr how far long reads are, where it is a terminal */
    bool brief;    /* text: where the time went in sentences, and the session */
    bool stacks;   /* text: the stacks of lines that wait */
    /* Text: only the instructions of the kernels that have this in their names, next to their
     * source; JSON: these, too (member code). NULL or "": not asked for. Read during the call. */
    const char *kernel;
    /* Receives true where damage of the log makes kernels, copies or another kind unknown: the
     * report is written, and says so. NULL: not asked for. Written during the call. */
    bool *damaged;
    bool full; /* text: the first screen and all sections */
    /* Text: these sections alone; JSON: the answer and these members. Names with commas between;
     * NULL or "": not asked for. An unknown name is INVAL, with a sentence that has all names. Read
     * during the call. */
    const char *sections;
    /* Text: the path as a shell takes it, for the next command below the first screen. NULL or "":
     * no such line. Read during the call. */
    const char *shown;
    /* The session of this name alone: that of its folder, or in the flat layout its prefix (name in
     * struct gpufl_session). NULL or "": all sessions under the path. Read during the call. */
    const char *session;
};

/* Fills *o with the defaults. size: sizeof *o as the caller compiled it. */
GPUFL_API void gpufl_report_options_init(struct gpufl_report_options *o, size_t size);

/* Writes the report over path to out: a session directory, a part of one, or a
 * directory of sessions (merged). Text is one screen unless the options ask for
 * more. o: NULL for defaults. out is flushed, not closed. error: receives a
 * sentence on failure, NUL-terminated and cut at error_size bytes (may be NULL).
 * 0 also where lines were damaged: the report counts them, and where all of a kind
 * is unknown since, o->damaged is set and error says which. */
GPUFL_API int gpufl_report(const char *path, const struct gpufl_report_options *o, FILE *out,
                           char *error, size_t error_size);

/* What gpufl_symbolize did, over all sessions under the path. */
struct gpufl_symbolized {
    size_t size;        /* sizeof of the caller's struct, set by the caller */
    uint64_t sessions;  /* read */
    uint64_t frames;    /* addresses of native code in their stacks */
    uint64_t known;     /* of them: looked up before */
    uint64_t lines;     /* looked up now: with a source line */
    uint64_t functions; /* with a function only */
    uint64_t unknown;   /* with neither */
    uint64_t sources;   /* source files whose text was kept */
    bool written;       /* all that was found is in the sessions now */
    char note[384];     /* why there are no lines, or why something was not written; "" none */
};

enum {
    GPUFL_SYMBOLIZE_ENDED = 1,     /* the programs are over, whatever their logs say */
    GPUFL_SYMBOLIZE_STATUS = 2,    /* their wait status, of waitpid, is known: */
    GPUFL_SYMBOLIZE_PROGRESS = 4,  /* say on stderr how far it is, where that is a terminal */
    GPUFL_SYMBOLIZE_UNWRITTEN = 8, /* their sessions ended, and the logs could not take that */
    GPUFL_SYMBOLIZE_STATUS_AT = 8  /* … status << GPUFL_SYMBOLIZE_STATUS_AT, 16 bits */
};

/* Looks up the native code in the stacks of the sessions under path: functions, files and lines,
 * functions that were inlined included. Needs the files that the programs ran from, and so their
 * host. What it finds is appended to the sessions, with the text of the source files where the
 * program allowed that; a report does the same, and on its own uses what could not be written.
 * result and error may be NULL. 0 also where nothing was found. */
GPUFL_API int gpufl_symbolize(const char *path, int flags, struct gpufl_symbolized *result,
                              char *error, size_t error_size);

/* Writes the sessions under path in the public GPUFlight client's format below
 * dir, which is created: dir/<session>/<channel>.1.log.gz. error: as above.
 * GPUFL_E_STATE where a session is there already: nothing is overwritten. 0 also where parts of
 * a log are damaged: the rest is written, and error says so; else it is "". */
GPUFL_API int gpufl_export_gpuflight(const char *path, const char *dir, char *error,
                                     size_t error_size);

/* ---- rows as columns ------------------------------------------------------------------------ */

/* A session that was read. One thread at a time may use it; texts and data that it hands out are
 * valid until gpufl_tables_close, and are not to be changed. */
struct gpufl_tables;

/* What a session says of itself. Times are ns since the Unix epoch; without a clock in the log they
 * are on the program's own clock. */
struct gpufl_session {
    size_t size; /* sizeof of the caller's struct, set by the caller */
    char id[128], app[256], engine[64], backend[64];
    bool simulated;
    bool ended;       /* an end was written; end_ns is 0 otherwise */
    bool epoch_known; /* times are ns since the Unix epoch */
    int64_t pid, start_ns, end_ns;
    uint64_t damaged_lines, unknown_lines; /* that were left out */
    uint64_t damaged_parts;                /* files that could not be read to their end */
    uint64_t missing_parts; /* numbers that are left out between files, and channels without any */
    char name[256];         /* of its folder; in the flat layout its prefix */
    char dir[4096];         /* where its files lie, as the path was given */
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

/* A column of a table. */
struct gpufl_column {
    size_t size; /* sizeof of the caller's struct, set by the caller */
    const char *name, *unit;
    enum gpufl_column_type type;
    int64_t rows;
    int64_t nulls;               /* cells that are unknown */
    const void *data;            /* rows cells */
    int64_t text_count;          /* of GPUFL_COLUMN_TEXT: distinct texts */
    const int32_t *text_offsets; /* where each begins in texts, and the end of the last */
    const char *texts;           /* UTF-8, one after the other */
};

/* Reads one session below path, all its parts, ours or the public client's: the one whose folder
 * (in the flat layout: prefix) is named session; NULL or "": the one that was written last. *out:
 * to be closed. error as in gpufl_report. 0 also where parts are damaged: gpufl_tables_session
 * counts them. NOENT where there is no session, or none of that name. */
GPUFL_API int gpufl_tables_open(const char *path, const char *session, struct gpufl_tables **out,
                                char *error, size_t error_size);

/* Gives the session back; what gpufl_tables_arrow exported stays until it is released. NULL is
 * ignored. */
GPUFL_API void gpufl_tables_close(struct gpufl_tables *t);

/* Fills as many members of *out as its size says. */
GPUFL_API void gpufl_tables_session(const struct gpufl_tables *t, struct gpufl_session *out);

/* Name of the table, from 0; NULL after the last. Static storage; the same for every session. */
GPUFL_API const char *gpufl_tables_name(size_t index);

/* Name of the table's column, from 0; NULL after the last, and for an unknown table. */
GPUFL_API const char *gpufl_tables_column_name(const char *table, size_t index);

/* Fills *out with a column, which is made at its first use. 0, INVAL for a table or an index that
 * does not exist, NOMEM, FULL (texts of 2 GiB and more). */
GPUFL_API int gpufl_tables_column(struct gpufl_tables *t, const char *table, size_t index,
                                  struct gpufl_column *out);

/* Exports a table as a stream of Apache Arrow's C interface, with one batch: ints and doubles are
 * the memory of gpufl_tables_column, texts are dictionaries. stream: the caller's struct
 * ArrowArrayStream, which is released by its own function, on any thread, also after
 * gpufl_tables_close. Results as gpufl_tables_column. */
struct ArrowArrayStream;
GPUFL_API int gpufl_tables_arrow(struct gpufl_tables *t, const char *table,
                                 struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif
#endif
