/* page.h - declares the sections of the text report, and what they share. Called by the owner's
 * thread only.
 *
 * A section prints its heading and its tables. text.c has the table of sections. */
#ifndef GPUFL_ANALYZE_REPORT_PAGE_H
#define GPUFL_ANALYZE_REPORT_PAGE_H

#include "analyze/report/report.h"

enum { PAGE_WIDE = 100 /* columns with room for everything */ };

struct page {
    const struct report *report;
    const struct model *model;
    FILE *out;
    int width;
    bool color;
    bool begun;        /* the page has text already: an empty line precedes a heading */
    unsigned headings; /* that were printed */
    int code;          /* first failure */
};

struct grid;

/* ---- lines of text ---- */

void page_heading(struct page *p, const char *title);
/* Writes a line of text, wrapped at the width and indented by two columns. */
void page_text(const struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a line that begins with a name: " program train.py, pid 4711". */
void page_fact(const struct page *p, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes sentences, one in each line (LF), each wrapped after `lead`. */
void page_sentences(const struct page *p, const char *lead, const char *lines);
/* Wraps a text at the page's width, the first line after `lead`, and empties it. */
void page_item(struct page *p, const char *lead, struct buf *text);
/* Says why a table has no row: findings_put_none as a sentence. */
void page_none(struct page *p, const char *feature);
/* Prints a table at the page's width and frees it. */
void page_grid(struct page *p, struct grid *g);

/* ---- sections, in the order of the page ---- */

void page_simulated(struct page *p);      /* head.c */
void page_head(struct page *p);           /* first.c: what ran, and what is wrong with it */
void page_few_sessions(struct page *p);   /* first.c */
void page_steps(struct page *p);          /* steps.c */
void page_time(struct page *p);           /* time.c: one bar */
void page_host_first(struct page *p);     /* host_time.c: the host's time, if there is no bar */
void page_first_findings(struct page *p); /* first.c: what to change first */
void page_next(struct page *p);           /* first.c: the next command */
void page_passes(
    struct page *p); /* passes_tables.c: the passes, what each gives, and whether they were alike */
void page_sessions(struct page *p);   /* head.c */
void page_summary(struct page *p);    /* head.c: where the time went */
void page_insights(struct page *p);   /* insights.c */
void page_session(struct page *p);    /* head.c */
void page_ledger(struct page *p);     /* ledger.c */
void page_kernels(struct page *p);    /* tables.c */
void page_profile(struct page *p);    /* kernels/profile.c */
void page_transfers(struct page *p);  /* tables.c */
void page_wait_lines(struct page *p); /* wait_lines.c */
void page_idle(struct page *p);       /* idle.c */
void page_host_time(struct page *p);  /* host_time.c */
void page_waits(struct page *p);      /* tables.c */
void page_scopes(struct page *p);     /* scopes/scopes.c */
void page_marks(struct page *p);      /* scopes/marks.c */
void page_metrics(struct page *p);    /* metrics.c */
void page_messages(struct page *p);   /* ledger.c */

/* ---- parts of sections ---- */

void page_first_lines(struct page *p); /* insights.c: the findings that come first */
void page_brief(struct page *p);       /* head.c: the summary with these findings */
void page_cost(struct page *p);        /* ledger.c: what capturing cost the program, in a line */
/* Appends a finding's title and its place; a place inside the title is left out. */
void page_put_headline(const struct model *m, const struct insight *i, struct buf *out);
void page_steps_fact(struct page *p);    /* steps.c: how many, and the share base */
void page_flaws(struct page *p);         /* head.c: no clean end, damage, another engine */
void page_occupancy(struct page *p);     /* kernels/occupancy.c */
void page_scope_samples(struct page *p); /* scopes/samples.c */
void page_shared(struct page *p);        /* shared.c: whose samples they are */
/* Appends "train.py:18 parse()", the line of a place and its function (idle.c). */
void page_put_line(const struct model *m, uint32_t place, struct buf *out);
/* Appends the innermost Python frame of a stack below its place, if there is one (idle.c). */
void page_put_inner(const struct model *m, uint32_t place, uint32_t node, struct buf *out);
/* Prints the fork below a line: the functions with parts of its time (idle.c). */
struct idle_fork;
void page_branches(struct page *p, uint32_t place, const struct idle_fork *f);
/* Says if many samples of threads came late: threads that lose their core are then seen too often
 * (idle.c). */
void page_late(struct page *p);
/* Returns what a thread was doing, for people: "running", "waited for the GIL" (idle.c). */
const char *page_doing(uint32_t doing);
/* Appends " Of pass 2 (PcSampling)." if the kind of data comes from a pass. */
void page_of_pass(struct page *p, unsigned kind);
/* Appends a sentence with the passes that a finding's evidence is from; nothing if there are no
 * passes. */
void page_evidence(struct page *p, const struct insight *i, struct buf *out);
/* Puts four cells: the number of a counter's values, their mean, the least and the greatest. */
void report_put_values(struct grid *g, const struct counter_sum *c);
/* Explains below a table of counters what the driver's names do not say. kernel 0: all kernels. */
void page_counters_note(struct page *p, uint32_t kernel);
/* Prints hardware counters of the kernels that options.kernel names. Returns the number of
 * counters, with those that --top leaves out. */
size_t page_kernel_counters(struct page *p);

/* Returns the width of the page in columns. */
int report_width(const struct report *r);

#endif
