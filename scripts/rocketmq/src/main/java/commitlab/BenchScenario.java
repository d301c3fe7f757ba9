package commitlab;

import com.google.gson.JsonObject;

/** Something that can be measured; the operations of bench/scenario by the same names. */
interface BenchScenario {
    /** Makes it ready; not timed. */
    void setUp() throws Exception;

    /**
     * What the load generator has to do for the next operation before there is anything to
     * ask the store, such as choosing a key. Called before each op on the thread of w, outside
     * of every time that is measured; w.n is not yet that of the operation, which may never come.
     */
    default void prepare(BenchWorker w) {
    }

    /** Does one operation of the primary kind, on the thread of w. An exception ends the run. */
    void op(BenchWorker w) throws Exception;

    /** Checks, untimed, that what was measured was done. */
    void verify() throws Exception;

    /** Numbers sampled at each tick while operations go on; null for none. */
    JsonObject counters();

    void close() throws Exception;

    /** Ends a run in order: there is nothing left to do. */
    final class End extends Exception {
        End(String why) {
            super(why, null, false, false);
        }
    }
}
