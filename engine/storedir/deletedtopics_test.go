package storedir

import (
	"maps"
	"os"
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
	want := DeletedTopics{"a": 1, "%RETRY%b": 1 << 40}
	if err := l.SaveDeletedTopics(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.LoadDeletedTopics(); err != nil || !maps.Equal(got, want) {
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
