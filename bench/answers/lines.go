package answers

import (
	"commitlab/bench/plan"
)

// The lines. Fields stand in the order in which they are written; offsets and
// sizes are bytes, times epoch milliseconds.
type (
	logLine struct {
		Kind string `json:"kind"`
		Min  int64  `json:"min"`
		End  int64  `json:"end"`
	}

	recordLine struct {
		Kind           string            `json:"kind"`
		Offset         int64             `json:"offset"`
		Size           int               `json:"size"`
		Topic          string            `json:"topic"`
		QueueID        int32             `json:"queueId"`
		QueueOffset    int64             `json:"queueOffset"`
		Flag           int32             `json:"flag"`
		SysFlag        int32             `json:"sysFlag"`
		BornMs         int64             `json:"bornMs"`
		BornHost       plan.Host         `json:"bornHost"`
		StoreMs        int64             `json:"storeMs"`
		StoreHost      plan.Host         `json:"storeHost"`
		ReconsumeTimes int32             `json:"reconsumeTimes"`
		PreparedOffset int64             `json:"preparedOffset"`
		BodyBytes      int               `json:"bodyBytes"`
		BodyCRC        uint32            `json:"bodyCrc"`
		Properties     map[string]string `json:"properties"`
		MsgID          string            `json:"msgId"`
		SHA256         string            `json:"sha256"`
	}

	queueLine struct {
		Kind    string `json:"kind"`
		Topic   string `json:"topic"`
		QueueID int32  `json:"queueId"`
		Min     int64  `json:"min"`
		Max     int64  `json:"max"`
	}

	messageLine struct {
		Kind     string `json:"kind"`
		Topic    string `json:"topic"`
		QueueID  int32  `json:"queueId"`
		At       int64  `json:"at"`
		Offset   int64  `json:"offset"`
		Size     int32  `json:"size"`
		TagsCode int64  `json:"tagsCode"`
		SHA256   string `json:"sha256"`
	}

	getLine struct {
		Kind    string `json:"kind"`
		Topic   string `json:"topic"`
		QueueID int32  `json:"queueId"`
		At      int64  `json:"at"`
		Status  string `json:"status"`
		Next    int64  `json:"next"`
	}

	timeLine struct {
		Kind    string `json:"kind"`
		Topic   string `json:"topic"`
		QueueID int32  `json:"queueId"`
		Ms      int64  `json:"ms"`
		Lower   int64  `json:"lower"`
		Upper   int64  `json:"upper"`
	}

	keyLine struct {
		Kind    string  `json:"kind"`
		Topic   string  `json:"topic"`
		Key     string  `json:"key"`
		Offsets []int64 `json:"offsets"`
	}
)
