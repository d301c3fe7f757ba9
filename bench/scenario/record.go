package scenario

import (
	"bytes"
	"fmt"

	"commitlab/bench/workload"
	"commitlab/engine/message"
)

// recordsPerWorker is how many encoded records a baseline's worker writes in
// turn. Few, so that they stay in the first-level cache as a message that was
// just made does.
const recordsPerWorker = 16

// record is one encoded message and its body within.
type record struct {
	bytes []byte
	body  []byte // view into bytes
}

// crcOffset is where a record keeps the CRC of its body: after size and magic.
const crcOffset = 8

// encodeRecords encodes the first messages of a worker as the store would.
func encodeRecords(w *workload.Workload, worker int) ([]record, error) {
	g := w.Generator(worker)
	records := make([]record, recordsPerWorker)
	for i := range records {
		m := g.Next()
		plan, err := message.Prepare(m, message.Limits{MaxBodyBytes: w.Spec().Body.Max()})
		if err != nil {
			return nil, fmt.Errorf("encode message %d of worker %d: %w", i, worker, err)
		}
		b := make([]byte, plan.Size)
		plan.Encode(b, m, int64(i), 0, 0)
		decoded, err := message.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("decode message %d of worker %d: %w", i, worker, err)
		}
		records[i] = record{bytes: b, body: decoded.Body}
	}
	return records, nil
}

// placed is where a baseline wrote which of a worker's records.
type placed struct {
	file   int
	at     int64
	record int
}

// check compares what was read at p with the record.
func (p placed) check(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("file %d, offset %d: %d bytes read back differ from the record that was written", p.file, p.at, len(got))
}

// RecordBytes is the mean size of a record of the workload, from the first
// messages' overhead and the mean body.
func RecordBytes(spec workload.Spec) (float64, error) {
	w, err := workload.New(spec)
	if err != nil {
		return 0, err
	}
	records, err := encodeRecords(w, 0)
	if err != nil {
		return 0, err
	}
	overhead := 0
	for _, r := range records {
		overhead += len(r.bytes) - len(r.body)
	}
	return spec.Body.Mean() + float64(overhead)/float64(len(records)), nil
}
