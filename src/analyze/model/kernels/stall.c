/* stall.c - see stall.h. */
#include "analyze/model/kernels/stall.h"

#include <string.h>

const struct stall stalls[] = {
#define STALL(name, class, waits, cause, next) {#name, STALL_##class, waits, cause, next},
#include "analyze/model/kernels/stall.def"
};

const size_t stall_count = sizeof stalls / sizeof *stalls;

#define UNKNOWN_CAUSE "a reason that this version does not know; its name is the driver's"
#define UNKNOWN_NEXT  "Look it up in the vendor's guide, and look at the instructions that wait."

const struct stall stall_unknown = {"", STALL_UNKNOWN, "something that the samples do not say",
                                    "a way of sampling that does not say why anything waits",
                                    "Look at the instructions that have most samples."};

const struct stall *stall_find(const char *name)
{
    static const struct {
        const char *word;
        struct stall row;
    } words[] = {
        {"mem", {"", STALL_MEMORY, "memory, by its name", UNKNOWN_CAUSE, UNKNOWN_NEXT}},
        {"pipe", {"", STALL_PIPE, "a pipe, by its name", UNKNOWN_CAUSE, UNKNOWN_NEXT}},
        {"exec", {"", STALL_EXECUTION, "execution, by its name", UNKNOWN_CAUSE, UNKNOWN_NEXT}},
        {"", {"", STALL_OTHER, "a reason of that name", UNKNOWN_CAUSE, UNKNOWN_NEXT}},
    };
    for (size_t i = 0; i < stall_count; i++)
        if (!strcmp(stalls[i].name, name))
            return &stalls[i];
    size_t w = 0;
    while (!strstr(name, words[w].word))
        w++;
    return &words[w].row;
}
