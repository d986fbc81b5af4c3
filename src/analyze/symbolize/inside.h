/* inside.h - has what the files of symbolize share: symbolize.c collects rows; frames.c, code.c,
 * sources.c and ptx.c look up and put answers into lines; shown.c finds which files reports point
 * at. */
#ifndef GPUFL_ANALYZE_SYMBOLIZE_INSIDE_H
#define GPUFL_ANALYZE_SYMBOLIZE_INSIDE_H

#include "analyze/symbolize/symbolize.h"
#include "base/intern.h"
#include "symbol/fold.h"
#include "symbol/source_file.h"
#include "wire/rowset.h"

/* This is a text of the session, by its number in texts. */
struct symbolize_text {
    uint32_t number;
    uint32_t id;  /* id of the name in the session; 0: it has none yet */
    bool written; /* it is among the lines */
    bool kept;    /* it is the path of a source whose text is kept */
    bool wanted;  /* a frame is in this file */
    bool user;    /* that frame is in the user's own code */
    bool shown;   /* it is a library's file, and a report points at a line of it */
};

/* Says how many cells a level of inlining has, in this order: frame, level, number of the
 * function's text, number of the file's text, line. */
enum { SYMBOLIZE_LEVEL_CELLS = 5 };

struct vendor;

struct symbolize {
    const struct discover_session *session;
    int lock;                  /* -1: another process has it */
    bool over;                 /* the program has ended */
    bool ended;                /* the log has an `end` row */
    bool ending_known;         /* the session says how it ended */
    int flags;                 /* see gpufl_symbolize */
    struct wire_header header; /* its texts are owned */
    bool has_header;
    struct intern *texts;        /* owned */
    struct symbolize_text *text; /* owned; by number */
    size_t text_count, text_cap;
    uint32_t *number_of; /* owned: id of a name to the number of its text; 0: unknown */
    size_t name_count, name_cap;
    int64_t last_id;                  /* the highest id of a name that occurs */
    struct rowset modules, frames;    /* rows of these records, by id */
    struct rowset known;              /* ids of frames that have symbols */
    struct rowset stacks;             /* rows of stack, by id */
    struct rowset levels;             /* by frame and level */
    struct rowset objects, functions; /* device code: rows of these records, by id */
    struct rowset disassembled;       /* ids of functions whose instructions have text */
    struct rowset lined;   /* ids of functions with instructions that have text or lines */
    uint64_t source_bytes; /* kept in the session */
    bool sources;          /* texts of sources are wanted */
    struct buf lines;
    size_t *ends; /* owned: of batches in lines */
    size_t end_count, end_cap;
    int code; /* the first error of putting a line */
    struct symbolize_stats stats;
    struct {
        bool on;
        int64_t begun, said; /* ns; said: the last message, 0: none yet */
    } progress;
};

/* Returns the number of a text; 0: out of memory, or too many texts. */
uint32_t symbolize_text_number(struct symbolize *z, const char *text, size_t len);

/* Returns the number of the text of a name; 0: unknown. */
uint32_t symbolize_name_number(const struct symbolize *z, int64_t id);

/* Returns the text of a number; "" for 0. */
const char *symbolize_text(const struct symbolize *z, uint32_t number);

/* Returns the id of a text, for a cell. A text without an id gets one, and its line is put. 0 for
 * 0. */
int64_t symbolize_put_name(struct symbolize *z, uint32_t number);

/* Puts a text that nothing else refers to. Returns its id. */
int64_t symbolize_put_piece(struct symbolize *z, const char *text, size_t len);

/* Ends a batch of lines if it is large enough or the last one. */
void symbolize_end_batch(struct symbolize *z, bool last);

/* The functions show on the terminal how much of the work is done, if symbolize_progress was called
 * and the work takes over a second. Begin and end enclose all kinds of work. */
void symbolize_progress_begin(struct symbolize *z);
void symbolize_progress_say(struct symbolize *z, const char *what, size_t done, size_t all);
void symbolize_progress_end(struct symbolize *z);

/* Marks the file of that name as one whose text is wanted. */
void symbolize_want(struct symbolize *z, uint32_t number, enum fold_language language);

/* Adds a function of a native frame, for symbolize_show. 0 or GPUFL_E_NOMEM. */
int symbolize_level(struct symbolize *z, const int64_t cells[SYMBOLIZE_LEVEL_CELLS]);

/* Finds which library files reports point at. Call after all levels. 0 or GPUFL_E_NOMEM. */
int symbolize_show(struct symbolize *z);

/* Looks up the frames that have no symbols. lacks (as large as stats.note) gets why this machine
 * gives no lines, or "". 0, GPUFL_E_NOMEM or _FULL. */
int symbolize_frames(struct symbolize *z, char *lacks);

/* Looks up device code without instructions, if the program has ended and this host wrote the
 * session (here). lacks: as above; stats.code_note has further reasons, also those that no lookup
 * could change. 0 or GPUFL_E_NOMEM. */
int symbolize_code(struct symbolize *z, bool here, char *lacks);

/* Finds the path of kept device code. Returns its vendor; NULL: the name is not one of ours. */
const struct vendor *symbolize_kept_code(const struct symbolize *z, const int64_t *object,
                                         char *path, size_t size);

/* Puts the text of a source, in pieces; path: number of its path. */
void symbolize_keep(struct symbolize *z, uint32_t path, const struct source_file *f);

/* Puts how the program ended, if the session does not say that. */
void symbolize_ending(struct symbolize *z);

/* Keeps the PTX of functions whose cubin contains it. */
void symbolize_ptx(struct symbolize *z);

/* Keeps the texts of the user's files and of the library files that reports point at. 0 or
 * GPUFL_E_NOMEM. */
int symbolize_sources(struct symbolize *z);

#endif
