package commitlab;

import org.HdrHistogram.WriterReaderPhaser;

/**
 * Hands a worker's buffers over while the worker goes on: it writes to the active one within
 * {@link #enter} and {@link #exit}, and the run's thread takes that one away with
 * {@link #exchange}. The worker never waits; the run waits at most while one operation is
 * being written down, never for an operation.
 */
final class BenchRecorder {
    private final WriterReaderPhaser phaser = new WriterReaderPhaser();
    private volatile BenchBuffer active;
    private BenchBuffer spare; // the run's; empty between exchanges

    BenchRecorder(int ops, boolean open, int outlierLimit) {
        active = new BenchBuffer(ops, open, outlierLimit);
        spare = new BenchBuffer(ops, open, outlierLimit);
    }

    long enter() {
        return phaser.writerCriticalSectionEnter();
    }

    BenchBuffer active() {
        return active;
    }

    void exit(long entered) {
        phaser.writerCriticalSectionExit(entered);
    }

    /** Takes what was written so far. The caller reads and resets it before the next exchange. */
    BenchBuffer exchange() {
        phaser.readerLock();
        try {
            BenchBuffer full = active;
            active = spare;
            phaser.flipPhase(50_000);
            spare = full;
            return full;
        } finally {
            phaser.readerUnlock();
        }
    }
}
