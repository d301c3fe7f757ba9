package commitlab;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * What all workers recorded within one interval of the window; the last one also holds what
 * ended in the drain. Times are nanoseconds on the run's clock. Built and read by the run's
 * thread.
 */
final class BenchTick {
    static final String HICCUP = "hiccup";

    /** The sum of one operation and kind. */
    static final class Sum {
        final Histogram histogram = new Histogram(BenchBuffer.LOWEST_NS, BenchBuffer.HIGHEST_NS, BenchBuffer.DIGITS);
        long max;
        long over;
    }

    final long fromNs;
    final long toNs;
    final Map<String, Sum> sums = new LinkedHashMap<>(); // by tag; only what is not empty
    final List<long[]> outliers = new ArrayList<>(); // worker, n, due, start, end, offset or -1
    long done;
    long late;
    long failed;
    long ended;
    long busyNs;
    long outliersDropped;
    JsonObject counters;

    BenchTick(long fromNs, long toNs) {
        this.fromNs = fromNs;
        this.toNs = toNs;
    }

    /** Adds a worker's buffer and empties it. */
    void take(int worker, List<String> ops, BenchBuffer b) {
        for (int op = 0; op < b.series.length; op++) {
            for (int kind = 0; kind < b.series[op].length; kind++) {
                take(ops.get(op) + "." + BenchBuffer.KINDS[kind], b.series[op][kind]);
            }
        }
        for (int i = 0; i < b.outlierCount; i++) {
            long[] o = b.outliers[i];
            outliers.add(new long[] {worker, o[0], o[1], o[2], o[3], o[4]});
        }
        done += b.done;
        late += b.late;
        failed += b.failed;
        ended += b.ended;
        busyNs += b.busyNs;
        outliersDropped += b.outliersDropped;
        b.reset();
    }

    void take(String tag, BenchBuffer.Series series) {
        if (series.histogram.getTotalCount() == 0) {
            return;
        }
        Sum sum = sums.computeIfAbsent(tag, t -> new Sum());
        sum.histogram.add(series.histogram);
        sum.max = Math.max(sum.max, series.max);
        sum.over += series.over;
    }

    boolean isEmpty() {
        return failed == 0 && sums.keySet().stream().allMatch(HICCUP::equals);
    }
}
