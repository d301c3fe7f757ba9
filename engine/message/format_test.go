package message

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The package comment draws the record; code uses constants. They must agree.
func TestDrawingAgreesWithTheConstants(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	type field struct{ offset, width int }
	drawn := map[string]field{}
	line := regexp.MustCompile(`(?m)^//\t +(\d+) +(\d+)  ([a-zA-Z]+(?: [a-zA-Z]+)*)`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		offset, _ := strconv.Atoi(m[1])
		width, _ := strconv.Atoi(m[2])
		if _, twice := drawn[m[3]]; !twice { // the blank has a magic too, at the same place
			drawn[m[3]] = field{offset, width}
		}
	}
	head := headBytes(0)
	for name, want := range map[string]field{
		"total size":      {offSize, 4},
		"magic":           {offMagic, 4},
		"body CRC":        {offBodyCRC, 4},
		"queue id":        {offQueueID, 4},
		"flag":            {offFlag, 4},
		"queue offset":    {offQueueOffset, 8},
		"physical offset": {offPhysicalOffset, 8},
		"sys flag":        {offSysFlag, 4},
		"born timestamp":  {offBornTimestamp, 8},
		"born host":       {offBornHost, hostBytes4},
		"store timestamp": {offBornHost + hostBytes4, 8},
		"store host":      {head - behindHostsBytes - hostBytes4, hostBytes4},
		"reconsume times": {head - behindHostsBytes, 4},
		"prepared offset": {head - behindHostsBytes + 4, 8},
		"body length":     {head - 4, 4},
	} {
		if got, ok := drawn[name]; !ok || got != want {
			t.Errorf("%s: drawn %+v (%v), coded %+v", name, got, ok, want)
		}
	}
	next := 0
	for range drawn {
		for _, f := range drawn {
			if f.offset == next && f.offset < head {
				next += f.width
				break
			}
		}
	}
	if next != head {
		t.Errorf("the drawn fields cover [0,%d), the head is %d bytes", next, head)
	}
	if n := head + V1.topicLenBytes() + propertiesLenBytes; n != 91 {
		t.Errorf("smallest record is %d bytes, want 91", n)
	}
	if crcTailBytes != 20 || hostBytes6-hostBytes4 != 12 {
		t.Errorf("record CRC %d bytes, IPv6 %d more; want 20, 12", crcTailBytes, hostBytes6-hostBytes4)
	}
}
