package wire

// An Opcode is what a semantic request asks for, six bits.
type Opcode uint8

// Opcodes of requests (UE Specification, SES request opcodes). 0x10 to 0x2f are reserved, 0x30 to
// 0x3e belong to vendors.
const (
	OpNOP             Opcode = 0x00
	OpWrite           Opcode = 0x01
	OpRead            Opcode = 0x02
	OpAtomic          Opcode = 0x03
	OpFetchingAtomic  Opcode = 0x04
	OpSend            Opcode = 0x05
	OpRendezvousSend  Opcode = 0x06
	OpDatagramSend    Opcode = 0x07
	OpDeferrableSend  Opcode = 0x08
	OpTaggedSend      Opcode = 0x09
	OpRendezvousTSend Opcode = 0x0a
	OpDeferrableTSend Opcode = 0x0b
	OpDeferrableRTR   Opcode = 0x0c
	OpTSendAtomic     Opcode = 0x0d
	OpTSendFetch      Opcode = 0x0e
	OpMsgError        Opcode = 0x0f
	OpExtended        Opcode = 0x3f
)

var opcodeNames = [...]string{"NO_OP", "WRITE", "READ", "ATOMIC", "FETCHING_ATOMIC", "SEND", "RENDEZVOUS_SEND", "DATAGRAM_SEND", "DEFERRABLE_SEND",
	"TAGGED_SEND", "RENDEZVOUS_TSEND", "DEFERRABLE_TSEND", "DEFERRABLE_RTR", "TSEND_ATOMIC", "TSEND_FETCH_ATOMIC", "MSG_ERROR", OpExtended: "EXTENDED"}

func (o Opcode) String() string { return nameOrVendor(opcodeNames[:], int(o), 0x30, 0x3e) }

// SESFlags are the flags of semantic requests.
type SESFlags uint8

// Flags of semantic requests.
const (
	SESDeliveryComplete SESFlags = 0x20 // answer only when the data is visible
	SESInitiatorError   SESFlags = 0x10
	SESRelative         SESFlags = 0x08 // relative addressing: JobID and PIDonFEP
	SESHeaderData       SESFlags = 0x04
	SESEnd              SESFlags = 0x02 // eom: last packet of the message
	SESStart            SESFlags = 0x01 // som: first packet of the message
)

var sesFlagNames = []flagName{{0x20, "dc"}, {0x10, "ie"}, {0x08, "rel"}, {0x04, "hd"}, {0x02, "eom"}, {0x01, "som"}}

func (f SESFlags) String() string { return flagString(sesFlagNames, uint8(f)) }

// Bits of a memory key (Standard.Key and Medium.Key of WRITE, READ and atomics).
const (
	KeyIdempotent uint64 = 1 << 63    // IDEMPOTENT_SAFE: the region may be accessed by RUDI
	KeyOptimized  uint64 = 1 << 62    // OPTIMIZED: the small header may name it, by a resource index of its low 12 bits
	KeyVendor     uint64 = 0xff << 48 // free for vendors; the reference provider marks keys it has chosen itself with the lowest
	KeyRKey       uint64 = 1<<48 - 1  // what names the region
)

// A ResponseOp is the opcode of a semantic response, six bits.
type ResponseOp uint8

// Opcodes of responses. 0x30 to 0x3f belong to vendors.
const (
	RespDefault  ResponseOp = 0 // success that needs no storage
	RespResponse ResponseOp = 1
	RespWithData ResponseOp = 2
	RespNone     ResponseOp = 3
)

var responseOpNames = [...]string{"DEFAULT", "RESPONSE", "RESPONSE_W_DATA", "NO_RESPONSE"}

func (o ResponseOp) String() string { return nameOrVendor(responseOpNames[:], int(o), 0x30, 0x3f) }

// A ResponseList says which list of buffers a response is about.
type ResponseList uint8

// Lists of buffers. 2 and 3 belong to vendors.
const (
	ListExpected ResponseList = 0
	ListOverflow ResponseList = 1
)

var listNames = [...]string{"expected", "overflow"}

func (l ResponseList) String() string { return nameOrVendor(listNames[:], int(l), 2, 3) }

// A ReturnCode is the outcome of a semantic request, six bits.
type ReturnCode uint8

// Return codes. 0x30 to 0x37 belong to vendors, the others that are missing are reserved.
const (
	RCNull              ReturnCode = 0x00
	RCOK                ReturnCode = 0x01
	RCBadGeneration     ReturnCode = 0x02
	RCDisabled          ReturnCode = 0x03
	RCDisabledGen       ReturnCode = 0x04
	RCNoMatch           ReturnCode = 0x05
	RCUnsupportedOp     ReturnCode = 0x06
	RCUnsupportedSize   ReturnCode = 0x07
	RCATInvalid         ReturnCode = 0x08
	RCATPerm            ReturnCode = 0x09
	RCATATSError        ReturnCode = 0x0a
	RCATNoTrans         ReturnCode = 0x0b
	RCATOutOfRange      ReturnCode = 0x0c
	RCHostPoisoned      ReturnCode = 0x0d
	RCHostUnsuccessful  ReturnCode = 0x0e
	RCAMOUnsupportedOp  ReturnCode = 0x0f
	RCAMOUnsupportedDT  ReturnCode = 0x10
	RCAMOUnsupportedLen ReturnCode = 0x11
	RCAMOUnaligned      ReturnCode = 0x12
	RCAMOFPNaN          ReturnCode = 0x13
	RCAMOFPUnderflow    ReturnCode = 0x14
	RCAMOFPOverflow     ReturnCode = 0x15
	RCAMOFPInexact      ReturnCode = 0x16
	RCPermViolation     ReturnCode = 0x17
	RCOpViolation       ReturnCode = 0x18
	RCBadIndex          ReturnCode = 0x19
	RCBadPID            ReturnCode = 0x1a
	RCBadJobID          ReturnCode = 0x1b
	RCBadMKey           ReturnCode = 0x1c
	RCBadAddr           ReturnCode = 0x1d
	RCCancelled         ReturnCode = 0x1e
	RCUndeliverable     ReturnCode = 0x1f
	RCUncor             ReturnCode = 0x20
	RCUncorTransient    ReturnCode = 0x21
	RCTooLong           ReturnCode = 0x22
	RCInitiatorErr      ReturnCode = 0x23
	RCDropped           ReturnCode = 0x24
	RCExtended          ReturnCode = 0x3e
)

var returnNames = [...]string{"NULL", "OK", "BAD_GENERATION", "DISABLED", "DISABLED_GEN", "NO_MATCH", "UNSUPPORTED_OP", "UNSUPPORTED_SIZE",
	"AT_INVALID", "AT_PERM", "AT_ATS_ERROR", "AT_NO_TRANS", "AT_OUT_OF_RANGE", "HOST_POISONED", "HOST_UNSUCCESS_CMPL", "AMO_UNSUPPORTED_OP",
	"AMO_UNSUPPORTED_DT", "AMO_UNSUPPORTED_SIZE", "AMO_UNALIGNED", "AMO_FP_NAN", "AMO_FP_UNDERFLOW", "AMO_FP_OVERFLOW", "AMO_FP_INEXACT",
	"PERM_VIOLATION", "OP_VIOLATION", "BAD_INDEX", "BAD_PID", "BAD_JOB_ID", "BAD_MKEY", "BAD_ADDR", "CANCELLED", "UNDELIVERABLE", "UNCOR",
	"UNCOR_TRNSNT", "TOO_LONG", "INITIATOR_ERR", "DROPPED", RCExtended: "EXTENDED"}

func (c ReturnCode) String() string { return nameOrVendor(returnNames[:], int(c), 0x30, 0x37) }

// Success tells whether the request was carried out: OK, or NULL, which answers duplicates.
func (c ReturnCode) Success() bool { return c == RCOK || c == RCNull }

// An AtomicOp is the operation of an atomic request.
type AtomicOp uint8

// Atomic operations. 0xe0 to 0xfe belong to vendors.
const (
	AtomicMin AtomicOp = iota
	AtomicMax
	AtomicSum
	AtomicDiff
	AtomicProd
	AtomicLogicalOr
	AtomicLogicalAnd
	AtomicBitOr
	AtomicBitAnd
	AtomicLogicalXor
	AtomicBitXor
	AtomicRead
	AtomicWrite
	AtomicCSwap
	AtomicCSwapNE
	AtomicCSwapLE
	AtomicCSwapLT
	AtomicCSwapGE
	AtomicCSwapGT
	AtomicMSwap
	AtomicInval
)

var atomicNames = [...]string{"MIN", "MAX", "SUM", "DIFF", "PROD", "LOR", "LAND", "BOR", "BAND", "LXOR", "BXOR", "READ", "WRITE",
	"CSWAP", "CSWAP_NE", "CSWAP_LE", "CSWAP_LT", "CSWAP_GE", "CSWAP_GT", "MSWAP", "INVAL"}

func (o AtomicOp) String() string { return nameOrVendor(atomicNames[:], int(o), 0xe0, 0xfe) }

// Swaps tells whether the operation compares or masks and swaps, and so has a CompareSwap for extension.
func (o AtomicOp) Swaps() bool { return o >= AtomicCSwap && o <= AtomicMSwap }

// A DataType is the operand type of an atomic request.
type DataType uint8

// Operand types. 0xe0 to 0xfe belong to vendors.
const (
	TypeInt8 DataType = iota
	TypeUint8
	TypeInt16
	TypeUint16
	TypeInt32
	TypeUint32
	TypeInt64
	TypeUint64
	TypeInt128
	TypeUint128
	TypeFloat
	TypeDouble
	TypeFloatComplex
	TypeDoubleComplex
	TypeLongDouble
	TypeLongDoubleComplex
	TypeBF16
	TypeFP16
)

var dataTypeNames = [...]string{"INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "INT128", "UINT128", "FLOAT", "DOUBLE",
	"FLOAT_COMPLEX", "DOUBLE_COMPLEX", "LONG_DOUBLE", "LONG_DOUBLE_COMPLEX", "BF16", "FP16"}

func (d DataType) String() string { return nameOrVendor(dataTypeNames[:], int(d), 0xe0, 0xfe) }
