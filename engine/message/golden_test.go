package message

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The golden stores were written by RocketMQ itself, which also said what is in
// them. Goal: every record of every log file passes Check, decodes to what the
// Java store answered, and is what our own encoder writes for the same message.

// golden is one archive: the commit log files in order, and what to expect.
type golden struct {
	files  []goldenFile
	expect []goldenLine
}

type goldenFile struct {
	offset int64
	bytes  []byte
}

type goldenLine struct {
	Type           string            `json:"type"`
	Topic          string            `json:"topic"`
	QueueID        int32             `json:"queueId"`
	QueueOffset    int64             `json:"queueOffset"`
	PhysOffset     int64             `json:"physOffset"`
	Size           int               `json:"size"`
	StoreTimestamp int64             `json:"storeTimestamp"`
	BornTimestamp  int64             `json:"bornTimestamp"`
	BornHost       string            `json:"bornHost"`
	StoreHost      string            `json:"storeHost"`
	Flag           int32             `json:"flag"`
	SysFlag        int32             `json:"sysFlag"`
	ReconsumeTimes int32             `json:"reconsumeTimes"`
	PreparedOffset int64             `json:"preparedOffset"`
	TagsCode       int64             `json:"tagsCode"`
	Keys           *string           `json:"keys"`
	MsgID          string            `json:"msgId"`
	BodyLen        int               `json:"bodyLen"`
	BodyCRC        uint32            `json:"bodyCRC"`
	RecordSha256   string            `json:"recordSha256"`
	Properties     map[string]string `json:"properties"`

	MaxPhyOffset int64 `json:"maxPhyOffset"` // of meta
	Records      int   `json:"records"`      // of count
}

func loadGolden(t *testing.T, name string) golden {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "rocketmq-4.x", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		switch dir, base := path.Split(h.Name); {
		case base == "expect.jsonl":
			for d := json.NewDecoder(bytes.NewReader(content)); d.More(); {
				var line goldenLine
				if err := d.Decode(&line); err != nil {
					t.Fatal(err)
				}
				g.expect = append(g.expect, line)
			}
		case strings.HasSuffix(dir, "/commitlog/") && base != "":
			var offset int64
			if _, err := fmt.Sscanf(base, "%d", &offset); err != nil {
				t.Fatal(err)
			}
			g.files = append(g.files, goldenFile{offset, content})
		}
	}
	slices.SortFunc(g.files, func(a, b goldenFile) int { return int(a.offset - b.offset) })
	return g
}

func (g *golden) line(t *testing.T, kind string) goldenLine {
	t.Helper()
	i := slices.IndexFunc(g.expect, func(l goldenLine) bool { return l.Type == kind })
	if i < 0 {
		t.Fatalf("no %s line", kind)
	}
	return g.expect[i]
}

// walk checks the log from its beginning and hands out its records and blanks.
// It returns where it had to stop and why.
func (g *golden) walk(visit func(offset int64, kind Kind, b []byte)) (end int64, err error) {
	for _, f := range g.files {
		for at := 0; ; {
			rest := f.bytes[at:]
			offset := f.offset + int64(at)
			size, kind, err := Check(rest, CheckOptions{Position: true, PhysicalOffset: offset, BlankSize: int64(len(rest))})
			if err != nil {
				return offset, err
			}
			if kind == KindBlank {
				visit(offset, kind, rest)
				break
			}
			visit(offset, kind, rest[:size])
			at += size
		}
	}
	return -1, errors.New("log without an end")
}

func TestGoldenStoresDecodeAsTheJavaStoreDoes(t *testing.T) {
	levels, err := ParseDelayLevels(DefaultDelayLevels)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clean", "v4.9.4-clean"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			want := map[int64]goldenLine{}
			blanks := map[int64]int{}
			for _, line := range g.expect {
				switch line.Type {
				case "message", "record":
					want[line.PhysOffset] = line
				case "blank":
					blanks[line.PhysOffset] = line.Size
				}
			}
			if n := g.line(t, "count").Records; len(want) != n || n == 0 {
				t.Fatalf("expectations for %d records, log has %d", len(want), n)
			}
			end, stop := g.walk(func(offset int64, kind Kind, b []byte) {
				if kind == KindBlank {
					if size, ok := blanks[offset]; !ok || size != len(b) {
						t.Errorf("blank at %d: %d bytes, want %d (%v)", offset, len(b), size, ok)
					}
					delete(blanks, offset)
					return
				}
				line, ok := want[offset]
				if !ok {
					t.Errorf("record at %d is not expected", offset)
					return
				}
				delete(want, offset)
				compareGolden(t, b, line, levels)
			})
			if len(want) > 0 || len(blanks) > 0 {
				t.Errorf("not found: records at %v, blanks at %v", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(blanks)))
			}
			if want := g.line(t, "meta").MaxPhyOffset; end != want {
				t.Errorf("log ends at %d (%v), want %d", end, stop, want)
			}
			if step := stepOf(stop); step != StepUnwritten {
				t.Errorf("log ends with %v, want %v", stop, StepUnwritten)
			}
		})
	}
}

func compareGolden(t *testing.T, b []byte, want goldenLine, levels DelayLevels) {
	t.Helper()
	r, err := Decode(b)
	if err != nil {
		t.Errorf("record at %d: %v", want.PhysOffset, err)
		return
	}
	sum := sha256.Sum256(b)
	got := goldenLine{
		Type:           want.Type,
		Topic:          string(r.Topic),
		QueueID:        r.QueueID,
		QueueOffset:    r.QueueOffset,
		PhysOffset:     r.PhysicalOffset,
		Size:           r.Size,
		StoreTimestamp: r.StoreTimestamp,
		BornTimestamp:  r.BornTimestamp,
		BornHost:       javaHost(r.BornHost.Addr().As16(), r.BornHost.Addr().Is6(), r.BornHost.Port()),
		StoreHost:      javaHost(r.StoreHost.Addr().As16(), r.StoreHost.Addr().Is6(), r.StoreHost.Port()),
		Flag:           r.Flag,
		SysFlag:        r.SysFlag,
		ReconsumeTimes: r.ReconsumeTimes,
		PreparedOffset: r.PreparedOffset,
		TagsCode:       r.TagsCode(levels),
		MsgID:          r.OffsetID(),
		BodyLen:        len(r.Body),
		BodyCRC:        r.BodyCRC,
		RecordSha256:   hex.EncodeToString(sum[:]),
		Properties:     map[string]string{},
	}
	for name, value := range r.Properties.All() {
		got.Properties[string(name)] = string(value)
	}
	if keys, ok := r.Properties.Get(PropertyKeys); ok {
		s := string(keys)
		got.Keys = &s
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("record at %d (-java +ours):\n%s", want.PhysOffset, d)
	}
	queued := want.Type == "message"
	if TransactionOf(r.SysFlag).Queued() != queued {
		t.Errorf("record at %d: sys flag %#x, in a queue: %v", want.PhysOffset, r.SysFlag, queued)
	}

	m := r.Message()
	p, err := Prepare(&m, Limits{})
	if err != nil {
		t.Errorf("record at %d: prepare: %v", want.PhysOffset, err)
		return
	}
	again := make([]byte, p.Size)
	p.Encode(again, &m, r.QueueOffset, r.PhysicalOffset, r.StoreTimestamp)
	if !bytes.Equal(again, b) {
		t.Errorf("record at %d: encoded again it differs\n got %x\nwant %x", want.PhysOffset, again, b)
	}
}

// javaHost prints a host as Java does: IPv6 in eight groups without compression.
func javaHost(ip [16]byte, v6 bool, port uint16) string {
	if !v6 {
		return fmt.Sprintf("%d.%d.%d.%d|%d", ip[12], ip[13], ip[14], ip[15], port)
	}
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = fmt.Sprintf("%x", int(ip[2*i])<<8|int(ip[2*i+1]))
	}
	return strings.Join(groups, ":") + "|" + fmt.Sprint(port)
}

// A damaged body ends the log for the Java store, at that record.
func TestDamagedGoldenStoresEndWhereTheJavaStoreEndsThem(t *testing.T) {
	for _, name := range []string{"clean-damaged-tail", "v4.9.4-killed-damaged-middle"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			records := 0
			end, err := g.walk(func(_ int64, kind Kind, _ []byte) {
				if kind == KindRecord {
					records++
				}
			})
			if step := stepOf(err); step != StepBodyCRC {
				t.Errorf("log ends with %v, want %v", err, StepBodyCRC)
			}
			if want := g.line(t, "meta").MaxPhyOffset; end != want {
				t.Errorf("log ends at %d, want %d", end, want)
			}
			if want := g.line(t, "count").Records; records != want {
				t.Errorf("%d records, want %d", records, want)
			}
		})
	}
}

// stepOf returns the step that a CheckError names, 0 for any other error.
func stepOf(err error) Step {
	var c *CheckError
	if errors.As(err, &c) {
		return c.Step
	}
	return 0
}
