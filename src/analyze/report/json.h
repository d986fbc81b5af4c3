/* json.h - declares the sections of the JSON report, and what they share. Called by the owner's
 * thread only.
 *
 * A section puts its members into the report's object. A failure is kept in the json_out, and
 * json_out_finish returns it. sections.def lists all sections. */
#ifndef GPUFL_ANALYZE_REPORT_JSON_H
#define GPUFL_ANALYZE_REPORT_JSON_H

#include "analyze/common/json_out.h"
#include "analyze/report/report.h"

/* Puts a kernel's demangled name, or null for 0 and for an empty name. */
void json_kernel_name(const struct model *m, struct json_out *j, const char *key, uint32_t name);
/* Puts the member short_name: a kernel's short name, or null if json_kernel_name gives null. */
void json_short_name(const struct model *m, struct json_out *j, uint32_t name);
/* Puts the members place, file, line, function, symbol and in_library of a place in model.stacks;
 * null if they are unknown. */
void json_place(const struct model *m, struct json_out *j, uint32_t place);
/* Puts these members for a finding's line of device code. */
void json_code_place(const struct model *m, struct json_out *j, const struct insight *i);
/* Returns the share base: "steady_part", "run" or "windows". */
const char *json_share_of(const struct model *m);
/* Puts the lines of a buf as an array of strings; an error of the buf becomes the report's. */
void json_put_sentences(struct json_out *j, const char *key, struct buf *text);
/* Puts a finding's member passes, the numbers of the passes with its evidence, if there are any. */
void json_evidence(const struct report *r, struct json_out *j, const struct insight *i);

/* The function is in kernels/counters.c. */
void json_kernel_counters(const struct report *r, struct json_out *j);

/* Writes the member answer, before all sections (answer_json.c). */
void json_answer(const struct report *r, struct json_out *j);

/* Lists the sections, each in the file of its subject. The section code appears only if
 * options.kernel names a kernel, groups only if there are any. */
#define SECTION(name, put) void put(const struct report *r, struct json_out *j);
#include "analyze/report/sections.def"

#endif
