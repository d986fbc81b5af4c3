/* operators.h - finds the operators of a framework on a stack with native frames: nodes of
 * PyTorch's autograd ("AddmmBackward0") and operations of ATen ("aten::mul.Tensor"), by the names
 * of the functions that PyTorch generates for them. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_OPERATORS_H
#define GPUFL_ANALYZE_MODEL_IDLE_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

struct model;

/* Finds the operators on a stack, "AddmmBackward0|aten::mm", the outermost first, as a name of the
 * model. node: in model.stacks. *path 0: there is none. 0 or GPUFL_E_NOMEM. */
int operators_find(struct model *m, uint32_t node, uint32_t *path);

/* Appends the innermost name in the first bytes of a path; nothing for no bytes. */
struct buf;
void operators_put_innermost(const struct model *m, uint32_t path, size_t bytes, struct buf *out);

#endif
