package commitlab;

import java.nio.file.Path;

/**
 * Fills some files and takes them down: all but the last one go, whatever their age.
 * Operations: round, all of it, and expire, from the call of the store's own deletion to its
 * return, when the files are gone. The steps within are not told apart: the store has no
 * place to look at them.
 */
final class BenchDestroy extends BenchAppend {
    private static final int EXPIRE = 1;
    private static final int BETWEEN_FILES_MS = 1;
    private static final long FORCE_AFTER_MS = 500;

    private final long fill; // bytes put in a round

    BenchDestroy(BenchPlan plan, Path dir) {
        super(plan, dir, 0);
        fill = Math.max(plan.maxBytes, Long.parseLong(plan.store.get("mappedFileSizeCommitLog")));
    }

    /** The log may grow to any offset: what was filled goes. */
    @Override
    boolean endsWhenFull() {
        return false;
    }

    @Override
    public void op(BenchWorker w) throws Exception {
        for (long filled = 0; filled < fill; ) {
            filled += put(w.id).getWroteBytes();
        }
        store.store.getCommitLog().flush();
        long start = w.now();
        if (store.store.getCommitLog().deleteExpiredFile(0, BETWEEN_FILES_MS, FORCE_AFTER_MS, true) < 1) {
            throw new IllegalStateException("no file was deleted");
        }
        w.observe(EXPIRE, w.now() - start);
    }
}
