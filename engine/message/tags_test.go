package message

import (
	"testing"
)

func TestTagsCode(t *testing.T) {
	levels, err := ParseDelayLevels(DefaultDelayLevels)
	if err != nil {
		t.Fatal(err)
	}
	const tagsHash = 2567159 // TAG1
	for _, c := range []struct {
		name, topic, properties string
		levels                  DelayLevels
		want                    int64
	}{
		{"no tags", "T", "KEYS\x01k\x02", levels, 0},
		{"no properties", "T", "", levels, 0},
		{"tags", "T", "TAGS\x01TAG1\x02", levels, tagsHash},
		{"empty tags", "T", "TAGS\x01\x02", levels, 0},
		{"tags with a negative hash", "T", "TAGS\x01FooBar#hello\x02", levels, -72057252},
		{"several tags hash as one", "T", "TAGS\x01TagA||TagB\x02", levels, int64(StringHash("TagA||TagB"))},
		{"delay elsewhere is ignored", "T", "TAGS\x01TAG1\x02DELAY\x013\x02", levels, tagsHash},
		{"level 1", ScheduleTopic, "TAGS\x01TAG1\x02DELAY\x011\x02", levels, vectorStoreMs + 1000},
		{"level 18", ScheduleTopic, "DELAY\x0118\x02", levels, vectorStoreMs + 7200_000},
		{"level above the highest", ScheduleTopic, "DELAY\x0125\x02", levels, vectorStoreMs + 7200_000},
		{"level 0", ScheduleTopic, "TAGS\x01TAG1\x02DELAY\x010\x02", levels, tagsHash},
		{"negative level", ScheduleTopic, "TAGS\x01TAG1\x02DELAY\x01-1\x02", levels, tagsHash},
		{"level that is no number", ScheduleTopic, "TAGS\x01TAG1\x02DELAY\x01x\x02", levels, tagsHash},
		{"no level", ScheduleTopic, "TAGS\x01TAG1\x02", levels, tagsHash},
		{"no table", ScheduleTopic, "TAGS\x01TAG1\x02DELAY\x011\x02", nil, tagsHash},
	} {
		r := Record{Topic: []byte(c.topic), Properties: Properties(c.properties), StoreTimestamp: vectorStoreMs}
		if got := r.TagsCode(c.levels); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDelayLevels(t *testing.T) {
	levels, err := ParseDelayLevels("1s 2m 3h 4d")
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int]int64{1: 1000, 2: 120_000, 3: 10_800_000, 4: 345_600_000, 0: 1000, 5: 1000, -1: 1000} {
		if got := levels.DeliverAtMs(level, 7); got != 7+want {
			t.Errorf("level %d: due at %d, want %d", level, got, 7+want)
		}
	}
	if got := levels.Cap(9); got != 4 {
		t.Errorf("Cap(9) = %d, want 4", got)
	}
	if all, err := ParseDelayLevels(DefaultDelayLevels); err != nil || len(all) != 18 {
		t.Errorf("default table: %d levels, %v; want 18", len(all), err)
	}
	for _, s := range []string{"", "1", "s", "1s  2s", "1s ", "1x", "-1s", "1.5s", "9223372036854775807s"} {
		if got, err := ParseDelayLevels(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

func TestTransactionStateDecidesWhatIsDispatched(t *testing.T) {
	for sysFlag, want := range map[int32]struct {
		state           Transaction
		queued, indexed bool
	}{
		0x0 | 0x1:  {TransactionNone, true, true},
		0x4 | 0x30: {TransactionPrepared, false, true},
		0x8:        {TransactionCommit, true, true},
		0xC | 0x10: {TransactionRollback, false, false},
	} {
		state := TransactionOf(sysFlag)
		if state != want.state || state.Queued() != want.queued || state.Indexed() != want.indexed {
			t.Errorf("%#x: %#x, queued %v, indexed %v; want %+v", sysFlag, state, state.Queued(), state.Indexed(), want)
		}
	}
}
