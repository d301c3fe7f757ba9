package message

// Bits of the sys flag. FlagBornHostV6 and FlagStoreHostV6 describe the layout
// of the record: Prepare sets them from the hosts and ignores what the message
// says. The other bits are the client's, and so are bits 8 to 10, the compression
// type (0 or 3 zlib, 1 LZ4, 2 ZSTD).
const (
	FlagCompressed  int32 = 0x1
	FlagMultiTags   int32 = 0x2
	FlagBornHostV6  int32 = 0x10
	FlagStoreHostV6 int32 = 0x20
	FlagNeedUnwrap  int32 = 0x40
	FlagInnerBatch  int32 = 0x80

	transactionMask = 0xC
)

// Transaction is the transaction state of a record, two bits of its sys flag.
type Transaction int32

// The states. A prepared record waits for its commit or rollback, which are
// records of their own.
const (
	TransactionNone     Transaction = 0
	TransactionPrepared Transaction = 0x4
	TransactionCommit   Transaction = 0x8
	TransactionRollback Transaction = 0xC
)

// TransactionOf extracts the transaction state from a sys flag.
func TransactionOf(sysFlag int32) Transaction { return Transaction(sysFlag & transactionMask) }

// Queued says whether such a record takes a queue offset and gets an entry in
// its consume queue. Those that do not are stored with queue offset 0.
func (t Transaction) Queued() bool { return t == TransactionNone || t == TransactionCommit }

// Indexed says whether the keys of such a record go into the index.
func (t Transaction) Indexed() bool { return t != TransactionRollback }
