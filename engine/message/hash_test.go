package message

import (
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestStringHashIsThatOfJava(t *testing.T) {
	for _, c := range []struct {
		s    string
		want int32
	}{
		{"", 0},
		{"TAG1", 2567159},
		{"TagA", 2598919},
		{"T#k1", 2539445},
		{"TopicTest#K1", 2745032},
		{"FooBar#hello", -72057252},
		{"polygenelubricants", math.MinInt32},
		{"\u4e2d", 20013},
		{"\U0001f600", 1772899},
		{"AaTopic#Aa", -10606476},
		{"AaTopic#BB", -10606476},
		{"BBTopic#BB", -10606476},
	} {
		if got := StringHash(c.s); got != c.want {
			t.Errorf("StringHash(%q) = %d, want %d", c.s, got, c.want)
		}
		if got := StringHash([]byte(c.s)); got != c.want {
			t.Errorf("StringHash([]byte(%q)) = %d, want %d", c.s, got, c.want)
		}
	}
}

// B-04: abs of the smallest int is negative, and became a negative slot.
func TestB04_KeyHashIsNeverNegative(t *testing.T) {
	for _, c := range []struct {
		topic, key string
		want       int32
	}{
		{"TopicA", "hiuckti", 0},
		{"FooBar", "hello", 72057252},
		{"TopicTest", "K1", 2745032},
		{"AaTopic", "Aa", 10606476},
		{"BBTopic", "BB", 10606476},
	} {
		if got := KeyHash(c.topic, c.key); got != c.want {
			t.Errorf("KeyHash(%q, %q) = %d, want %d", c.topic, c.key, got, c.want)
		}
	}
	if got := StringHash("TopicA#hiuckti"); got != math.MinInt32 {
		t.Errorf("TopicA#hiuckti hashes to %d: not the case meant", got)
	}
}

// B-04: keys outside ASCII must hash over UTF-16 units to be found in Java's files.
func TestB04_HashRunsOverUTF16Units(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.String().Draw(t, "topic")
		key := rapid.String().Draw(t, "key")
		var want int32
		for _, unit := range utf16.Encode([]rune(topic + "#" + key)) {
			want = 31*want + int32(unit)
		}
		if got := StringHash(topic + "#" + key); got != want {
			t.Fatalf("StringHash = %d, want %d", got, want)
		}
		abs := max(want, -want)
		if want == math.MinInt32 {
			abs = 0
		}
		if got := KeyHash([]byte(topic), key); got != abs {
			t.Fatalf("KeyHash = %d, want %d", got, abs)
		}
	})
}

// Goal: characters that are hashed eight at a time hash as one after the other. Method:
// every length, the largest characters, and one beyond ASCII at every place.
func TestHashOfManyCharactersAtATime(t *testing.T) {
	plain := func(s string) (h int32) {
		for _, unit := range utf16.Encode([]rune(s)) {
			h = 31*h + int32(unit)
		}
		return h
	}
	for n := range 40 {
		mixed := []rune(strings.Repeat("\x7f\x00Zz09~#", 5)[:n])
		for _, s := range []string{strings.Repeat("\x7f", n), string(mixed)} {
			if got, want := StringHash(s), plain(s); got != want {
				t.Errorf("%q: got %d, want %d", s, got, want)
			}
		}
		for i := range mixed {
			was := mixed[i]
			mixed[i] = 'é'
			if got, want := StringHash(string(mixed)), plain(string(mixed)); got != want {
				t.Errorf("%q: got %d, want %d", string(mixed), got, want)
			}
			mixed[i] = was
		}
	}
}

// The entry for tags is that of the key "T#tags": the vector is from an index
// file of RocketMQ 5.5.1.
func TestTagsIndexHashIsThatOfRocketMQ(t *testing.T) {
	if got := TagsIndexHash("BBTopic", "🏷"); got != 1600609026 {
		t.Errorf("got %d, want 1600609026", got)
	}
	for _, tags := range []string{"TagA", "标签", "A||B"} {
		if got, want := TagsIndexHash("订单", tags), KeyHash("订单", "T#"+tags); got != want {
			t.Errorf("%q: got %d, want %d", tags, got, want)
		}
	}
}
