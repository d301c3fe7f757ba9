package commitlab;

import com.google.gson.Gson;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What to measure: plan.json as the load generator writes it. Names and units are those of
 * package bench/peer, which describes the exchange.
 */
final class BenchPlan {
    static final String SCHEMA = "commitlab.peer/1";

    String schema;
    String scenario;
    List<String> ops; // the primary one first
    int workers;
    double ratePerSecond; // 0 for a closed loop
    long warmupNs;
    long durationNs;
    long drainNs;
    long tickNs;
    long outlierOverNs;
    int outlierLimit;
    BigInteger seed;
    Workload workload;
    long maxBytes;
    String flush;
    String dispatch;
    Map<String, String> store;

    /** The part that {@link BenchWorkload} reads. */
    static final class Workload {
        BigInteger seed = BigInteger.ZERO;
        String body;
        int topics = 1;
        int queues = 1;
        int tags;
        long keys;
        int keysPerMessage = 1;
        boolean uniqueKeys;
    }

    static BenchPlan read(Path file) throws IOException {
        BenchPlan plan = new Gson().fromJson(Files.readString(file), BenchPlan.class);
        if (plan == null || !SCHEMA.equals(plan.schema)) {
            throw new IOException(file + ": schema is " + (plan == null ? null : plan.schema) + ", want " + SCHEMA);
        }
        return plan;
    }

    /** The same operations as fast as they go, for so long, and nothing of it kept. */
    BenchPlan warmUp(long lengthNs) {
        BenchPlan plan = new BenchPlan();
        plan.scenario = scenario;
        plan.ops = ops;
        plan.workers = workers;
        plan.durationNs = lengthNs;
        plan.drainNs = drainNs;
        plan.tickNs = tickNs;
        plan.outlierOverNs = outlierOverNs;
        plan.outlierLimit = outlierLimit;
        plan.seed = seed;
        plan.workload = workload;
        plan.maxBytes = Long.MAX_VALUE;
        plan.flush = flush;
        plan.dispatch = dispatch;
        plan.store = store;
        return plan;
    }

    boolean isClosed() {
        return ratePerSecond == 0;
    }

    boolean dispatches() {
        return "on".equals(dispatch);
    }

    /** When operation n is due, from the start of the run. Divided anew each time, so that nothing adds up. */
    long due(long n) {
        double ns = n / ratePerSecond * 1e9;
        return ns >= Long.MAX_VALUE ? Long.MAX_VALUE : (long) ns;
    }
}
