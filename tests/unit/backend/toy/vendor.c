/* vendor.c - has facts of the toy vendor: see backend/vendor.h. */
#include "backend/vendor.h"

extern const struct vendor vendor_toy;

static const struct vendor_module modules[] = {
    {"libtoydrv", ".", false},
    {"libtoyrt", ".-", true},
    {NULL, NULL, false},
};

static const struct vendor_rule rules[] = {
    {VENDOR_FUNCTION, VENDOR_API, "toy", true, true},
    {VENDOR_MODULE, VENDOR_BEGINS, "/opt/toy/", false, false},
    {VENDOR_FILE, VENDOR_HAS, NULL, false, false},
};

const struct vendor vendor_toy = {
    .name = "toy",
    .injection = "TOY_TOOLS_LIB",
    .modules = modules,
    .rules = rules,
};
