package commitlab;

import java.nio.file.Path;
import java.util.Arrays;

/**
 * A peer for the Go store: the published RocketMQ store, driven through its own API.
 *
 * <pre>
 * info                                      version and Java, as one JSON object
 * write  --dir D --plan FILE [--end kill]   makes a store from a plan
 * append --dir D --plan FILE [--end kill]   opens it again and goes on
 * read   --dir D --plan FILE                prints everything the store answers
 * bench DIR                                 measures what DIR/plan.json says; see {@link Bench}
 * </pre>
 *
 * Settings are described at {@link Settings}. Results are JSON lines on stdout, everything
 * else goes to stderr. Exit codes: 0 done, 1 failed, 2 wrong arguments.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        int code;
        try {
            code = run(args);
        } catch (IllegalArgumentException e) {
            System.err.println("rocketmq peer: " + e.getMessage());
            code = 2;
        } catch (Throwable e) {
            e.printStackTrace();
            code = 1;
        }
        System.out.flush();
        // The store leaves threads behind that are not daemons.
        Runtime.getRuntime().halt(code);
    }

    private static int run(String[] args) throws Exception {
        if (args.length == 0) {
            throw new IllegalArgumentException("no command; want info, write, append, read or bench");
        }
        if (args[0].equals("bench") && args.length == 2) {
            Bench.run(Path.of(args[1]));
            return 0;
        }
        Arguments rest = new Arguments(Arrays.copyOfRange(args, 1, args.length));
        switch (args[0]) {
            case "info":
                Info.print(System.out);
                return 0;
            case "write":
                return Write.run(rest, true);
            case "append":
                return Write.run(rest, false);
            case "read":
                return Read.run(rest);
            default:
                throw new IllegalArgumentException("unknown command " + args[0]);
        }
    }
}
