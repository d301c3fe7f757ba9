package commitlab;

import org.HdrHistogram.IntCountsHistogram;

/** What one worker records within one interval. Plain memory: see {@link BenchRecorder}. */
final class BenchBuffer {
    static final int SERVICE = 0;
    static final int RESPONSE = 1;
    static final int SLIP = 2;
    static final int LAG = 3;
    static final String[] KINDS = {"service", "response", "slip", "lag"};

    static final long LOWEST_NS = 1;
    static final long HIGHEST_NS = 100_000_000_000L;
    static final int DIGITS = 3;

    /** One operation and kind. */
    static final class Series {
        final IntCountsHistogram histogram = new IntCountsHistogram(LOWEST_NS, HIGHEST_NS, DIGITS);
        long max;
        long over; // longer than the histogram's range; they stand in its last cell

        void record(long ns) {
            long value = Math.max(ns, 0);
            max = Math.max(max, value);
            if (value > HIGHEST_NS) {
                over++;
                value = HIGHEST_NS;
            }
            histogram.recordValue(value);
        }

        void reset() {
            if (histogram.getTotalCount() > 0) {
                histogram.reset();
            }
            max = over = 0;
        }
    }

    final Series[][] series; // by operation and kind; only the primary one of an open loop has all kinds

    // Of primary operations that belong to the window:
    long done; // ended well, inside the window
    long late; // ended well, after it
    long failed;

    // Of whatever the worker did in the window, also for operations due before it:
    long ended;
    long busyNs;

    final long[][] outliers; // n, due, start, end, offset or -1
    int outlierCount;
    long outliersDropped;

    BenchBuffer(int ops, boolean open, int outlierLimit) {
        series = new Series[ops][];
        for (int op = 0; op < ops; op++) {
            series[op] = new Series[op == 0 && open ? KINDS.length : 1];
            for (int kind = 0; kind < series[op].length; kind++) {
                series[op][kind] = new Series();
            }
        }
        outliers = new long[outlierLimit][5];
    }

    void outlier(long n, long due, long start, long end, long offset) {
        if (outlierCount == outliers.length) {
            outliersDropped++;
            return;
        }
        long[] o = outliers[outlierCount++];
        o[0] = n;
        o[1] = due;
        o[2] = start;
        o[3] = end;
        o[4] = offset;
    }

    void reset() {
        for (Series[] op : series) {
            for (Series s : op) {
                s.reset();
            }
        }
        done = late = failed = ended = busyNs = outliersDropped = 0;
        outlierCount = 0;
    }
}
