package commitlab;

/**
 * What one worker keeps of what it put, to be checked afterwards: every k-th message, k
 * doubling whenever there are too many.
 */
final class BenchSample {
    private static final int MOST = 256;

    private final long[][] kept = new long[MOST][]; // sequence, physical offset, queue offset
    private int count;
    private long every = 1;
    private long offered;

    void offer(long sequence, long physicalOffset, long queueOffset) {
        if (offered++ % every != 0) {
            return;
        }
        if (count == MOST) {
            for (int i = 0; i < MOST / 2; i++) {
                kept[i] = kept[2 * i];
            }
            count = MOST / 2;
            every *= 2;
            if ((offered - 1) % every != 0) {
                return;
            }
        }
        kept[count++] = new long[] {sequence, physicalOffset, queueOffset};
    }

    long[][] kept() {
        return java.util.Arrays.copyOf(kept, count);
    }
}
