/* json.h - the sections of the JSON report, and what they share. Owner's thread.
 *
 * A section puts its members into the report's object. Its failure goes to the json_out, whose
 * finish returns it. json.c has the table of sections. */
#ifndef GPUFL_ANALYZE_REPORT_JSON_H
#define GPUFL_ANALYZE_REPORT_JSON_H

#include "analyze/common/json_out.h"
#include "analyze/report/report.h"

/* A kernel's demangled name, or null for 0 and names that are empty. */
void json_kernel_name(const struct model *m, struct json_out *j, const char *key, uint32_t name);
/* The member short_name: a kernel's short name, or null where json_kernel_name gives null. */
void json_short_name(const struct model *m, struct json_out *j, uint32_t name);
/* The members place, file, line, function, symbol and in_library of a place in model.stacks; null
 * where they are not known. */
void json_place(const struct model *m, struct json_out *j, uint32_t place);
/* The same members for the line of device code that a finding is at. */
void json_code_place(const struct model *m, struct json_out *j, const struct insight *i);
/* The lines of a buf as an array of strings; the buf's failure becomes the report's. */
void json_put_sentences(struct json_out *j, const char *key, struct buf *text);
/* A finding's member passes: numbers of those that it rests on, where there are some. */
void json_evidence(const struct report *r, struct json_out *j, const struct insight *i);

/* answer_json.c: the member answer */
void json_answer(const struct report *r, struct json_out *j);

/* time.c: the member time */
void json_time(const struct report *r, struct json_out *j);

/* idle_json.c */
void json_idle(const struct report *r, struct json_out *j);

/* insights_json.c */
void json_insights(const struct report *r, struct json_out *j);
void json_sync_lines(const struct report *r, struct json_out *j);

/* json_ledger.c */
void json_ledger(const struct report *r, struct json_out *j);
void json_settings(const struct report *r, struct json_out *j);
void json_capabilities(const struct report *r, struct json_out *j);
void json_options(const struct report *r, struct json_out *j);
void json_messages(const struct report *r, struct json_out *j);
void json_known(const struct report *r, struct json_out *j);

/* json_tables.c */
void json_devices(const struct report *r, struct json_out *j);
void json_host(const struct report *r, struct json_out *j);
void json_kernels(const struct report *r, struct json_out *j);
void json_transfers(const struct report *r, struct json_out *j); /* the members copies and fills */
void json_waits(const struct report *r, struct json_out *j);     /* the member synchronizations */
void json_overhead(const struct report *r, struct json_out *j);
void json_graphs(const struct report *r, struct json_out *j);
void json_memory(const struct report *r, struct json_out *j);
void json_managed(const struct report *r, struct json_out *j);
void json_external(const struct report *r, struct json_out *j);

/* profile_json.c; code only where options.kernel names a kernel */
void json_samples(const struct report *r, struct json_out *j);
void json_instructions(const struct report *r, struct json_out *j);
void json_counters(const struct report *r, struct json_out *j);
void json_code(const struct report *r, struct json_out *j);

/* kernel_counters.c */
void json_kernel_counters(const struct report *r, struct json_out *j);
/* passes_tables.c: the member groups, where there are some */
void json_passes(const struct report *r, struct json_out *j);
/* scopes_json.c: the members scope_paths, scopes and outside_scopes */
void json_scopes(const struct report *r, struct json_out *j);
/* shared.c: the member shared_samples */
void json_shared(const struct report *r, struct json_out *j);

#endif
