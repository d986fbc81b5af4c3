/* json.h - the sections of the JSON report, and what they share. Owner's thread.
 *
 * A section puts its members into the report's object. Its failure goes to the json_out, whose
 * finish returns it. sections.def has them all. */
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
/* Writes these members of the line of device code that a finding is at. */
void json_code_place(const struct model *m, struct json_out *j, const struct insight *i);
/* The share base: "steady_part", "run" or "windows". */
const char *json_share_of(const struct model *m);
/* The lines of a buf as an array of strings; the buf's failure becomes the report's. */
void json_put_sentences(struct json_out *j, const char *key, struct buf *text);
/* A finding's member passes: numbers of those that it rests on, where there are some. */
void json_evidence(const struct report *r, struct json_out *j, const struct insight *i);

/* kernels/counters.c */
void json_kernel_counters(const struct report *r, struct json_out *j);

/* The member answer, before all sections: answer_json.c. */
void json_answer(const struct report *r, struct json_out *j);

/* The sections, each in the file of its subject. Code is only where options.kernel names a kernel,
 * groups only where there are some. */
#define SECTION(name, put) void put(const struct report *r, struct json_out *j);
#include "analyze/report/sections.def"

#endif
