package commitlab;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.rocketmq.common.MQVersion;

/**
 * The command bench: measures what the plan in a directory says and leaves the result there.
 * The exchange is described by package bench/peer of the Go module, the rules of measuring
 * by bench/measure.
 *
 * <pre>
 * plan ─► throw-away store: the operation, until it is compiled
 *      ─► the store: set up ─► BenchLoad (warm-up, window, drain) ─► verify ─► close
 *      ─► latency.hlog, ticks.jsonl, outliers.jsonl, and last outcome.json
 * </pre>
 *
 * A run ends early, in order, when standard input ends. A run that failed leaves an outcome
 * like any other.
 */
final class Bench {
    /**
     * How long the operation is done before anything counts: by scenarios that write, on a store
     * of small files; by those that read, on their own. The others do the same again and again
     * for seconds, and compile it in their set-up.
     */
    private static final long COMPILE_NS = 1_500_000_000L;
    private static final int COMPILE_FILE_BYTES = 64 << 20;
    private static final List<String> WRITE = List.of("append", "append_sync", "dispatch");
    private static final List<String> READ = List.of("lookup", "get");

    private final Path dir;
    private final BenchPlan plan;
    private final BenchOutput output;
    private volatile BenchLoad current;
    private volatile boolean cancelled;

    private Bench(Path dir) throws IOException {
        this.dir = dir;
        plan = BenchPlan.read(dir.resolve("plan.json"));
        output = new BenchOutput(dir);
    }

    static void run(Path dir) throws Exception {
        Bench bench = new Bench(dir);
        bench.endWithStandardInput();
        BenchLoad load = null;
        String failure;
        try {
            load = bench.measure();
            failure = load == null ? null : load.failure();
        } catch (Throwable e) {
            e.printStackTrace();
            load = bench.current;
            failure = e.getMessage() == null ? e.toString() : e.getMessage();
        }
        bench.output.end(load, bench.cancelled, failure, target());
    }

    private void endWithStandardInput() {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { } // nothing is said there
            } catch (IOException e) {
                // whatever ended it, it has ended
            }
            cancelled = true;
            BenchLoad load = current;
            if (load != null) {
                load.cancel();
            }
        }, "stdin");
        watch.setDaemon(true);
        watch.start();
    }

    /** Null if the run was cancelled before it began. */
    private BenchLoad measure() throws Exception {
        if (WRITE.contains(plan.scenario)) {
            Path away = dir.resolve("warm-up");
            BenchScenario first = scenario(plan.warmUp(COMPILE_NS), away, COMPILE_FILE_BYTES);
            first.setUp();
            compile(first);
            first.close();
            remove(away);
        }
        BenchScenario scenario = scenario(plan, dir.resolve("store"), 0);
        scenario.setUp();
        if (READ.contains(plan.scenario)) {
            compile(scenario);
        }
        System.gc(); // what comes before is not part of it
        BenchLoad load = new BenchLoad(plan, scenario, output);
        output.of(load);
        if (!begin(load)) {
            return null;
        }
        load.run();
        if (load.hung) {
            load.fail(new IllegalStateException("operations did not return within the drain"));
        } else if (load.failure() == null) {
            scenario.verify();
        }
        return load; // the store ends with the process, and its files with the run
    }

    /** Does the operation until it is compiled. A run that fails here would fail when it is measured. */
    private void compile(BenchScenario scenario) throws Exception {
        BenchLoad load = new BenchLoad(plan.warmUp(COMPILE_NS), scenario, null);
        if (!begin(load)) {
            return;
        }
        load.run();
        current = null;
        if (load.failure() != null) {
            throw new IllegalStateException("before the run: " + load.failure());
        }
    }

    /** False if the run was told to end. */
    private boolean begin(BenchLoad load) {
        current = load;
        if (cancelled) {
            load.cancel();
        }
        return !cancelled;
    }

    private static BenchScenario scenario(BenchPlan plan, Path dir, int fileBytes) {
        switch (plan.scenario) {
            case "append":
            case "append_sync":
                return new BenchAppend(plan, dir, fileBytes);
            case "dispatch":
                return new BenchFollow(plan, dir, fileBytes);
            case "dispatch_rebuild":
                return new BenchRebuild(plan, dir);
            case "lookup":
                return new BenchLookup(plan, dir);
            case "get":
                return new BenchGet(plan, dir);
            case "destroy":
                return new BenchDestroy(plan, dir);
            default:
                throw new IllegalArgumentException("scenario " + plan.scenario + " is not known");
        }
    }

    /** What was measured and on what. */
    private static JsonObject target() {
        JsonObject target = new JsonObject();
        target.addProperty("store", "RocketMQ " + MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION).substring(1).replace('_', '.'));
        target.addProperty("runtime", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        target.addProperty("flags", ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
            .filter(a -> !a.startsWith("--add-") && !a.startsWith("-Duser.home=")).collect(Collectors.joining(" ")));
        return target;
    }

    /** Removes a directory with all that is in it, if it is there. */
    static void remove(Path dir) throws IOException {
        if (!Files.exists(dir)) {
            return;
        }
        Files.walkFileTree(dir, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException e) throws IOException {
                if (e != null) {
                    throw e;
                }
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
