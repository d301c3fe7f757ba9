package storedir

import (
	"os"
	"reflect"
	"testing"
)

func TestDeletedTopicsSurviveSaveAndLoad(t *testing.T) {
	l := Layout(t.TempDir())
	if got, err := l.LoadDeletedTopics(); err != nil || len(got) != 0 {
		t.Fatalf("nothing saved: got %v, %v; want none", got, err)
	}
	if err := l.SaveDeletedTopics(nil); err != nil {
		t.Errorf("nothing to save, nothing there: %v", err)
	}
	want := DeletedTopics{"a": {Before: 1, Next: map[int32]int64{0: 7, 12: 1}}, "%RETRY%b": {Before: 1 << 40, Next: map[int32]int64{3: 1 << 50}}}
	if err := l.SaveDeletedTopics(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.LoadDeletedTopics(); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if err := l.SaveDeletedTopics(DeletedTopics{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.DeletedTopics()); !os.IsNotExist(err) {
		t.Errorf("without topics the file is still there: %v", err)
	}
	if err := os.WriteFile(l.DeletedTopics(), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := l.LoadDeletedTopics(); err == nil {
		t.Error("a damaged file was taken")
	}
}
