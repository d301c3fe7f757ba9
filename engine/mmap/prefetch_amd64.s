#include "textflag.h"

// func Prefetch(b []byte)
TEXT ·Prefetch(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ b_base+0(FP), AX
	MOVQ b_len+8(FP), CX
	ADDQ AX, CX
	CMPQ AX, CX
	JAE  done
	ANDQ $~63, AX // whole lines: else the last one is left out, now and then

line:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	CMPQ AX, CX
	JB   line

done:
	RET

// func PrefetchWrite(b []byte)
TEXT ·PrefetchWrite(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ b_base+0(FP), AX
	MOVQ b_len+8(FP), CX
	ADDQ AX, CX
	CMPQ AX, CX
	JAE  done
	ANDQ $~63, AX // whole lines: else the last one is left out, now and then

line:
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // PREFETCHW (AX), which the assembler does not know
	ADDQ $64, AX
	CMPQ AX, CX
	JB   line

done:
	RET
