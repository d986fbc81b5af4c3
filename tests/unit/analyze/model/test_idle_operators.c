/* test_idle_operators.c - checks which operators of a framework are found on stacks, and that idle
 * time by line has the one with half of it. */
#include "analyze/model/idle/operators.h"
#include "tests/test.h"

#include "analyze/model/idle/table.h"
#include "base/alloc.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <string.h>

enum { MAIN = 1 };

static const char node_mm[] =
    "_ZN5torch8autograd9generated11MmBackward05applyEOSt6vectorIN2at6TensorESaIS4_EE",
                  op_mm[] = "_ZN2at4_ops2mm4callERKNS_6TensorES4_",
                  op_mm_again[] =
                      "_ZN2at4_ops2mm10redispatchEN3c1014DispatchKeySetERKNS_6TensorES6_",
                  op_add[] = "_ZN2at4_ops11add__Scalar4callERNS_6TensorERKN3c106ScalarES7_",
                  kernel_mm[] = "_ZN2at6native11mm_out_cudaEv";

/* Adds a native frame with that function, called by stack `parent`; returns the stack's id. */
static int64_t frame(struct program *p, int64_t parent, const char *function)
{
    int64_t id, stack = program_native(p, parent, "/usr/lib/libtorch.so", 4096 + p->ids, &id);
    program_symbol(p, id, 0, function, NULL, 0, STACKS_FUNCTION_ONLY);
    return stack;
}

static int64_t frames(struct program *p, int64_t parent, const char *const *functions)
{
    for (; *functions; functions++)
        parent = frame(p, parent, *functions);
    return parent;
}

/* Checks the path of a stack of these functions, the outermost first; NULL: none. */
static void check(const char *const *functions, const char *path)
{
    struct program p;
    struct model m;
    uint32_t found;
    program_init(&p, "operators");
    int64_t python = program_python(&p, 0, "train.py", "step", 90),
            stack = frames(&p, python, functions);
    program_sync(&p, WAIT_STREAM, stack, MAIN);
    program_end(&p);
    model_init(&m, names);
    program_read(&p, &m);
    assert_int_equal(m.wait_lines.stacks.count, 2); /* with item 0 */
    const struct wait_stack *s = keyed_at(&m.wait_lines.stacks, 1);
    assert_int_equal(operators_find(&m, s->node, &found), 0);
    if (path)
        assert_string_equal(model_text(&m, found), path);
    else
        assert_int_equal(found, 0);
    model_fini(&m);
    program_fini(&p);
}

TEST(test_names)
{
    check((const char *const[]){node_mm, op_mm, op_mm_again, kernel_mm, NULL},
          "MmBackward0|aten::mm");
    check((const char *const[]){op_add, NULL}, "aten::add_.Scalar");
    check((const char *const[]){op_mm, op_add, op_mm, NULL}, "aten::mm|aten::add_.Scalar|aten::mm");
    check((const char *const[]){"_ZN2at4_ops17pow_Tensor_Scalar4callEv", NULL},
          "aten::pow.Tensor_Scalar");
    check((const char *const[]){"_ZN2at4_ops24embedding_dense_backward4callEv", NULL},
          "aten::embedding_dense_backward");
}

TEST(test_other_functions)
{
    check((const char *const[]){kernel_mm, NULL}, NULL);
    check((const char *const[]){"_ZN2at4_ops2mm5otherEv", NULL}, NULL);
    check((const char *const[]){"_ZN2at4_ops99mm4callEv", NULL}, NULL); /* a wrong length */
    check((const char *const[]){"_ZN2at4_ops0mm4callEv", NULL}, NULL);
    check((const char *const[]){"_ZN2at4_ops99999999999999999999mm4callEv", NULL}, NULL);
    check((const char *const[]){"_ZN2at4_ops", NULL}, NULL);
    check((const char *const[]){"at::_ops::mm::call(at::Tensor const&)", NULL}, NULL);
}

/* Launches 100 times, of which `products` are of mm in MmBackward0, and the rest of add_. */
static struct idle_row slow_row(struct model *m, int products)
{
    struct program p;
    struct idle_table t;
    struct idle_row found = {0};
    program_init(&p, "slow");
    int64_t python = program_python(&p, 0, "train.py", "step", 90),
            product = frames(&p, python, (const char *const[]){node_mm, op_mm, NULL}),
            sum = frames(&p, python, (const char *const[]){op_add, NULL});
    for (int i = 0; i < 100; i++) {
        p.now = p.gpu > p.now ? p.gpu : p.now;
        program_work(&p, 30000);
        program_capture(&p, 1, MAIN, i < products ? product : sum);
        program_launch(&p, (struct program_kernel){.ns = 2000, .thread = MAIN});
    }
    program_end(&p);
    model_init(m, names);
    program_read(&p, m);
    rows_check_idle(m);
    program_fini(&p);
    assert_int_equal(idle_table_make(m, &t), 0);
    for (size_t i = 0; i < t.count && !found.ns; i++)
        if (t.rows[i].cause == IDLE_SLOW && t.rows[i].ended_by)
            found = t.rows[i];
    idle_table_fini(&t);
    return found;
}

static void check_row(int products, const char *op)
{
    struct model m;
    struct idle_row row = slow_row(&m, products);
    struct buf name;
    buf_init(&name, 4096);
    assert_true(row.ns > 2000000);
    operators_put_innermost(&m, row.ops, row.ops_bytes, &name);
    assert_string_equal(buf_cstr(&name), op);
    buf_fini(&name);
    model_fini(&m);
}

TEST(test_operator_of_a_line)
{
    check_row(60, "aten::mm");
    check_row(40, "aten::add_.Scalar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_other_functions),
        cmocka_unit_test(test_operator_of_a_line),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
