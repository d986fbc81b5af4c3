/* test_abi_dw.c - tests our declarations of libdw against its headers, if this machine has them;
 * without them the test is skipped and says so. */
#include "tests/test.h"
#include "tests/unit/support/abi.h"

#include <stdio.h>

#ifdef GPUFL_HAVE_LIBDW_H
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "symbol/dwarf/dw.h"

FIELD(dw_die, addr, Dwarf_Die, addr);
FIELD(dw_die, unit, Dwarf_Die, cu);
FIELD(dw_die, abbrev, Dwarf_Die, abbrev);
SAME(sizeof(struct dw_die), sizeof(Dwarf_Die));
FIELD(dw_attr, code, Dwarf_Attribute, code);
FIELD(dw_attr, form, Dwarf_Attribute, form);
FIELD(dw_attr, value, Dwarf_Attribute, valp);
FIELD(dw_attr, unit, Dwarf_Attribute, cu);
SAME(sizeof(struct dw_attr), sizeof(Dwarf_Attribute));
SAME(sizeof(uint64_t), sizeof(Dwarf_Addr));
SAME(sizeof(uint64_t), sizeof(Dwarf_Word));
SAME(sizeof(uint16_t), sizeof(Dwarf_Half));

SAME(DW_ELF_VERSION, EV_CURRENT);
SAME(DW_READ, DWARF_C_READ);
SAME(DW_UNIT_SKELETON, DW_UT_skeleton);
SAME(DW_TAG_CLASS, DW_TAG_class_type);
SAME(DW_TAG_LEXICAL_BLOCK, DW_TAG_lexical_block);
SAME(DW_TAG_COMPILE_UNIT, DW_TAG_compile_unit);
SAME(DW_TAG_STRUCTURE, DW_TAG_structure_type);
SAME(DW_TAG_UNION, DW_TAG_union_type);
SAME(DW_TAG_INLINED, DW_TAG_inlined_subroutine);
SAME(DW_TAG_MODULE, DW_TAG_module);
SAME(DW_TAG_SUBPROGRAM, DW_TAG_subprogram);
SAME(DW_TAG_NAMESPACE, DW_TAG_namespace);
SAME(DW_TAG_SKELETON_UNIT, DW_TAG_skeleton_unit);
SAME(DW_AT_NAME, DW_AT_name);
SAME(DW_AT_LANGUAGE, DW_AT_language);
SAME(DW_AT_COMP_DIR, DW_AT_comp_dir);
SAME(DW_LANG_ISO_C89, DW_LANG_C89);
SAME(DW_LANG_PLAIN_C, DW_LANG_C);
SAME(DW_LANG_ISO_C99, DW_LANG_C99);
SAME(DW_LANG_ISO_C11, DW_LANG_C11);
SAME(DW_AT_ABSTRACT_ORIGIN, DW_AT_abstract_origin);
SAME(DW_AT_SPECIFICATION, DW_AT_specification);
SAME(DW_AT_CALL_FILE, DW_AT_call_file);
SAME(DW_AT_CALL_LINE, DW_AT_call_line);
SAME(DW_AT_LINKAGE_NAME, DW_AT_linkage_name);
SAME(DW_AT_MIPS_LINKAGE_NAME, DW_AT_MIPS_linkage_name);

/* Each function is declared in the header. */
#define DECLARED(name, result, arguments) _Static_assert(sizeof(&name) == sizeof(void *), #name);
DW_FUNCTIONS(DECLARED)
#undef DECLARED
#define COMPARED 1
#else
#define COMPARED 0
#endif

TEST(test_declarations)
{
    if (!COMPARED) {
        print_message("skipped: no headers of libdw here (libdw-dev)\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_declarations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
