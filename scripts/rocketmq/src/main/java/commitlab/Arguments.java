package commitlab;

import java.util.LinkedHashMap;
import java.util.Map;

/** Options of a command line, each written as {@code --name value}. */
public final class Arguments {
    private final Map<String, String> values = new LinkedHashMap<>();

    public Arguments(String[] words) {
        for (int i = 0; i < words.length; i += 2) {
            if (!words[i].startsWith("--")) {
                throw new IllegalArgumentException("want an option like --name, got " + words[i]);
            }
            if (i + 1 == words.length) {
                throw new IllegalArgumentException(words[i] + " has no value");
            }
            values.put(words[i].substring(2), words[i + 1]);
        }
    }

    /** Takes an option out; what nobody took is reported by {@link #end}. */
    public String take(String name, String fallback) {
        String value = values.remove(name);
        return value == null ? fallback : value;
    }

    public String need(String name) {
        String value = values.remove(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }

    public long takeLong(String name, long fallback) {
        String value = values.remove(name);
        try {
            return value == null ? fallback : Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("--" + name + " " + value + " is not a whole number");
        }
    }

    public void end() {
        if (!values.isEmpty()) {
            throw new IllegalArgumentException("unknown options " + values.keySet());
        }
    }
}
