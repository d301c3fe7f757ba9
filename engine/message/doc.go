// Package message is the record format of the commit log and its codec: plain
// bytes in, plain bytes out, no files, no clocks, no locks.
//
// # One record
//
// All integers are big-endian and signed, there is no padding. The offset
// column holds for a record whose two hosts are IPv4 addresses; each IPv6 host
// is 12 bytes wider and moves everything behind it.
//
//	offset  width  field
//	     0      4  total size        the whole record, these 4 bytes included
//	     4      4  magic             0xDAA320A7 (V1) or 0xDAA320AB (V2)
//	     8      4  body CRC          CRC-32 IEEE of the body as stored, top bit cleared
//	    12      4  queue id
//	    16      4  flag              opaque, the user's
//	    20      8  queue offset      position in its queue; 0 if it is in none
//	    28      8  physical offset   where in the log this record starts
//	    36      4  sys flag          see sysflag.go
//	    40      8  born timestamp    epoch ms
//	    48      8  born host         4 or 16 address bytes, then the port as 4 bytes
//	    56      8  store timestamp   epoch ms
//	    64      8  store host
//	    72      4  reconsume times
//	    76      8  prepared offset
//	    84      4  body length
//	    88      …  body
//	     …    1|2  topic length      V1 1 byte, V2 2 bytes, signed in both
//	     …      …  topic
//	     …      2  properties length
//	     …      …  properties        see Properties
//	     …     20  record CRC        optional, the tail of the properties field
//
// # The end of a file
//
// A record never ends at the end of a file: a file is closed by a blank record
// of at least [BlankBytes] bytes that covers the rest of it.
//
//	offset  width  field
//	     0      4  size              bytes from here to the end of the file
//	     4      4  magic             0xCBD43194
//	     8      …  filler            never looked at
//
// # Writing
//
//	                Plan.Prepare   every check, every length, every checksum that can be known
//	(append lock)   Plan.Encode    offsets and store time are known: bytes go straight to their place
//
// Encode allocates nothing and writes every byte of the record exactly once.
// It stores size and magic last, so that a process which dies inside Encode
// leaves bytes that Check refuses, provided the space was zero before. A power
// cut may persist the sectors of a record in any order; against that helps only
// a checksum. The body CRC leaves topic and properties unprotected; the record
// CRC ([Limits.AppendCRC]) covers everything.
//
// # Reading
//
// [Check] judges bytes that may be anything: torn, stale, foreign. [Decode]
// parses a record that is known to be one. Both take any bytes without panicking,
// and no sum in a bounds check can overflow. What Check accepts, Decode
// decodes.
//
// # Where this differs from the Java store on purpose
//
//   - The version is chosen by the bytes of the topic, not by its characters,
//     and a topic that does not fit is refused. The Java store can write a record
//     that it cannot parse again, and loses what follows it.
//   - Topic and properties must be valid UTF-8, and a topic must be usable as a
//     directory name.
//   - Check can compare the stored physical offset with the place where the
//     record was found, and the size in a blank with the rest of the file.
//   - The members of a batch get the separator before the record CRC that the
//     Java batch encoder forgets.
//   - A record CRC that came with a message is never stored a second time.
//
// # Concurrency
//
// Everything here is a function of its arguments, or a method that only reads
// its receiver, and may be called from any number of goroutines. The exception
// that keeps state, [UniqueIDs], is safe for concurrent use too.
package message
