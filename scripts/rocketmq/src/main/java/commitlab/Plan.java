package commitlab;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * A plan as {@code loadgen store plan} writes it: JSON lines, a head with the sizes of the
 * files, then one operation in each line. The Go package bench/plan describes the fields.
 */
final class Plan {
    final JsonObject head;
    final List<Operation> operations = new ArrayList<>();

    /** One put, or one batch of messages for the same queue. */
    static final class Operation {
        long number;
        boolean batch;
        List<Content> messages = new ArrayList<>();
    }

    /** What a producer says. */
    static final class Content {
        String topic;
        int queue;
        int flag;
        int sysFlag;
        long bornMs;
        InetSocketAddress bornHost;
        InetSocketAddress storeHost;
        int reconsumeTimes;
        long preparedOffset;
        String properties;
        byte[] body;
    }

    /** Reads a plan, without what this generation cannot store. */
    Plan(String path) throws IOException {
        List<String> lines = Files.readAllLines(Path.of(path), StandardCharsets.UTF_8);
        if (lines.isEmpty()) {
            throw new IllegalArgumentException(path + " is empty, want a plan");
        }
        head = JsonParser.parseString(lines.get(0)).getAsJsonObject();
        if (!"plan".equals(string(head, "kind"))) {
            throw new IllegalArgumentException(path + " does not start with a line of kind plan");
        }
        for (String line : lines.subList(1, lines.size())) {
            JsonObject o = JsonParser.parseString(line).getAsJsonObject();
            if (string(o, "since").compareTo(Generation.NAME) > 0) {
                continue;
            }
            Operation operation = new Operation();
            operation.number = number(o, "n");
            operation.batch = "batch".equals(string(o, "kind"));
            for (JsonElement m : o.getAsJsonArray("messages")) {
                operation.messages.add(content(m.getAsJsonObject()));
            }
            operations.add(operation);
        }
    }

    private static Content content(JsonObject o) throws IOException {
        Content c = new Content();
        c.topic = string(o, "topic");
        c.queue = (int) number(o, "queueId");
        c.flag = (int) number(o, "flag");
        c.sysFlag = (int) number(o, "sysFlag");
        c.bornMs = number(o, "bornMs");
        c.bornHost = host(string(o, "bornHost"));
        c.storeHost = host(string(o, "storeHost"));
        c.reconsumeTimes = (int) number(o, "reconsumeTimes");
        c.preparedOffset = number(o, "preparedOffset");
        c.properties = properties(o);
        c.body = body((int) number(o, "bodyBytes"), number(o, "bodySeed"));
        return c;
    }

    /** Encodes [[name, value], …]; an open end lacks the last separator. */
    private static String properties(JsonObject o) {
        StringBuilder encoded = new StringBuilder();
        JsonArray pairs = o.getAsJsonArray("properties");
        for (JsonElement pair : pairs) {
            encoded.append(pair.getAsJsonArray().get(0).getAsString()).append('\1');
            encoded.append(pair.getAsJsonArray().get(1).getAsString()).append('\2');
        }
        if (pairs.size() > 0 && o.get("openEnded").getAsBoolean()) {
            encoded.setLength(encoded.length() - 1);
        }
        return encoded.toString();
    }

    /** Letters from a splitmix64 stream: one step for each eight of them. */
    static byte[] body(int length, long seed) {
        byte[] body = new byte[length];
        long state = seed;
        long bits = 0;
        for (int i = 0; i < length; i++) {
            if (i % 8 == 0) {
                state += 0x9E3779B97F4A7C15L;
                bits = state;
                bits = (bits ^ (bits >>> 30)) * 0xBF58476D1CE4E5B9L;
                bits = (bits ^ (bits >>> 27)) * 0x94D049BB133111EBL;
                bits ^= bits >>> 31;
            }
            body[i] = (byte) ('a' + (bits >>> (8 * (i % 8)) & 0xFF) % 26);
        }
        return body;
    }

    /** The body of a client's batch: what a broker hands to the store. */
    static byte[] batchBody(List<Content> messages) {
        int length = 0;
        List<byte[]> properties = new ArrayList<>();
        for (Content m : messages) {
            byte[] p = m.properties.getBytes(StandardCharsets.UTF_8);
            properties.add(p);
            length += 22 + m.body.length + p.length;
        }
        ByteBuffer out = ByteBuffer.allocate(length);
        for (int i = 0; i < messages.size(); i++) {
            Content m = messages.get(i);
            byte[] p = properties.get(i);
            out.putInt(22 + m.body.length + p.length).putInt(0).putInt(0).putInt(m.flag);
            out.putInt(m.body.length).put(m.body).putShort((short) p.length).put(p);
        }
        return out.array();
    }

    /** Reads "hex:port", the address in 8 or 32 hexadecimal digits. */
    private static InetSocketAddress host(String text) throws IOException {
        int colon = text.indexOf(':');
        byte[] address = HexFormat.of().parseHex(text.substring(0, colon));
        return new InetSocketAddress(InetAddress.getByAddress(address), Integer.parseInt(text.substring(colon + 1)));
    }

    static String host(InetSocketAddress host) {
        return HexFormat.of().formatHex(host.getAddress().getAddress()) + ":" + host.getPort();
    }

    private static String string(JsonObject o, String name) {
        return o.has(name) ? o.get(name).getAsString() : "";
    }

    private static long number(JsonObject o, String name) {
        return o.get(name).getAsLong();
    }
}
