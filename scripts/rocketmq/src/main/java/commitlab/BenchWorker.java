package commitlab;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One caller of {@link BenchScenario#op}, on a thread of its own. Fields without a remark
 * belong to that thread. The rules of what counts are those of bench/measure.
 */
final class BenchWorker implements Runnable {
    final int id;
    final SplittableRandom random;
    final BenchRecorder recorder;
    private final BenchLoad load;
    private final BenchScenario scenario;

    // The current operation:
    long n;
    long due;
    long start;
    long offset; // physical offset, noted by the scenario; -1 for none
    private boolean measuring; // it belongs to the window

    /**
     * Due time + 1 of an operation under way; 0 outside. Read by the run when it gives up;
     * cleared within the recorder's section, so that no operation is both recorded and given up.
     */
    final AtomicLong inside = new AtomicLong();

    // The course of things if the generator had never been late.
    private long ideallyFree;

    BenchWorker(int id, BenchPlan plan, BenchLoad load, BenchScenario scenario) {
        this.id = id;
        this.load = load;
        this.scenario = scenario;
        random = new SplittableRandom(plan.seed.longValue() * 31 + id);
        recorder = new BenchRecorder(plan.ops.size(), !plan.isClosed(), plan.outlierLimit);
    }

    @Override
    public void run() {
        try {
            long taken = 0;
            while (begin(taken++)) {
                measuring = due >= load.cut();
                offset = -1;
                inside.lazySet(due + 1);
                scenario.op(this);
                long end = load.now();
                long ideal = Math.max(due, ideallyFree);
                ideallyFree = ideal + end - start;
                long entered = recorder.enter();
                if (load.isAbandoned()) {
                    recorder.exit(entered);
                    return;
                }
                record(recorder.active(), end, ideal);
                inside.lazySet(0);
                recorder.exit(entered);
            }
        } catch (BenchScenario.End e) {
            inside.set(0);
            load.endEarly(e.getMessage());
        } catch (Throwable e) {
            long entered = recorder.enter();
            if (measuring) {
                recorder.active().failed++;
            }
            inside.set(0);
            recorder.exit(entered);
            load.fail(e);
        }
    }

    private boolean begin(long taken) throws InterruptedException {
        scenario.prepare(this);
        return load.begin(this, taken);
    }

    private void record(BenchBuffer b, long end, long ideal) {
        long cut = load.cut();
        long limit = load.end();
        if (end >= cut) {
            b.busyNs += Math.min(end, limit) - Math.min(Math.max(start, cut), limit);
            if (end <= limit) {
                b.ended++;
            }
        }
        if (!measuring) {
            return;
        }
        if (end <= limit) {
            b.done++;
        } else {
            b.late++;
        }
        BenchBuffer.Series[] series = b.series[0];
        series[BenchBuffer.SERVICE].record(end - start);
        long worst = end - start;
        if (series.length > 1) {
            worst = end - due;
            series[BenchBuffer.RESPONSE].record(worst);
            series[BenchBuffer.SLIP].record(start - due);
            series[BenchBuffer.LAG].record(start - ideal);
        }
        if (load.isOutlier(worst)) {
            b.outlier(n, due, start, end, offset);
        }
    }

    /** The run's clock. */
    long now() {
        return load.now();
    }

    /** Records the duration of an operation inside the current one, by its place among the plan's operations. */
    void observe(int op, long ns) {
        if (!measuring) {
            return;
        }
        long entered = recorder.enter();
        recorder.active().series[op][BenchBuffer.SERVICE].record(ns);
        recorder.exit(entered);
    }
}
