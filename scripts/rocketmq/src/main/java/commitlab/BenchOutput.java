package commitlab;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.BufferedWriter;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.HistogramLogWriter;

/**
 * The files of a run, as package bench/peer reads them. Encoding an interval takes
 * milliseconds of a processor that the measured threads need, so ticks are kept and written
 * behind the run; a long one is written now and then, so that memory stays bounded.
 */
final class BenchOutput implements BenchLoad.Sink {
    private static final int KEPT_TICKS = 64;

    private final Path dir;
    private final PrintStream latency;
    private final HistogramLogWriter log;
    private final BufferedWriter ticks;
    private final BufferedWriter outliers;
    private final List<BenchTick> kept = new ArrayList<>();
    private int written;
    private BenchLoad load; // whose ticks come

    BenchOutput(Path dir) throws IOException {
        this.dir = dir;
        latency = new PrintStream(new FileOutputStream(dir.resolve("latency.hlog").toFile()), false);
        log = new HistogramLogWriter(latency);
        ticks = Files.newBufferedWriter(dir.resolve("ticks.jsonl"));
        outliers = Files.newBufferedWriter(dir.resolve("outliers.jsonl"));
        log.outputLogFormatVersion();
        log.outputLegend();
    }

    /** Says whose ticks come: the dates of the log are those of its clock. Called once, before the first. */
    void of(BenchLoad load) {
        this.load = load;
    }

    @Override
    public void tick(BenchTick tick) throws IOException {
        kept.add(tick);
        if (kept.size() == KEPT_TICKS) {
            flush();
        }
    }

    private void flush() throws IOException {
        for (BenchTick tick : kept) {
            write(tick);
        }
        kept.clear();
        latency.flush();
        ticks.flush();
        outliers.flush();
    }

    private void write(BenchTick tick) throws IOException {
        double date = load.dateMs / 1e3;
        JsonArray tags = new JsonArray();
        JsonObject extremes = new JsonObject();
        for (Map.Entry<String, BenchTick.Sum> entry : tick.sums.entrySet()) {
            BenchTick.Sum sum = entry.getValue();
            tags.add(entry.getKey());
            JsonObject extreme = new JsonObject();
            extreme.addProperty("max_ns", sum.max);
            extreme.addProperty("over_range", sum.over);
            extremes.add(entry.getKey(), extreme);
            sum.histogram.setTag(entry.getKey());
            log.outputIntervalHistogram(date + tick.fromNs / 1e9, date + tick.toNs / 1e9, sum.histogram, 1e6);
        }
        JsonObject line = new JsonObject();
        line.addProperty("fromNs", tick.fromNs);
        line.addProperty("toNs", tick.toNs);
        line.add("tags", tags);
        line.add("extremes", extremes);
        line.addProperty("failed", tick.failed);
        if (tick.counters != null) {
            line.add("counters", tick.counters);
        }
        ticks.append(line.toString()).append('\n');
        for (long[] o : tick.outliers) {
            write(o);
        }
        written++;
    }

    private void write(long[] o) throws IOException {
        JsonObject line = new JsonObject();
        line.addProperty("tick", written);
        line.addProperty("worker", o[0]);
        line.addProperty("n", o[1]);
        line.addProperty("dueNs", o[2]);
        line.addProperty("startNs", o[3]);
        line.addProperty("endNs", o[4]);
        if (o[5] >= 0) {
            line.addProperty("offset", o[5]);
        }
        outliers.append(line.toString()).append('\n');
    }

    /** Writes what is kept, and last of all how the run ended. Load is null if there was none. */
    void end(BenchLoad load, boolean cancelled, String failure, JsonObject target) throws IOException {
        flush();
        latency.close();
        ticks.close();
        outliers.close();
        JsonObject o = new JsonObject();
        o.addProperty("schema", BenchPlan.SCHEMA);
        o.addProperty("openedNs", -1);
        o.addProperty("dateMs", System.currentTimeMillis());
        if (load != null) {
            o.addProperty("dateMs", load.dateMs);
            o.addProperty("openedNs", load.openedNs);
            o.addProperty("endNs", load.end());
            o.addProperty("drainedNs", load.drainedNs);
            o.addProperty("done", load.done);
            o.addProperty("late", load.late);
            o.addProperty("failed", load.failed);
            o.addProperty("unfinished", load.unfinished);
            o.addProperty("ended", load.ended);
            o.addProperty("busyNs", load.busyNs);
            o.addProperty("outliersDropped", load.outliersDropped);
            o.addProperty("endedEarly", load.endedEarly());
        }
        o.addProperty("cancelled", cancelled);
        o.addProperty("failure", failure);
        o.add("target", target);
        Files.writeString(dir.resolve("outcome.json"), o + "\n");
    }
}
