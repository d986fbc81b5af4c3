/* plt_caller.c - is a library for test_plt.c that calls another one. It is built twice: with cells
 * that are filled at the first call, and with cells that are filled at loading and read-only from
 * then on. */
int sample_one(void);
__attribute__((visibility("default"))) int caller_call(void);
__attribute__((visibility("default"))) int (*caller_pointer(void))(void);

int caller_call(void)
{
    return sample_one();
}

int (*caller_pointer(void))(void)
{
    return sample_one;
}
