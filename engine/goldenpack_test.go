package engine

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A golden store, unpacked, with what RocketMQ said.
type golden struct {
	dir     string
	meta    goldenMeta
	records []goldenRecord // of queues and of none, in the order of the log
	queues  []goldenQueue
	gets    []goldenGet
	byTimes []goldenByTime
	queries []goldenQuery
}

type goldenMeta struct {
	CommitLogFileSize    int64 `json:"commitLogFileSize"`
	ConsumeQueueFileSize int64 `json:"consumeQueueFileSize"`
	HashSlots            int   `json:"hashSlots"`
	IndexItems           int   `json:"indexItems"`
	MinPhyOffset         int64 `json:"minPhyOffset"`
	MaxPhyOffset         int64 `json:"maxPhyOffset"`
}

type goldenRecord struct {
	Type           string            `json:"type"`
	At             int64             `json:"at"`
	Topic          string            `json:"topic"`
	QueueID        int32             `json:"queueId"`
	QueueOffset    int64             `json:"queueOffset"`
	PhysOffset     int64             `json:"physOffset"`
	Size           int               `json:"size"`
	TagsCode       int64             `json:"tagsCode"`
	StoreTimestamp int64             `json:"storeTimestamp"`
	SysFlag        int32             `json:"sysFlag"`
	BodyLen        int               `json:"bodyLen"`
	MsgID          string            `json:"msgId"`
	RecordSHA256   string            `json:"recordSha256"`
	Properties     map[string]string `json:"properties"`
}

// has is what it means that a record has a key.
func (r *goldenRecord) has(key string) bool {
	return key != "" && (r.Properties["UNIQ_KEY"] == key || slices.Contains(strings.Split(r.Properties["KEYS"], " "), key))
}

type goldenQueue struct {
	Topic        string `json:"topic"`
	QueueID      int32  `json:"queueId"`
	Min          int64  `json:"min"`
	Max          int64  `json:"max"`
	EarliestTime int64  `json:"earliestTime"`
}

type goldenGet struct {
	Topic       string  `json:"topic"`
	QueueID     int32   `json:"queueId"`
	Offset      int64   `json:"offset"`
	MaxNum      int     `json:"maxNum"`
	Status      string  `json:"status"`
	Next        int64   `json:"next"`
	Min         int64   `json:"min"`
	Max         int64   `json:"max"`
	PhysOffsets []int64 `json:"physOffsets"`
}

type goldenByTime struct {
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queueId"`
	Timestamp int64  `json:"timestamp"`
	Offset    int64  `json:"offset"`
}

type goldenQuery struct {
	Topic          string  `json:"topic"`
	Key            string  `json:"key"`
	Max            int     `json:"max"`
	Begin          int64   `json:"begin"`
	End            int64   `json:"end"`
	IndexOffsets   []int64 `json:"indexOffsets"`
	MessageOffsets []int64 `json:"messageOffsets"`
}

// unpackGolden unpacks an archive of testdata into a scratch directory.
func unpackGolden(t testing.TB, name string) *golden {
	t.Helper()
	root := scratch(t)
	f, err := os.Open(filepath.Join("testdata", "rocketmq-4.x", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		switch {
		case h.FileInfo().IsDir():
			err = os.MkdirAll(path, 0o755)
		case filepath.Base(path) == "expect.jsonl":
			g.dir = filepath.Join(filepath.Dir(path), "store")
			err = g.read(archive)
		default:
			err = writeFile(path, archive)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(g.records, func(a, b goldenRecord) int { return int(a.PhysOffset - b.PhysOffset) })
	return g
}

func writeFile(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

func (g *golden) read(lines io.Reader) error {
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var kind struct {
			Type string `json:"type"`
		}
		err := json.Unmarshal(scanner.Bytes(), &kind)
		if err == nil {
			switch kind.Type {
			case "meta":
				err = json.Unmarshal(scanner.Bytes(), &g.meta)
			case "message", "record":
				err = appendLine(&g.records, scanner.Bytes())
			case "queue":
				err = appendLine(&g.queues, scanner.Bytes())
			case "get":
				err = appendLine(&g.gets, scanner.Bytes())
			case "byTime":
				err = appendLine(&g.byTimes, scanner.Bytes())
			case "query":
				err = appendLine(&g.queries, scanner.Bytes())
			case "bad":
				err = errors.New("RocketMQ could not read the store: " + scanner.Text())
			}
		}
		if err != nil {
			return err
		}
	}
	return scanner.Err()
}

func appendLine[T any](list *[]T, line []byte) error {
	var v T
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	*list = append(*list, v)
	return nil
}
